"""read_lines: the boxes of label files in which a line is a box, as in KITTI's and YOLO's."""

from collections.abc import Callable
from dataclasses import dataclass

from sqrl._data.formats.boxes.collected import Box
from sqrl._data.formats.boxes.label_files import LabelFiles
from sqrl.errors import DataError


@dataclass(frozen=True, slots=True)
class LineForm:
    """What lines of a format are like; `n_fields` is without a score, and with one at the end."""

    n_fields: tuple[int, int]
    score: str
    fix: str


def read_lines(
    found: LabelFiles, form: LineForm, box_of: Callable[[str, list[str]], Box]
) -> tuple[list[Box], bool]:
    """The boxes, and whether they have a score: either all have one, or none has.

    `box_of` takes the image and the fields of a line, and raises a ValueError where these are no
    box; here it gets file and line.
    """
    boxes: list[Box] = []
    n_fields = 0
    for file in found.files:
        for number, fields in file.lines(form.fix):
            n_fields = n_fields or len(fields)
            try:
                _check_fields(len(fields), n_fields, form)
                boxes.append(box_of(file.image, fields))
            except ValueError as error:
                where = f"{file.where}, line {number}"
                raise DataError(str(error), where=where, fix=form.fix) from None
    return boxes, n_fields == form.n_fields[1]


def _check_fields(n_here: int, n_fields: int, form: LineForm) -> None:
    without, with_score = form.n_fields
    if n_here not in form.n_fields:
        raise ValueError(
            f"The line has {n_here} fields, not {without}, or {with_score} with a {form.score}."
        )
    if n_here != n_fields:
        has = "a" if n_here == with_score else "no"
        raise ValueError(f"The line has {has} {form.score}, unlike the lines before it.")
