"""read_kitti: KITTI's labels, and detections in the same format with a score at the end.

A line is: type truncated occluded alpha left top right bottom, seven numbers about the object in
space, and for a detection its score.
"""

from pathlib import Path

from sqrl._data.formats.boxes.collected import (
    Box,
    BoxFile,
    as_number,
    check_sides,
    collect_boxes,
)
from sqrl._data.formats.boxes.image_sizes import find_sizes
from sqrl._data.formats.boxes.label_files import LabelFiles
from sqrl._data.formats.boxes.line_format import KITTI_FIELDS, KITTI_LINE
from sqrl.errors import DataError

LEFT_OUT = "DontCare"  # regions in which nobody labelled what is there
PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php"
LINE_FIX = f"a line is: {KITTI_LINE}; the labels are at {PAGE}"
WITHOUT_SCORE, WITH_SCORE = KITTI_FIELDS


def read_kitti(found: LabelFiles, *, images: Path | None) -> BoxFile:
    """The boxes of label files, an image a file; `images` tells sizes, as `find_sizes` says."""
    boxes: list[Box] = []
    n_fields = 0
    for file in found.files:
        for number, fields in file.lines(LINE_FIX):
            n_fields = n_fields or len(fields)
            try:
                boxes.append(_box(file.image, fields, n_fields))
            except ValueError as error:
                where = f"{file.where}, line {number}"
                raise DataError(str(error), where=where, fix=LINE_FIX) from None
    names = [file.image for file in found.files]
    sizes = find_sizes(names, found.path, images)
    has_score = n_fields == WITH_SCORE
    return collect_boxes(boxes, names, sizes, has_score=has_score, reason=LEFT_OUT)


def _box(image: str, fields: list[str], n_fields: int) -> Box:
    """The box of a line, which is to have as many fields as the first one."""
    if len(fields) not in KITTI_FIELDS:
        raise ValueError(
            f"The line has {len(fields)} fields, not {WITHOUT_SCORE}, or {WITH_SCORE} with a score."
        )
    if len(fields) != n_fields:
        has = "a score" if len(fields) == WITH_SCORE else "no score"
        raise ValueError(f"The line has {has}, unlike the lines before it.")
    sides = check_sides(
        as_number(fields[4], "left side"),
        as_number(fields[5], "top"),
        as_number(fields[6], "right side"),
        as_number(fields[7], "bottom"),
    )
    score = as_number(fields[15], "score") if len(fields) == WITH_SCORE else None
    return Box(image, fields[0], sides, score, fields[0] == LEFT_OUT)
