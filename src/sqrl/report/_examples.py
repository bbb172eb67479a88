"""Rows that break a rule, with the columns that it speaks of first, and their boxes to be drawn."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

import numpy as np

from sqrl._check.violations import Violations
from sqrl._data.formats.boxes import SIDES
from sqrl._data.table import Column, Table
from sqrl._language.forms import Form, sentence_of
from sqrl._language.tree import Name, Node, walk
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import names_in as all_names_in
from sqrl.report._wording import plain, plains

MOST_EXAMPLES = 5
MOST_COLUMNS = 12  # shown of every row beside those that the rule speaks of
MOST_CHARACTERS = 120  # of a value
SIZE = ("image_width", "image_height")


def find_examples(violations: Violations, rules: Sequence[int]) -> dict[str, Any]:
    """For each rule up to five broken rows, those furthest out first; each row's cells once.

    `columns` and `rows` are shared by all rules; `of` gives for each rule the names it speaks of
    and for each example the row, the excess and the values of those names.
    """
    chosen = {rule: _furthest(violations, rule) for rule in rules}
    places = np.unique(np.concatenate([np.empty(0, np.int64), *(r for r, _ in chosen.values())]))
    small = violations.table.take(places)
    where = {row: place for place, row in enumerate(places.tolist())}
    statistics = violations.rules.statistics()
    rows = Rows(small, statistics)
    cells: dict[str, list[Any]] = {}

    def cells_of(name: str) -> list[Any]:
        if name not in cells:
            derived = name in statistics
            column = Column(name, "number", rows.numbers(Name(name))) if derived else small[name]
            cells[name] = column_cells(column)
        return cells[name]

    of = {}
    for rule, (found, excess) in chosen.items():
        if not found.size:
            continue
        names = names_in(violations.rules.form(rule), small, statistics)
        of[rule] = {
            "names": names,
            "rows": [
                [row + 1, plain(far, 3), [cells_of(name)[where[row]] for name in names]]
                for row, far in zip(found.tolist(), excess.tolist(), strict=True)
            ],
        }
    columns = list(small.names)[:MOST_COLUMNS]
    shared = zip(*(cells_of(name) for name in columns), strict=True) if columns else ()
    return {
        "columns": columns,
        "rows": {row + 1: list(line) for row, line in zip(places.tolist(), shared, strict=False)},
        "of": of,
    }


def _furthest(violations: Violations, rule: int) -> tuple[Any, Any]:
    rows, excess = violations.rows_of(rule)
    order = np.argsort(-excess, kind="stable")[:MOST_EXAMPLES]
    return rows[order].astype(np.int64), excess[order].astype(np.float64)


def names_in(form: Form, table: Table, statistics: Mapping[str, Node]) -> list[str]:
    """The columns and derived statistics that a rule speaks of, in the order it does."""
    found = (node.name for node in walk(sentence_of(form)) if isinstance(node, Name))
    return [name for name in dict.fromkeys(found) if name in table or name in statistics]


def column_cells(column: Column) -> list[Any]:
    """The column's values as JSON has them: text cut short, None where missing.

    >>> from sqrl._data.column import from_plain
    >>> column_cells(from_plain("pet", ["dog", None], "doctest"))
    ['dog', None]
    """
    if column.kind == "category":
        words = [_cut(word) for word in column.categories]
        return [words[code] if code >= 0 else None for code in column.values.tolist()]
    if column.kind == "date":
        days = np.floor(np.where(column.missing(), 0.0, column.values)).astype("datetime64[D]")
        missing = column.missing().tolist()
        return [None if lacks else str(day) for day, lacks in zip(days, missing, strict=True)]
    if column.kind == "boolean":
        return [None if isnan(value) else bool(value) for value in column.values.tolist()]
    return [plain(value) for value in column.values.tolist()]


def _cut(word: str) -> str:
    return word if len(word) <= MOST_CHARACTERS else f"{word[:MOST_CHARACTERS]}…"


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
    names = all_names_in([sentence_of(violations.rules.form(rule))], violations.rules.statistics())
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
