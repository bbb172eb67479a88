"""read_kitti: KITTI's labels, and detections in the same format with a score at the end.

A line is: type truncated occluded alpha left top right bottom, seven numbers about the object in
space, and for a detection its score.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqrl._data.formats.boxes.collected import Box, BoxFile, Sides, Size, collect_boxes
from sqrl._data.formats.boxes.image_sizes import image_key, read_sizes
from sqrl._data.formats.boxes.label_files import PAGE, LabelFile, find_label_files
from sqrl.errors import DataError

LEFT_OUT = "DontCare"  # regions in which nobody labelled what is there
BESIDE = "frames.csv"
WITHOUT_SCORE, WITH_SCORE = 15, 16  # fields of a line
LINE_FIX = (
    "a line is: type truncated occluded alpha left top right bottom and 7 more numbers, then a "
    f"score if it is a detection; the labels are at {PAGE}"
)


def read_kitti(path: Path, *, images: Path | None, max_bytes: int) -> BoxFile:
    """The boxes of a folder or archive of label files, an image a file.

    Their sizes are in `images`, else in the file frames.csv beside; else they are not known.
    """
    reading = _Reading()
    files = find_label_files(path, max_bytes=max_bytes)
    for file in files:
        _read_file(file, reading)
    names = [file.image for file in files]
    sizes = _sizes_of(names, path, images)
    has_score = reading.n_fields == WITH_SCORE
    return collect_boxes(reading.boxes, names, sizes, has_score=has_score, reason=LEFT_OUT)


@dataclass(slots=True, eq=False)
class _Reading:
    """What was read so far, and how many fields every line has."""

    boxes: list[Box] = field(default_factory=list)
    n_fields: int = 0


def _read_file(file: LabelFile, reading: _Reading) -> None:
    try:
        text = file.content.decode()
    except UnicodeDecodeError:
        raise DataError("The file is not text.", where=file.where, fix=LINE_FIX) from None
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            _check_fields(fields, reading)
            sides = _sides(fields)
            score = _number(fields[15], "score") if len(fields) == WITH_SCORE else None
        except ValueError as error:
            where = f"{file.where}, line {number}"
            raise DataError(str(error), where=where, fix=LINE_FIX) from None
        kind = fields[0]
        reading.boxes.append(Box(file.image, kind, sides, score, kind == LEFT_OUT))


def _check_fields(fields: list[str], reading: _Reading) -> None:
    n_fields = len(fields)
    if n_fields not in {WITHOUT_SCORE, WITH_SCORE}:
        raise ValueError(
            f"The line has {n_fields} fields, not {WITHOUT_SCORE}, or {WITH_SCORE} with a score."
        )
    reading.n_fields = reading.n_fields or n_fields
    if n_fields != reading.n_fields:
        has = "a score" if n_fields == WITH_SCORE else "no score"
        raise ValueError(f"The line has {has}, unlike the lines before it.")


def _sides(fields: list[str]) -> Sides:
    left = _number(fields[4], "left side")
    top = _number(fields[5], "top")
    right = _number(fields[6], "right side")
    bottom = _number(fields[7], "bottom")
    if right < left:
        raise ValueError(f"The right side of the box, {right:g}, lies left of {left:g}.")
    if bottom < top:
        raise ValueError(f"The bottom of the box, {bottom:g}, lies above {top:g}.")
    return left, top, right, bottom


def _number(text: str, what: str) -> float:
    try:
        value = float(text) if "_" not in text else math.nan  # which Python takes, and no other
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"The {what} is {text[:40]!r}, not a number.")
    return value


def _sizes_of(names: list[str], path: Path, images: Path | None) -> Mapping[str, Size]:
    """The size of every image; nothing at all where no file tells them."""
    beside = path.parent / BESIDE
    if images is None and not beside.is_file():
        return {}
    source = images or beside
    known = read_sizes(source)
    for name in names:
        if image_key(name) not in known:
            raise DataError(
                f"The size of image {name!r} is not given.",
                where=str(source),
                fix="add a line for it, or name another file with images= (--images)",
            )
    return {name: known[image_key(name)] for name in names}
