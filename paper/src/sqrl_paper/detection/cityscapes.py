"""find_cityscapes: Cityscapes' validation images, with boxes of the kinds that KITTI labels."""

from pathlib import Path

import numpy as np

from sqrl.boxes import match_boxes, overlap, read_boxes
from sqrl.errors import DataError
from sqrl_paper.detection.road_labels import (
    CLASSES,
    IGNORED,
    Floats,
    Ints,
    LabelledFile,
    by_image,
    image_files,
)
from sqrl_paper.shared.data_files import data_folder, find_file

CITYSCAPES_PAGE = "https://www.cityscapes-dataset.com/downloads/"
TITLE = "Cityscapes, validation images"
LABELS = "cityscapes/instancesonly_filtered_gtFine_val.json"
OFFICIAL, COPIES = "cityscapes/leftImg8bit/val", "cityscapes/images_512"
ENDING = "_leftImg8bit"
WIDTH, HEIGHT = 2048, 1024
KINDS = {"car": "Car", "truck": "Truck", "person": "Pedestrian", "train": "Tram"}
# Joined to Cyclists below. A bus and a motorcycle have no counterpart among KITTI's classes.
RIDER, BICYCLE, MOTORCYCLE = len(CLASSES), len(CLASSES) + 1, len(CLASSES) + 2
JOINED = {"rider": RIDER, "bicycle": BICYCLE, "motorcycle": MOTORCYCLE}
LEAST = 1e-9  # of an overlap, so that two boxes touch


def find_cityscapes(folder: str | Path | None) -> list[LabelledFile]:
    """The labelled images that are there, in the order of their names."""
    files = _files(folder)
    found = by_image(read_boxes(_labels(folder)), _label)
    named = {Path(name).stem.removesuffix(ENDING): what for name, what in found.items()}
    chosen = [name for name in files if name in named]
    if not chosen:
        raise DataError(
            "None of the labelled images is there.",
            where=str(next(iter(files.values())).parent),
            fix=f"download leftImg8bit_trainvaltest.zip from {CITYSCAPES_PAGE}",
        )
    return [
        LabelledFile(files[name], name, WIDTH, HEIGHT, *join_cyclists(*named[name]))
        for name in chosen
    ]


def join_cyclists(boxes: Floats, labels: Ints) -> tuple[Floats, Ints]:
    """The boxes with each rider a Cyclist, as KITTI has it: the bicycle is part of the box.

    A rider takes the bicycle or motorcycle that overlaps most, those that overlap more choosing
    first. Who rides a motorcycle, and a bicycle without a rider, is ignored.
    """
    boxes, labels = boxes.copy(), labels.copy()
    riders = np.flatnonzero(labels == RIDER)
    vehicles = np.flatnonzero((labels == BICYCLE) | (labels == MOTORCYCLE))
    overlaps = overlap(boxes[riders], boxes[vehicles])
    taken = match_boxes(overlaps, overlaps.max(axis=1, initial=0.0), LEAST)
    for rider, place in zip(riders, taken, strict=True):
        labels[rider] = CLASSES.index("Cyclist")
        if place >= 0:
            vehicle = vehicles[place]
            boxes[rider, :2] = np.minimum(boxes[rider, :2], boxes[vehicle, :2])
            boxes[rider, 2:] = np.maximum(boxes[rider, 2:], boxes[vehicle, 2:])
            labels[rider] = IGNORED if labels[vehicle] == MOTORCYCLE else labels[rider]
    kept = np.ones(len(labels), np.bool_)
    kept[vehicles[taken[taken >= 0]]] = False
    labels[labels >= len(CLASSES)] = IGNORED
    return boxes[kept], labels[kept]


def _label(kind: str) -> int:
    if kind in JOINED:
        return JOINED[kind]
    return CLASSES.index(KINDS[kind]) if kind in KINDS else IGNORED


def _labels(folder: str | Path | None) -> Path:
    packed = data_folder(folder) / f"{LABELS}.gz"
    if packed.is_file():
        return packed
    return find_file(folder, LABELS, title="Cityscapes, boxes as COCO JSON", page=CITYSCAPES_PAGE)


def _files(folder: str | Path | None) -> dict[str, Path]:
    """The image files by the name of the place and moment."""
    root = data_folder(folder)
    cities = sorted(root.joinpath(OFFICIAL).glob("*")) if (root / OFFICIAL).is_dir() else []
    found = [path for city in cities for path in image_files(city)] or image_files(root / COPIES)
    if found:
        return {path.stem.removesuffix(ENDING): path for path in found}
    raise DataError(
        f"The data set {TITLE!r} is not there.",
        where=str(root / OFFICIAL),
        fix=f"download leftImg8bit_trainvaltest.zip from {CITYSCAPES_PAGE} and unpack it in "
        f"{root / 'cityscapes'}, or say with --data DIR or SQRL_DATA=DIR which folder holds it",
    )
