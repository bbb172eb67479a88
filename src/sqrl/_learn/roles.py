"""What each column is, as far as a default schema cares: a number, a category, a date, a key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import distinct
from sqrl.errors import DataError

Role = Literal["number", "few", "category", "date", "text", "key", "constant", "none", "place"]

FEW_VALUES = 20  # a number with no more is watched value by value
MANY_WORDS = 50  # a text with more values may be free text
LOOKED_AT = 1_000  # words that tell whether a text is a date
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")

OTHER = "of a type that no rule can speak of"
EMPTY = "no row has a value"
KEY = "a different value in each row: only repeats and missing values are watched"
CONSTANT = "one value in all rows: only other values and missing ones are watched"
UNIT = "names the unit that rows belong to"
MANY = "too many values to watch one by one: only its form and missing values are"
PLACE = "says which rows follow one another: only missing values are watched"
REASONS: Mapping[Role, str] = {"none": EMPTY, "constant": CONSTANT, "key": KEY, "text": MANY}


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A column, what it is, and how many values it has and lacks."""

    column: Column
    role: Role
    n_distinct: int
    n_missing: int
    left_out: str | None = None  # why it is watched less than others, or not at all

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name


def watch(table: Table) -> list[Watched]:
    """What each column of a table is, in the table's order."""
    return [role_of(column) for column in table.columns.values()]


def role_of(column: Column) -> Watched:
    """What a column is, judged by its values.

    >>> from sqrl._data.table import as_table
    >>> table = as_table({"age": range(99), "day": ["2025-03-01", "2025-03-02", "2025-04-01"] * 33})
    >>> [(column.name, column.role) for column in watch(table)]
    [('age', 'key'), ('day', 'date')]
    """
    if column.kind == "other":
        return Watched(column, "none", 0, 0, OTHER)
    missing = int(column.missing().sum())
    n_distinct = int(distinct(column.values[~column.missing()]).size)
    role = _role(column, n_distinct)
    reason = REASONS.get(role)
    return Watched(column, role, n_distinct, missing, reason)


def _role(column: Column, n_distinct: int) -> Role:
    if n_distinct == 0:
        return "none"
    if column.kind == "date":
        return "date"
    if n_distinct == 1:
        return "constant"
    is_word = column.kind == "category"
    if is_word and is_date(column):
        role: Role = "date"
    elif is_name(column, n_distinct):
        role = "key"
    elif column.kind == "number":
        role = "few" if n_distinct <= FEW_VALUES else "number"
    elif is_word and n_distinct > MANY_WORDS and _is_text(column, n_distinct):
        role = "text"
    else:
        role = "category"
    return role


def is_date(column: Column) -> bool:
    """Whether a column of words holds dates such as 2025-03-01, with or without a time of day."""
    words = column.categories
    if not words or not DATE.fullmatch(words[0]):
        return False
    used = np.unique(column.values[column.values >= 0])
    chosen = used[np.linspace(0, used.size - 1, min(used.size, LOOKED_AT)).astype(np.int64)]
    return bool(used.size) and all(DATE.fullmatch(words[code]) for code in chosen.tolist())


def _is_text(column: Column, n_distinct: int) -> bool:
    """Whether words are sentences or names rather than the values of a code."""
    n_present = int((column.values >= 0).sum())
    if n_distinct > MOST_VALUES or 4 * n_distinct > n_present:
        return True
    words = [column.categories[code] for code in np.unique(column.values[column.values >= 0])]
    return 2 * sum(" " in word.strip() for word in words) > len(words)


def is_name(column: Column, n_distinct: int, n_present: int | None = None) -> bool:
    """Whether a column names or numbers the rows: it is different in each of them.

    Incomes in whole numbers may be too, but they are neither sorted, nor dense, nor called id.
    """
    values = column.values[~column.missing()]
    if n_distinct < (n_present or values.size) or n_distinct <= 20:
        return False
    if column.kind == "category":
        return True
    steps = np.diff(values)
    sorted_up_or_down = bool((steps > 0).all() or (steps < 0).all())
    dense = float(np.ptp(values)) < 2 * n_distinct
    called = column.name.casefold().replace("_", " ").split()[-1:] in (["id"], ["index"], ["key"])
    return column.is_integer and (sorted_up_or_down or dense or called)


def check_label(table: Table, label: str, *, n_present: int | None = None) -> None:
    """Raise where the column cannot be a label: it must tell rows apart, and not be their name.

    `n_present` is how many rows have one, where the table holds each value only once.
    """
    column = table[label]
    values = column.distinct() if column.kind != "other" else ()
    what, fix = None, "choose another --label"
    if not values:
        what = f"The label {label!r} has no values that can be used."
        fix = "use a column of numbers or categories"
    elif len(values) == 1:
        what = f"The label {label!r} is {values[0]} in every row: there is nothing to tell."
        fix = "use a column with at least two values"
    elif column.kind == "category" and is_name(column, len(values), n_present):
        what = f"The label {label!r} is different in every row."
    elif column.kind == "category" and len(values) > MOST_VALUES:
        what = f"The label {label!r} has {len(values):,} categories, more than {MOST_VALUES:,}."
    if what:
        raise DataError(what, where=table.source, fix=fix)
