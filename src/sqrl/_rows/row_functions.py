"""Cells of one row, and plain functions of them, put together by `one_row.Compiler`.

A row's cells are floats (numbers and truths, nan where missing), words, or days. What only a table
can say, such as that a column holds the wrong kind of values, raises `OddRowError`.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

from sqrl._data.column import LARGEST_EXACT
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import FUNCTIONS

NAN = math.nan
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


class OddRowError(Exception):
    """What a row holds is not what rules expect there; only a table can say what becomes of it."""


class Days(float):
    """A date or a moment in days since 1970-01-01, told apart from numbers."""


Cell = float | str
Cells = Mapping[str, Cell]
NumberOf = Callable[[Cells], float]
TruthOf = Callable[[Cells], bool | None]


def cell_of(value: Any) -> Cell:
    """A plain value as rules see it; raises `OddRowError` for those that need a table.

    >>> cell_of(True), cell_of("Car"), cell_of(None), cell_of(date(1970, 1, 3))
    (1.0, 'Car', nan, 2.0)
    """
    make = _CELLS.get(type(value))
    if make is not None:
        return make(value)
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_):
        return cell_of(value.item())
    raise OddRowError


def _whole(value: int) -> float:
    if abs(value) > LARGEST_EXACT:
        raise OddRowError
    return float(value)


def _moment(value: datetime) -> Days:
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return Days(since.days + (since.seconds * 1_000_000 + since.microseconds) / 86_400e6)


_CELLS: Mapping[type, Callable[[Any], Cell]] = {
    float: lambda value: value,
    int: _whole,
    str: lambda value: value,
    type(None): lambda _: NAN,
    bool: float,
    date: lambda value: Days(value.toordinal() - _FIRST_DAY),
    datetime: _moment,
}


def odd(_: Cells) -> Any:
    """Raise: only a table can say what this is."""
    raise OddRowError


def column(name: str) -> NumberOf:
    """The number in a column's cell."""

    def value(cells: Cells) -> float:
        cell = cells[name]
        if type(cell) is float:
            return cell
        raise OddRowError

    return value


def cell_member(name: str, words: frozenset[str], numbers: frozenset[float | None]) -> TruthOf:
    """Whether a column's cell is one of some values: by text if it is a word, else by number."""

    def is_member(cells: Cells) -> bool | None:
        cell = cells[name]
        if type(cell) is str:
            return cell in words
        if cell != cell:  # noqa: PLR0124
            return None
        if type(cell) is Days or None in numbers:
            raise OddRowError
        return cell in numbers

    return is_member


def _finite(value: float) -> float:
    return value if math.isfinite(value) else NAN


def _plain(compute: Callable[[float, float], float]) -> Callable[[NumberOf, NumberOf], NumberOf]:
    """Arithmetic of two functions, undefined where it is not finite."""

    def make(left: NumberOf, right: NumberOf) -> NumberOf:
        return lambda cells: _finite(compute(left(cells), right(cells)))

    return make


def _divided(left: float, right: float) -> float:
    return left / right if right else NAN


def _power(base: float, exponent: float) -> float:
    """numpy's own power: the last bit of others' may differ."""
    if math.isnan(base) or math.isnan(exponent):
        return NAN
    with np.errstate(all="ignore"):
        return float(np.power(np.array([base]), np.array([exponent]))[0])


ARITHMETIC: Mapping[str, Callable[[NumberOf, NumberOf], NumberOf]] = {
    "+": _plain(lambda left, right: left + right),
    "-": _plain(lambda left, right: left - right),
    "*": _plain(lambda left, right: left * right),
    "/": _plain(_divided),
    "**": _plain(_power),
}


def call(function: str, arguments: list[NumberOf]) -> NumberOf:
    """A function as numpy computes it, of arrays of one value."""
    compute = FUNCTIONS[function]

    def value(cells: Cells) -> float:
        with np.errstate(all="ignore"):
            return _finite(float(compute(*[np.array([one(cells)]) for one in arguments])[0]))

    return value


def of_column(function: str, name: str) -> NumberOf:
    """A function of a column of dates or of text."""
    known = COLUMN_FUNCTIONS[function]

    def value(cells: Cells) -> float:
        cell = cells[name]
        if type(cell) is str:
            return known.of_word(cell)
        if cell != cell:  # noqa: PLR0124
            return NAN
        if type(cell) is Days and known.of == "dates":
            return float(known.of_days(np.array([float(cell)]))[0])
        raise OddRowError

    return value


def negated(holds: TruthOf) -> TruthOf:
    """Whether a formula is false; unknown where it is."""

    def is_not(cells: Cells) -> bool | None:
        found = holds(cells)
        return None if found is None else not found

    return is_not


def all_of(parts: list[TruthOf]) -> TruthOf:
    """Whether all hold: false where one is false, else unknown where one is."""

    def hold(cells: Cells) -> bool | None:
        is_known = True
        for part in parts:
            found = part(cells)
            if found is False:
                return False
            is_known &= found is not None
        return True if is_known else None

    return hold


def any_of(parts: list[TruthOf]) -> TruthOf:
    """Whether any holds: true where one is true, else unknown where one is."""

    def holds(cells: Cells) -> bool | None:
        is_known = True
        for part in parts:
            found = part(cells)
            if found:
                return True
            is_known &= found is not None
        return False if is_known else None

    return holds


def chosen(then: TruthOf, test: TruthOf, otherwise: TruthOf) -> TruthOf:
    """What the piece says whose turn it is."""

    def holds(cells: Cells) -> bool | None:
        which, first, second = test(cells), then(cells), otherwise(cells)
        return None if which is None else first if which else second

    return holds


def boolean(value: NumberOf) -> TruthOf:
    """Whether a number is 1, and not 0."""

    def holds(cells: Cells) -> bool | None:
        number = value(cells)
        if number != number:  # noqa: PLR0124
            return None
        if number not in (0.0, 1.0):
            raise OddRowError
        return number == 1.0

    return holds


def ordered(left: NumberOf, op: str, right: NumberOf) -> TruthOf:
    """Whether two numbers compare; unknown where one is missing."""
    compare = _ORDER[op]

    def holds(cells: Cells) -> bool | None:
        one, other = left(cells), right(cells)
        if one != one or other != other:  # noqa: PLR0124
            return None
        return compare(one, other)

    return holds
