"""read_yolo: YOLO's labels, and detections in the same format with a confidence at the end.

A line is: class x_center y_center width height, the last four as shares of the image's width and
height, and for a detection its confidence. The class is a number.
"""

from collections.abc import Mapping
from pathlib import Path

from sqrl._data.formats.boxes.class_names import read_class_names
from sqrl._data.formats.boxes.collected import (
    SHARES,
    SIDES,
    Box,
    BoxFile,
    Sides,
    Size,
    as_number,
    collect_boxes,
)
from sqrl._data.formats.boxes.image_sizes import find_sizes
from sqrl._data.formats.boxes.label_files import LabelFiles
from sqrl._data.formats.boxes.label_lines import LineForm, read_lines
from sqrl._data.formats.boxes.line_format import YOLO_FIELDS, YOLO_LINE

LINES = LineForm(YOLO_FIELDS, "confidence", f"a line is: {YOLO_LINE} if it is a detection")
BEYOND = 0.01  # how far outside of its image a share may be: programs round
UNIT = Size(1.0, 1.0)


def read_yolo(found: LabelFiles, *, images: Path | None) -> BoxFile:
    """The boxes of label files: in pixels where the sizes of images are found, else in shares.

    Sides in shares have columns of other names, so that nobody takes them for pixels.
    """
    kinds = {} if found.names is None else read_class_names(found.names)
    names = [file.image for file in found.files]
    sizes = find_sizes(names, found.path, images)

    def box_of(image: str, fields: list[str]) -> Box:
        kind = _class_name(fields[0], kinds, found.names is not None)
        score = as_number(fields[5], "confidence") if len(fields) > 5 else None
        return Box(image, kind, _sides(fields, sizes.get(image, UNIT)), score, False)

    boxes, has_score = read_lines(found, LINES, box_of)
    sides = SIDES if sizes else SHARES
    return collect_boxes(boxes, names, sizes, has_score=has_score, sides=sides)


def _class_name(text: str, kinds: Mapping[int, str], are_named: bool) -> str:
    """What a class is called; its number where no file names classes."""
    value = as_number(text, "class")
    if value < 0 or not value.is_integer():
        raise ValueError(f"The class is {text[:40]!r}, not a whole number from 0.")
    if are_named and int(value) not in kinds:
        raise ValueError(f"Class {int(value)} is not among the {len(kinds)} that have a name.")
    return kinds[int(value)] if are_named else str(int(value))


def _sides(fields: list[str], size: Size) -> Sides:
    meanings = ("x of the centre", "y of the centre", "width", "height")
    shares = [as_number(text, what) for text, what in zip(fields[1:5], meanings, strict=True)]
    for share, what in zip(shares, meanings, strict=True):
        if not -BEYOND <= share <= 1 + BEYOND or (what in meanings[2:] and share < 0):
            raise ValueError(f"The {what} is {share:g}, not a share of the image.")
    x, y, width, height = shares
    wide, high = size.width or 1.0, size.height or 1.0
    return (
        (x - width / 2) * wide,
        (y - height / 2) * high,
        (x + width / 2) * wide,
        (y + height / 2) * high,
    )
