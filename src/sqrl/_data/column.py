"""Column: one named array with a meaning, made from Arrow or plain values."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqrl._data.arrow_arrays import from_numpy, from_values, put_numpy, to_numpy
from sqrl._data.draws import FINGERPRINT, keyed_sum
from sqrl._kernels.arrays import distinct
from sqrl.errors import DataError

MOST_VALUES = 1000  # of a column in values(...)

Kind = Literal["number", "boolean", "category", "date", "other"]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.integer[Any]]

LARGEST_EXACT = 2.0**53  # above it a float64 no longer tells neighbouring integers apart
ROWS_AT_ONCE = 1 << 20
FEW_ROWS = 1 << 10  # which mostly say whether there are fractions
# Numbers that a float64 holds exactly, as Arrow has them and as numpy has them.
EXACT: dict[pa.DataType, type[np.generic]] = {
    pa.float64(): np.float64,
    pa.float32(): np.float32,
    pa.int32(): np.int32,
    pa.int16(): np.int16,
    pa.int8(): np.int8,
    pa.uint32(): np.uint32,
    pa.uint16(): np.uint16,
    pa.uint8(): np.uint8,
}
UNITS_A_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One named column: an array, and what its values mean.

    `values` holds, by kind: float64 for a number, 0.0 and 1.0 for a boolean, int32 codes
    into the sorted `categories` for a category, days since 1970-01-01 for a date, with a
    fraction for times. Missing is nan, or the code -1. What no rule can speak of (lists,
    bytes, integers beyond 2**53) is "other": all nan.

    >>> column = from_plain("pet", ["dog", None, "cat"], "doctest")
    >>> column.categories, column.values.tolist(), column.missing().tolist()
    (('cat', 'dog'), [1, -1, 0], [False, True, False])
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    categories: tuple[str, ...] = field(default=(), repr=False)
    is_integer: bool = False

    def __post_init__(self) -> None:
        values = self.values.view()
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def missing(self) -> BoolArray:
        """True where the value is missing."""
        absent = self.values == -1 if self.kind == "category" else np.isnan(self.values)
        return cast(BoolArray, absent)

    def take(self, rows: IntArray | BoolArray) -> "Column":
        """The column with only these rows, in this order; the categories all stay."""
        return replace(self, values=self.values[rows])

    def distinct(self) -> tuple[str, ...] | tuple[float, ...] | tuple[bool, ...]:
        """The values that occur, sorted, each once: text, numbers, or False and True.

        Dates are none that a rule names.

        >>> from_plain("n", [3, None, 1, 3], "doctest").distinct()
        (1, 3)
        """
        if self.kind == "date":
            return ()
        present = distinct(self.values[~self.missing()])
        if self.kind == "category":
            return tuple(self.categories[code] for code in present.tolist())
        if self.kind == "boolean":
            return tuple(present.astype(bool).tolist())
        return tuple((present.astype(np.int64) if self.is_integer else present + 0.0).tolist())


def from_plain(name: str, values: Any, source: str) -> Column:
    """A column from a list, a numpy array, or whatever gives a numpy array of itself.

    >>> from_plain("smokes", np.array([True, False]), "doctest").kind
    'boolean'
    """
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, RuntimeError) as error:
        # A tensor that requires a gradient is a RuntimeError.
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        what = f"Column {name!r} cannot be read: {reason}."
        fix = "give one value a row, all numbers, all booleans or all text"
        raise DataError(what, where=source, fix=fix) from None
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    return from_arrow(name, chunked)


def _in_utc(value: Any) -> Any:
    """A moment with a time zone in UTC, anything else as it is.

    Other libraries tell pyarrow to leave time zones out (PYARROW_IGNORE_TIMEZONE).
    """
    is_zoned = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC) if is_zoned else value


def _arrow(values: Any) -> pa.Array:
    if isinstance(values, str | bytes | Mapping):
        raise TypeError(f"a {type(values).__name__} is not a list of values")
    if not hasattr(values, "__array__"):
        plain = list(values)
        kinds = set(map(type, plain))
        if {str} <= kinds <= {str, type(None)}:
            return from_values(plain, pa.string())
        if any(issubclass(kind, datetime) for kind in kinds):
            plain = [_in_utc(value) for value in plain]
        return pa.array(plain, from_pandas=True)
    array, is_masked = np.asarray(values), getattr(values, "mask", None)
    if array.ndim != 1:
        raise ValueError(f"it has {array.ndim} dimensions instead of 1")
    if array.dtype.kind not in "biuf":
        return pa.array(array, from_pandas=True)
    if isinstance(is_masked, np.ndarray | np.bool_):  # of numpy.ma, which would be slow to import
        return pa.array(array, mask=np.broadcast_to(is_masked, array.shape), from_pandas=True)
    return from_numpy(array.astype(np.float64) if array.dtype.kind == "f" else array)


def text_of_mixed(values: list[Any]) -> list[str | None] | None:
    """The values as text where words are among numbers; None where they are of one kind.

    >>> text_of_mixed([3, "old", None, 2.5]), text_of_mixed([3, None])
    (['3', 'old', None, '2.5'], None)
    """
    missing = [value is None or value != value for value in values]  # noqa: PLR0124  (nan)
    kinds = {type(value) for value, is_none in zip(values, missing, strict=True) if not is_none}
    plain = all(issubclass(kind, str | int | float | np.generic) for kind in kinds)
    if str not in kinds or len(kinds) < 2 or not plain:
        return None
    return [None if is_none else str(value) for value, is_none in zip(values, missing, strict=True)]


def from_arrow(name: str, data: pa.ChunkedArray, *, is_integer: bool | None = None) -> Column:
    """The column that an Arrow array of any type makes; its memory is copied.

    Whether numbers are all whole is looked up in them, unless it is said.

    >>> from_arrow("n", pa.chunked_array([pa.nulls(2, pa.int8())])).values.tolist()
    [nan, nan]
    """
    if pa.types.is_dictionary(data.type) and not _is_clean(data):
        data = data.cast(data.type.value_type)
    if pa.types.is_dictionary(data.type):
        return _category(name, data)
    if pa.types.is_string_view(data.type):
        data = data.cast(pa.large_string())
    if pa.types.is_string(data.type) or pa.types.is_large_string(data.type):
        return _category(name, data)
    if pa.types.is_boolean(data.type):
        return Column(name, "boolean", _floats(data))
    if _is_number(data.type):
        return _number(name, data, is_integer)
    if pa.types.is_date(data.type) or pa.types.is_timestamp(data.type):
        return Column(name, "date", _days(data))
    return _other(name, data)


def _number(name: str, data: pa.ChunkedArray, is_integer: bool | None) -> Column:
    try:
        values = _floats(data)
    except pa.ArrowInvalid:  # integers that a float64 cannot hold
        return _other(name, data)
    if is_integer is None:
        is_integer = pa.types.is_integer(data.type) or _is_whole(values)
    return Column(name, "number", values, is_integer=is_integer)


def _days(data: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Days since 1970-01-01; of moments with a time zone, in UTC."""
    kind: type[np.signedinteger[Any]] = np.int64
    if pa.types.is_date32(data.type):
        kind, in_a_day = np.int32, 1
    else:
        unit = "ms" if pa.types.is_date64(data.type) else data.type.unit
        in_a_day = 86_400 * UNITS_A_SECOND[unit]
    parts = [np.empty(0)]
    for chunk in data.chunks:
        counts = to_numpy(chunk, kind, 0).astype(np.int64)
        days = counts // in_a_day
        made = days + (counts - days * in_a_day) / in_a_day
        if chunk.null_count:
            made[to_numpy(chunk, kind, 1) != to_numpy(chunk, kind, 0)] = np.nan
        parts.append(made)
    return np.concatenate(parts)


