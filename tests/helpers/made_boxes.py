"""Small files of boxes in the official formats."""

import json
import zipfile
from pathlib import Path

import numpy as np

CLASSES = ("Car", "Pedestrian", "Van")


def kitti_line(kind, left, top, right, bottom, score=None):
    """A line of a label file: what lies between and behind the sides is not looked at."""
    text = f"{kind} 0.00 0 -1.57 {left} {top} {right} {bottom} 1.50 1.60 3.90 1.0 1.5 9.0 -1.6"
    return text if score is None else f"{text} {score}"


def road(n_images=40, seed=0, *, wide=1.0, score=False):
    """Label files by name: boxes of three classes, and now and then a region nobody labelled."""
    rng = np.random.default_rng(seed)
    files = {}
    for image in range(n_images):
        lines = []
        for _ in range(rng.integers(3, 9)):
            kind = rng.choice(CLASSES, p=[0.6, 0.25, 0.15])
            height = rng.uniform(20, 120)
            width = height * wide * {"Car": 1.6, "Pedestrian": 0.4, "Van": 1.2}[kind]
            width *= rng.uniform(0.9, 1.1)
            left, top = rng.uniform(0, 900), rng.uniform(100, 200)
            sides = [round(side, 2) for side in (left, top, left + width, top + height)]
            lines.append(kitti_line(kind, *sides, round(rng.random(), 3) if score else None))
        if not score and image % 4 == 0:
            lines.append(kitti_line("DontCare", 1, 2, 3, 4))
        files[f"{image:06}.txt"] = "\n".join(lines) + "\n"
    return files


def write_folder(path, files):
    """The label files in a folder."""
    Path(path).mkdir()
    for name, text in files.items():
        Path(path, name).write_text(text)
    return Path(path)


def write_zip(path, files, prefix="training/label_2/"):
    """The label files as the official archive has them, in the other order."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in reversed(files.items()):
            archive.writestr(prefix + name, text)
    return Path(path)


def write_frames(path, files, size=(1242, 375)):
    """The sizes of the images, under the names that KITTI's frames go by."""
    lines = [f"{Path(name).stem},train,{size[0]},{size[1]}" for name in files]
    Path(path).write_text("\n".join(["frame,split,img_w,img_h", *lines, ""]))


def coco_truth(files, size=(1242, 375)):
    """The same boxes as COCO has them: DontCare is a crowd, and sides are left, top and sizes."""
    ids = {name: 100 + place for place, name in enumerate(CLASSES)}
    images, annotations = [], []
    for place, (name, text) in enumerate(files.items()):
        image = {"id": place, "file_name": f"{Path(name).stem}.png"}
        images.append({**image, "width": size[0], "height": size[1]})
        for line in text.splitlines():
            kind, left, top, right, bottom = line.split()[0], *map(float, line.split()[4:8])
            annotations.append(
                {
                    "id": len(annotations),
                    "image_id": place,
                    "category_id": ids.get(kind, 100),
                    "bbox": [left, top, right - left, bottom - top],
                    "iscrowd": int(kind == "DontCare"),
                    "segmentation": [[left, top, right, top, right, bottom]],
                }
            )
    categories = [{"id": number, "name": name} for name, number in ids.items()]
    return {"images": images, "annotations": annotations, "categories": categories}


def yolo_labels(files, size=(1242, 375)):
    """The same boxes as YOLO has them, without DontCare: `classes.txt` names CLASSES."""
    made = {"classes.txt": "\n".join(CLASSES) + "\n"}
    for name, text in files.items():
        lines = []
        for fields in map(str.split, text.splitlines()):
            if fields[0] in CLASSES:
                left, top, right, bottom = map(float, fields[4:8])
                shares = (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
                over = (share / size[at % 2] for at, share in enumerate(shares))
                cells = [str(CLASSES.index(fields[0])), *map(repr, over), *fields[15:]]
                lines.append(" ".join(cells))
        made[name] = "\n".join(lines)
    return made


def voc_file(boxes, size=(1242, 375)):
    """An annotation of boxes (class, left, top, right, bottom), with what VOC says besides."""
    objects = "".join(
        f"<object>\n<name>{kind}</name><pose>Left</pose><difficult>1</difficult><bndbox>"
        f"<xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox>"
        "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>\n"
        for kind, left, top, right, bottom in boxes
    )
    width, height = size
    return (
        '<?xml version="1.0"?>\n<annotation><filename>other.jpg</filename>'
        f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>\n"
        f"{objects}</annotation>\n"
    )


def voc_labels(files, size=(1242, 375)):
    """The same boxes as Pascal VOC has them, without DontCare."""
    made = {}
    for name, text in files.items():
        lines = [line.split() for line in text.splitlines()]
        boxes = [(line[0], *line[4:8]) for line in lines if line[0] in CLASSES]
        made[f"{Path(name).stem}.xml"] = voc_file(boxes, size)
    return made


def coco_results(truth, score=0.5):
    """A detector that found exactly what is true."""
    keys = ("image_id", "category_id", "bbox")
    return [
        {**{key: one[key] for key in keys}, "score": score}
        for one in truth["annotations"]
        if not one["iscrowd"]
    ]


def write_json(path, data):
    Path(path).write_text(json.dumps(data))
    return Path(path)


def as_lists(table):
    """The columns as lists, words for categories."""
    return {
        name: [column.categories[code] for code in column.values]
        if column.kind == "category"
        else column.values.tolist()
        for name, column in table.columns.items()
    }
