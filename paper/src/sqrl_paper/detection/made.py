"""KITTI and Cityscapes made up in the published formats, for a look without data.

Each class has a colour and a shape, and an object is a plain rectangle on a grey road: the lower
it stands the larger it is, as with a real camera.
"""

import gzip
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqrl_paper.detection.drives import TRACKING
from sqrl_paper.detection.kitti import LABELS as KITTI_LABELS

Box = tuple[str, float, float, float, float]  # class, left, top, right, bottom
Colour = tuple[int, int, int]
N_LABELLED, N_TRAIN, N_VAL, N_CITY = 160, 20, 12, 12
N_DRIVES = 8
KITTI_SIZE, COPY_WIDTH = (1242, 375), 480
CITY_SIZE, CITY_COPY = (2048, 1024), (512, 256)
ROAD: Colour = (110, 110, 110)
SHAPES: dict[str, tuple[float, float, Colour]] = {  # width and height nearby in pixels, colour
    "Car": (220.0, 140.0, (220, 30, 30)),
    "Van": (230.0, 190.0, (200, 90, 20)),
    "Truck": (280.0, 240.0, (160, 160, 20)),
    "Pedestrian": (60.0, 170.0, (30, 60, 220)),
    "Person_sitting": (90.0, 120.0, (30, 160, 220)),
    "Cyclist": (110.0, 160.0, (30, 200, 60)),
    "Tram": (260.0, 280.0, (160, 40, 200)),
}
CITY_NAMES = {"Car": "car", "Truck": "truck", "Pedestrian": "person", "Tram": "train"}


def write_detection(folder: Path, *, seed: int = 0) -> None:
    """All files, written where the readers look for them."""
    rng = np.random.default_rng(seed)
    write_kitti(folder, [draw_boxes(rng, KITTI_SIZE) for _ in range(N_LABELLED)])
    # The same camera, seen from the middle of a larger image.
    moved = [_move(draw_boxes(rng, KITTI_SIZE)) for _ in range(N_CITY)]
    write_cityscapes(folder, moved)
    write_drives(folder, [draw_boxes(rng, KITTI_SIZE) for _ in range(N_LABELLED)])


def write_drives(folder: Path, frames: Sequence[Sequence[Box]]) -> None:
    """Labels with the drive of each box, some frames after the other in each drive."""
    path = folder / TRACKING
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["seq,type,left,top,right,bottom"]
    for number, boxes in enumerate(frames):
        drive = number * N_DRIVES // len(frames)
        lines += [f"{drive:04},{','.join(map(str, box))}" for box in boxes]
    path.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))


def draw_boxes(rng: np.random.Generator, size: tuple[int, int]) -> list[Box]:
    """Objects on one image, each whole on it."""
    boxes = []
    width, height = size
    for kind in rng.choice(list(SHAPES), rng.integers(2, 6)):
        near = rng.uniform(0.35, 1.0)
        wide, high, _ = SHAPES[str(kind)]
        wide, high = wide * near * rng.uniform(0.9, 1.1), high * near * rng.uniform(0.9, 1.1)
        bottom = min(height - 1.0, 0.45 * height + 0.5 * height * near + rng.normal(0, 5))
        left = rng.uniform(0, width - wide - 1)
        sides = (left, max(0.0, bottom - high), left + wide, bottom)
        boxes.append((str(kind), *(round(float(side), 2) for side in sides)))
    return boxes  # type: ignore[return-value]


def write_kitti(folder: Path, frames: Sequence[Sequence[Box]]) -> None:
    """The archive of labels, the sizes, the split, and small copies of the last frames.

    All frames but the last N_VAL are for training; those have images from the end backwards.
    """
    root = (folder / KITTI_LABELS).parent
    (root / "ImageSets").mkdir(parents=True, exist_ok=True)
    names = [f"{number:06}" for number in range(len(frames))]
    with zipfile.ZipFile(folder / KITTI_LABELS, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, boxes in zip(names, frames, strict=True):
            lines = [_kitti_line(box) for box in boxes]
            archive.writestr(f"training/label_2/{name}.txt", "\n".join(lines) + "\n")
    sizes = [f"{name},{KITTI_SIZE[0]},{KITTI_SIZE[1]}" for name in names]
    (root / "frames.csv").write_text("\n".join(["frame,img_w,img_h", *sizes, ""]))
    parts = {"train": names[:-N_VAL], "val": names[-N_VAL:]}
    for part, chosen in parts.items():
        (root / "ImageSets" / f"{part}.txt").write_text("\n".join([*chosen, ""]))
    scale = COPY_WIDTH / KITTI_SIZE[0]
    for number in range(max(0, len(frames) - N_VAL - N_TRAIN), len(frames)):
        copy = (COPY_WIDTH, round(scale * KITTI_SIZE[1]))
        write_scene(root / "images_480" / f"{names[number]}.jpg", frames[number], copy, scale)


def write_cityscapes(folder: Path, scenes: Sequence[Sequence[Box]]) -> None:
    """The boxes as COCO has them, packed, and small copies of the images."""
    root = folder / "cityscapes"
    root.mkdir(parents=True, exist_ok=True)
    categories = [{"id": at, "name": name} for at, name in enumerate(CITY_NAMES.values(), 1)]
    ids = {kind: at for at, kind in enumerate(CITY_NAMES, 1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, boxes in enumerate(scenes):
        name = f"made_000000_{number:06}"
        path = f"leftImg8bit/val/made/{name}_leftImg8bit.png"
        width, height = CITY_SIZE
        images.append({"id": number, "width": width, "height": height, "file_name": path})
        for kind, left, top, right, bottom in boxes:
            if kind in ids:
                sides = [left, top, right - left, bottom - top]
                one = {"image_id": number, "category_id": ids[kind], "bbox": sides, "iscrowd": 0}
                annotations.append({"id": len(annotations), **one})
        copy = root / "images_512" / f"{name}.jpg"
        write_scene(copy, boxes, CITY_COPY, CITY_COPY[0] / CITY_SIZE[0])
    made = {"images": images, "categories": categories, "annotations": annotations}
    packed = gzip.compress(json.dumps(made).encode())
    (root / "instancesonly_filtered_gtFine_val.json.gz").write_bytes(packed)


def write_scene(path: Path, boxes: Iterable[Box], size: tuple[int, int], scale: float) -> None:
    """An image of the boxes, which are given in pixels of an image larger by 1 / scale."""
    from PIL import Image, ImageDraw

    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", size, ROAD)
    pen = ImageDraw.Draw(image)
    for kind, *sides in boxes:
        pen.rectangle([scale * side for side in sides], fill=SHAPES[kind][2])
    image.save(path, "JPEG", quality=90)


def _kitti_line(box: Box) -> str:
    kind, left, top, right, bottom = box
    return f"{kind} 0.00 0 -1.57 {left} {top} {right} {bottom} 1.50 1.60 3.90 1.0 1.5 9.0 -1.6"


def _move(boxes: Sequence[Box]) -> list[Box]:
    """The boxes as Cityscapes' camera has them: three times as large, about its own middle."""
    moved: list[Box] = []
    for kind, left, top, right, bottom in boxes:
        xs = [min(max(3 * (x - 609) + 1096, 0.0), CITY_SIZE[0] - 1.0) for x in (left, right)]
        ys = [min(max(3 * (y - 172) + 513, 0.0), CITY_SIZE[1] - 1.0) for y in (top, bottom)]
        if xs[1] - xs[0] > 30 and ys[1] - ys[0] > 30:
            moved.append((kind, xs[0], ys[0], xs[1], ys[1]))
    return moved