def _is_number(of: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(of) for test in tests)


def _other(name: str, data: pa.ChunkedArray) -> Column:
    return Column(name, "other", np.full(len(data), np.nan))


def _is_clean(data: pa.ChunkedArray) -> bool:
    """Whether a dictionary holds words, each once: then its codes can be used as they are."""
    values, index = data.type.value_type, data.type.index_type
    if not (pa.types.is_string(values) or pa.types.is_large_string(values)):
        return False
    words = [chunk.dictionary for chunk in data.chunks]
    is_clean = all(not one.null_count and len(one.unique()) == len(one) for one in words)
    return is_clean and index == pa.int32()


def _category(name: str, data: pa.ChunkedArray) -> Column:
    import pyarrow.compute as pc

    encoded = data if pa.types.is_dictionary(data.type) else data.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    if not encoded.num_chunks:
        return Column(name, "category", np.empty(0, np.int32))
    words = encoded.chunk(0).dictionary
    order = pc.sort_indices(words)
    rank = np.empty(len(words) + 1, np.int32)
    rank[to_numpy(order, np.uint64, 0)] = np.arange(len(words), dtype=np.int32)
    rank[-1] = -1  # where the code of a missing value, -1, also points
    codes = np.concatenate([to_numpy(chunk.indices, np.int32, -1) for chunk in encoded.chunks])
    return Column(name, "category", rank[codes], tuple(words.take(order).to_pylist()))


