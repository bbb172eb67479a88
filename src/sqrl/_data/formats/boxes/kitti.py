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
from sqrl._data.formats.boxes.label_lines import LineForm, read_lines
from sqrl._data.formats.boxes.line_format import KITTI_FIELDS, KITTI_LINE

LEFT_OUT = "DontCare"  # regions in which nobody labelled what is there
PAGE = "https://www.cvlibs.net/datasets/kitti/eval_object.php"
LINES = LineForm(KITTI_FIELDS, "score", f"a line is: {KITTI_LINE}; the labels are at {PAGE}")


def read_kitti(found: LabelFiles, *, images: Path | None) -> BoxFile:
    """The boxes of label files, an image a file; `images` tells sizes, as `find_sizes` says."""
    boxes, has_score = read_lines(found, LINES, _box)
    names = [file.image for file in found.files]
    sizes = find_sizes(names, found.path, images)
    return collect_boxes(boxes, names, sizes, has_score=has_score, reason=LEFT_OUT)


def _box(image: str, fields: list[str]) -> Box:
    sides = check_sides(
        as_number(fields[4], "left side"),
        as_number(fields[5], "top"),
        as_number(fields[6], "right side"),
        as_number(fields[7], "bottom"),
    )
    score = as_number(fields[15], "score") if len(fields) > 15 else None
    return Box(image, fields[0], sides, score, fields[0] == LEFT_OUT)
