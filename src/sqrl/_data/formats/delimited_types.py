"""The types that a column of text can have, in the order in which Arrow's CSV reader tries them."""

from functools import cache
from typing import Any

import pyarrow as pa

Rungs = frozenset[int]

TIME = "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$"
BLANKS = " \t"  # may stand around numbers, dates and times, but around nothing else
TRYOUT = 64  # values that are tried before all are, since what does not fit shows at once


@cache
def ladder() -> tuple[pa.DataType, ...]:
    """The types in the order in which they are tried: a column has the first that all values fit.

    >>> [str(rung) for rung in ladder()[:4]]
    ['null', 'int64', 'bool', 'date32[day]']
    """
    moments = [pa.timestamp(unit, zone) for unit in ("s", "ns") for zone in (None, "UTC")]
    days = [pa.date32(), pa.time32("s"), *moments]
    return (pa.null(), pa.int64(), pa.bool_(), *days, pa.float64(), pa.string())


def all_rungs() -> Rungs:
    """The rungs of the ladder that no value has ruled out yet."""
    return frozenset(range(len(ladder())))


def remaining(text: pa.Array, rungs: Rungs) -> Rungs:
    """The rungs that these values fit too; text that stands for a missing value is null.

    >>> [str(ladder()[rung]) for rung in sorted(remaining(pa.array(["5", None]), all_rungs()))]
    ['int64', 'double', 'string']
    """
    if text.null_count == len(text):
        return rungs
    few = text.drop_null()[:TRYOUT]
    kept = (rung for rung in rungs if _fits(few, ladder()[rung]))
    return frozenset(rung for rung in kept if len(text) <= TRYOUT or _fits(text, ladder()[rung]))


def settle(rungs: Rungs) -> pa.DataType:
    """The type of a column: the first rung that is left."""
    return ladder()[min(rungs)]


def join(first: Rungs, second: Rungs) -> Rungs | None:
    """What fits the values of two files; None where numbers and text have nothing in common."""
    both = first & second
    has_numbers = _is_number(settle(first)) or _is_number(settle(second))
    return None if has_numbers and pa.types.is_string(settle(both)) else both


def _is_number(of: pa.DataType) -> bool:
    return of in (pa.int64(), pa.float64())


def _fits(text: pa.Array, kind: pa.DataType) -> bool:
    if pa.types.is_string(kind):
        return True
    if pa.types.is_null(kind):
        return bool(text.null_count == len(text))
    import pyarrow.compute as pc

    if pa.types.is_boolean(kind):
        return pc.all(pc.is_in(text.drop_null(), _truths())).as_py() is not False
    if pa.types.is_time(kind):  # the one type that Arrow does not cast text to
        trimmed = pc.ascii_trim(text, characters=BLANKS)
        return pc.all(pc.match_substring_regex(trimmed, TIME)).as_py() is not False
    if _casts(text, kind):
        return True
    return not pa.types.is_timestamp(kind) and _casts(pc.ascii_trim(text, characters=BLANKS), kind)


def _casts(text: pa.Array, kind: pa.DataType) -> bool:
    try:
        text.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


@cache
def _truths() -> Any:
    import pyarrow.csv

    options = pyarrow.csv.ConvertOptions()
    return pa.array([*options.true_values, *options.false_values])