def _floats(data: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    if data.type == pa.int64() and not data.null_count:  # a cast would import pyarrow.compute
        whole = to_numpy(data.combine_chunks(), np.int64, 0)
        if not whole.size or max(-int(whole.min()), int(whole.max())) <= LARGEST_EXACT:
            return whole.astype(np.float64)
    if pa.types.is_decimal(data.type):  # Arrow's own cast makes 0.7000000000000001 of 0.7
        data = data.cast(pa.string())
    if data.type not in EXACT:
        data = data.cast(pa.float64())
    values = np.empty(len(data))
    at = 0
    for chunk in data.chunks:
        put_numpy(chunk, EXACT[data.type], values[at : at + len(chunk)])
        at += len(chunk)
    return values


def _is_whole(values: npt.NDArray[np.float64]) -> bool:
    """Whether all values that are there are whole, and small enough to be told from neighbours."""
    is_any = False
    for begin, end in pairwise(
        [0, FEW_ROWS, *range(ROWS_AT_ONCE, values.size, ROWS_AT_ONCE), None]
    ):
        part = values[begin:end]
        present = part[~np.isnan(part)]
        if present.size:
            is_any = True
            if np.abs(present).max() > LARGEST_EXACT or (np.floor(present) != present).any():
                return False
    return is_any


def column_sum(column: Column, first: int = 0) -> int:
    """The sum modulo 2**64 of a hash of each value and the number of its row, from `first` on.

    The sums of parts of a column add up to that of the whole. A missing value adds nothing, nor
    does an "other" column: an all-empty CSV column has no kind. Words count by their text.

    >>> whole, start, end = ([3.0, None, -0.0], [3.0], [None, 0.0])
    >>> parts = [column_sum(from_plain("n", start, "doctest"))]
    >>> parts += [column_sum(from_plain("n", end, "doctest"), 1)]
    >>> sum(parts) % 2**64 == column_sum(from_plain("n", whole, "doctest"))
    True
    """
    if column.kind == "other":
        return 0
    total = 0
    for begin in range(0, column.values.size, ROWS_AT_ONCE):
        part = replace(column, values=column.values[begin : begin + ROWS_AT_ONCE])
        words = words_of(part)
        total += keyed_sum(words, ~part.missing(), first + begin, seed=0, draw=FINGERPRINT)
    return total % 2**64


def words_of(column: Column) -> npt.NDArray[np.uint64]:
    """Each value in 64 bits: a number as it is, a category by a hash of its text."""
    if column.kind != "category":
        # One zero: formats do not keep its sign.
        return np.asarray(column.values + 0.0, np.float64).view(np.uint64)
    hashes = np.zeros(len(column.categories) + 1, np.uint64)
    hashes[column.values] = 1  # those in use; the last stands for missing
    for code in np.flatnonzero(hashes[:-1]).tolist():
        digest = hashlib.sha256(column.categories[code].encode()).digest()
        hashes[code] = int.from_bytes(digest[:8], "little")
    found: npt.NDArray[np.uint64] = hashes[column.values]
    return found


def summary(column: Column) -> str:
    """The range of a number, the share of what is true, or how many words occur.

    >>> summary(from_plain("n", [3, None, 1], "doctest"))
    '1 .. 3'
    """
    present = column.values[~column.missing()]
    if not present.size:
        return ""
    if column.kind == "number":
        digits = ".0f" if column.is_integer else ".6g"
        return f"{present.min():{digits}} .. {present.max():{digits}}"
    if column.kind == "boolean":
        return f"{present.mean():.1%} true"
    if column.kind == "date":
        ends = np.floor([present.min(), present.max()]).astype("datetime64[D]")
        return " .. ".join(map(str, ends))
    return f"{distinct(present).size:,} distinct"


def check_names(names: list[str], where: str) -> None:
    """Raise where a column has no name, or that of another."""
    for position, name in enumerate(names, start=1):
        if not name:
            fix = "give every column a name of its own"
            raise DataError(f"Column {position} has no name.", where=where, fix=fix)
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            what = (
                f"The name of column {position} has half of a surrogate pair, which is no letter."
            )
            raise DataError(what, where=where, fix="give the column another name")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = ", ".join(repr(name) for name in repeated)
        fix = "give every column a name of its own"
        raise DataError(f"Column names occur more than once: {listed}.", where=where, fix=fix)
