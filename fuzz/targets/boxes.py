"""Boxes: labels of KITTI, YOLO and Pascal VOC in folders and archives, and JSON of COCO."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from draw import Draw, as_bytes, as_text

import sqrl
from sqrl.boxes import box_statistics, classes_of, image_statistics, read_boxes

KITTI = "Car 0.0 0 1.57 100.0 120.0 200.5 240.0 1.5 1.6 4.0 1.0 1.5 20.0 1.5"
YOLO = "0 0.5 0.5 0.2 0.3"
VOC = (
    "<annotation><size><width>640</width><height>480</height></size><object><name>car</name>"
    "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox></object>"
    "</annotation>"
)


def make(draw: Draw) -> dict[str, Any]:
    """Files by name, in a folder, a .zip or alone."""
    kind = draw.one(("kitti", "yolo", "voc", "coco", "results"))
    if kind in {"coco", "results"}:
        return {"kind": kind, "files": {"c.json": as_text(_coco(draw, kind))}, "packed": False}
    line = {"kitti": KITTI, "yolo": YOLO, "voc": VOC}[kind]
    suffix = ".xml" if kind == "voc" else ".txt"
    files = {}
    for number in range(draw.randint(1, 3)):
        text = line if kind == "voc" else "\n".join([line] * draw.randint(0, 3))
        if draw.chance(0.5):
            text = draw.damaged_text(text)
        content = text.encode("utf-8", "replace")
        if draw.chance(0.1):
            content = draw.damaged_bytes(content)
        name = draw.one((f"{number}", f"a/{number}", f"labels/{number}", "é", "..", "x" * 90))
        files[f"{name}{suffix}"] = as_text(content)
    if kind == "yolo" and draw.chance(0.5):
        files["classes.txt"] = as_text(draw.one((b"car\nvan\n", b"", b"\xff", b"car\ncar\n")))
    packed = draw.chance(0.5)
    case: dict[str, Any] = {"kind": kind, "files": files, "packed": packed}
    if packed:
        case["archive"] = as_text(_archive(draw, files))
    return case


def _archive(draw: Draw, files: dict[str, str]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(
        sink, "w", draw.one((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as archive:
        for name, content in files.items():
            archive.writestr(name, as_bytes(content))
    content = sink.getvalue()
    return draw.damaged_bytes(content) if draw.chance(0.5) else content


def _coco(draw: Draw, kind: str) -> bytes:
    truth: Any = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
        "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40], "iscrowd": 0}],
        "categories": [{"id": 1, "name": "car"}],
    }
    if kind == "results":
        truth = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 30, 40], "score": 0.5}]
    if draw.chance(0.7):
        truth = draw.damaged_json(truth)
    content = json.dumps(truth).encode("utf-8", "surrogatepass")
    return draw.damaged_bytes(content) if draw.chance(0.2) else content


def run(case: dict[str, Any], folder: Path) -> None:
    """Read the boxes, and compute what rules are about."""
    path = folder / "labels.zip"
    if case["packed"]:
        path.write_bytes(as_bytes(case["archive"]))
    else:
        path = folder / "labels"
        for name, content in case["files"].items():
            file = path / name.replace("..", "__")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(as_bytes(content))
        path = path / "c.json" if "c.json" in case["files"] else path
    found = read_boxes(path)
    box_statistics(found.table)
    images = image_statistics(found.table, images=found.images, classes=classes_of(found.table))
    if images.n_rows:
        sqrl.check(sqrl.RuleSet.from_texts(["count <= 2"]), images)
