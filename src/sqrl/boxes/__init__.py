"""Boxes around objects: files of them, statistics of a box and of an image, which are right."""

from sqrl._data.formats.boxes import SIDES, image_key
from sqrl.boxes._matching import KITTI_ALIKE, evaluate_boxes, match_boxes, overlap, sides_of
from sqrl.boxes._read import Boxes, read_boxes
from sqrl.boxes._statistics import box_statistics, classes_of, image_statistics

__all__ = [
    "KITTI_ALIKE",
    "SIDES",
    "Boxes",
    "box_statistics",
    "classes_of",
    "evaluate_boxes",
    "image_key",
    "image_statistics",
    "judge_boxes",
    "match_boxes",
    "overlap",
    "read_boxes",
    "sides_of",
]

judge_boxes = evaluate_boxes  # its name once
