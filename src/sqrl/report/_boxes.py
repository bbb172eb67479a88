"""Boxes of the rows that break a rule, to be drawn in the frame of their image."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

from sqrl._check.violations import Violations
from sqrl._data.formats.boxes import SIDES
from sqrl._data.table import Table
from sqrl._language.forms import sentence_of
from sqrl._rules.needed_columns import names_in
from sqrl.report._wording import plain, plains

SIZE = ("image_width", "image_height")


def find_boxes(violations: Violations, examples: dict[str, Any]) -> dict[str, Any] | None:
    """The sides of each example's box, the size of its image, and which rules are about boxes.

    `reach` is how far the boxes of all rows reach, to be the frame where a size is not known.
    None where the rows are not boxes or no broken rule speaks of their sides.
    """
    table = violations.table
    if not _are_numbers(table, SIDES):
        return None
    about = [rule for rule in examples["of"] if _is_about_boxes(violations, rule)]
    if not about:
        return None
    rows = sorted({row for rule in about for row, *_ in examples["of"][rule]["rows"]})
    return {
        "of": about,
        "rows": {row: box for row in rows if (box := _box(table, row - 1)) is not None},
        "reach": [plain(_most(table, "right")), plain(_most(table, "bottom"))],
    }


def _is_about_boxes(violations: Violations, rule: int) -> bool:
    names = names_in([sentence_of(violations.rules.form(rule))], violations.rules.statistics())
    return not names.isdisjoint(SIDES)


def _are_numbers(table: Table, names: Iterable[str]) -> bool:
    return all(name in table and table[name].kind == "number" for name in names)


def _box(table: Table, row: int) -> list[float | int | None] | None:
    """Left, top, right, bottom and the size of the image, which may be None; or nothing."""
    sides = [float(table[side].values[row]) for side in SIDES]
    if not all(isfinite(side) for side in sides):
        return None
    size = [float(table[name].values[row]) for name in SIZE] if _are_numbers(table, SIZE) else []
    is_known = len(size) == len(SIZE) and all(isfinite(side) and side > 0 for side in size)
    return [*plains(sides), *(plains(size) if is_known else [None, None])]


def _most(table: Table, side: str) -> float:
    values = table[side].values
    return float(values[np.isfinite(values)].max(initial=0.0))
