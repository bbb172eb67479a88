"""Predictions as an Arrow table with the types they were given in, and changes put back into it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqrl._data.formats import read_arrow
from sqrl._data.given_path import given_path
from sqrl._data.table import Table, as_table, collect, to_arrow
from sqrl._kernels.arrays import Bools, Floats
from sqrl._scan.scan import refuse_scan
from sqrl.errors import DataError


class Given(NamedTuple):
    """Predictions as an Arrow table in the types that they were given in, and as a Table."""

    arrow: pa.Table
    table: Table


def given_as(data: Any, **read: Any) -> Given:
    """What `as_table` takes, as an Arrow table in the types it has, and as a Table.

    A file is read with the options of `read_table`.

    >>> arrow, table = given_as({"n": np.array([1, 2], np.int16)})
    >>> str(arrow.schema.field("n").type), table["n"].values.tolist()
    ('int16', [1.0, 2.0])
    """
    if isinstance(data, Given):
        return data
    refuse_scan(data, "A repair needs")
    if isinstance(data, str | Path):
        path = given_path(data)
        arrow = read_arrow(path, **read)
        return Given(arrow, as_table(arrow, source=path.name))
    if isinstance(data, pa.Table):
        return Given(data, as_table(data))
    if isinstance(data, Table):
        return Given(_of_table(data), data)
    if isinstance(data, Mapping):
        table = as_table(data)
        return Given(pa.table({str(name): _array(data[name]) for name in data}), table)
    source = type(data).__name__
    arrow = collect(data, source)
    return Given(arrow, as_table(arrow, source=source))


def _array(values: Any) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if not hasattr(values, "__array__"):
        return pa.array(list(values), from_pandas=True)
    array = np.asarray(values)
    return pa.array(array, from_pandas=array.dtype.kind not in "biuf")  # nan is kept as it is


def _of_table(table: Table) -> pa.Table:
    """A Table as Arrow, whole numbers as such; what a Table does not hold cannot be given back."""
    arrow = to_arrow(table)
    for place, column in enumerate(table.columns.values()):
        if column.kind in {"date", "other"}:
            raise DataError(
                f"Column {column.name!r} holds neither numbers nor categories, and a Table not "
                "even its values.",
                where=table.source,
                fix="give the file or the dataframe that the table was made of",
            )
        if column.is_integer:
            arrow = arrow.set_column(place, column.name, arrow[place].cast(pa.int64()))
    return arrow


def number_type(of: pa.DataType) -> np.dtype[Any] | None:
    """The numpy type of an Arrow column of integers or floats; None for any other."""
    if pa.types.is_dictionary(of):
        return number_type(of.value_type)
    if pa.types.is_integer(of) or pa.types.is_floating(of):
        made: np.dtype[Any] = np.dtype(of.to_pandas_dtype())
        return made
    return None


def decimal_places(of: pa.DataType) -> int | None:
    """How many digits after the point an Arrow column of decimals has; None for any other."""
    if pa.types.is_dictionary(of):
        return decimal_places(of.value_type)
    return of.scale if pa.types.is_decimal(of) else None


def with_numbers(arrow: pa.Table, name: str, values: Floats, changed: Bools) -> pa.Table:
    """The table with some numbers of a column replaced, all others left bit by bit as they are.

    The column keeps its type if that can hold every new number; else it becomes one of float64.

    >>> table = pa.table({"n": pa.array([1, None, 3], pa.int8())})
    >>> new, where = np.array([1.0, np.nan, 2.0]), np.array([False, False, True])
    >>> with_numbers(table, "n", new, where)["n"].to_pylist()
    [1, None, 2]
    """
    old = arrow.column(name)
    rows = np.flatnonzero(changed)
    if pa.types.is_dictionary(old.type):
        place = arrow.schema.get_field_index(name)
        plain = arrow.set_column(place, name, old.cast(old.type.value_type))
        made = pc.dictionary_encode(with_numbers(plain, name, values, changed).column(name))
        return arrow.set_column(place, arrow.schema.field(name).with_type(made.type), made)
    wanted, dtype = values[rows], number_type(old.type)
    if pa.types.is_decimal(old.type):
        held = _as_decimals(wanted, old.type)
        if held is not None:
            return _replaced(arrow, name, old, held, changed)
    with np.errstate(invalid="ignore", over="ignore"):
        held = wanted if dtype is None else wanted.astype(dtype)
    if dtype is not None and bool((held.astype(np.float64) == wanted).all()):
        new = pa.array(held)
    else:
        if pa.types.is_decimal(old.type):  # Arrow's own cast is not to the nearest float
            old = old.cast(pa.string())
        old, new = old.cast(pa.float64()), pa.array(wanted)
    return _replaced(arrow, name, old, new, changed)


def _as_decimals(wanted: Floats, of: pa.DataType) -> pa.Array | None:
    """Numbers in a type of decimals; None where it cannot hold one of them."""
    try:
        held = pa.array(wanted).cast(of)
    except pa.ArrowInvalid:  # too large
        return None
    found = held.cast(pa.string()).cast(pa.float64()).to_numpy()
    return held if bool((found == wanted).all()) else None


def with_words(arrow: pa.Table, name: str, words: list[str], changed: Bools) -> pa.Table:
    """The table with the labels of some rows replaced: one word for each such row, in order.

    >>> table = pa.table({"y": pa.array([1, None, 0], pa.int8())})
    >>> with_words(table, "y", ["0"], np.array([True, False, False]))["y"].to_pylist()
    [0, None, 0]
    """
    old = arrow.column(name)
    if pa.types.is_dictionary(old.type):
        return _with_codes(arrow, name, words, changed)
    spelt: list[Any] = list(words)
    if pa.types.is_boolean(old.type):
        spelt = [word == "true" for word in words]
    elif number_type(old.type) is not None or pa.types.is_decimal(old.type):
        spelt = [float(word) for word in words]
    plain = pa.large_string() if pa.types.is_string_view(old.type) else old.type
    made = _replaced(arrow, name, old.cast(plain), pa.array(spelt).cast(plain), changed)
    place, field = arrow.schema.get_field_index(name), arrow.schema.field(name)
    return made.set_column(place, field, made.column(name).cast(old.type))


def _with_codes(arrow: pa.Table, name: str, words: list[str], changed: Bools) -> pa.Table:
    """The table with labels of a dictionary replaced: its order is kept, new words come last."""
    old = pa.concat_arrays(arrow.column(name).unify_dictionaries().chunks)
    known = dict.fromkeys([*old.dictionary.to_pylist(), *words])
    which = {word: place for place, word in enumerate(known)}
    new = pa.array([which[word] for word in words], old.indices.type)
    codes = pc.replace_with_mask(old.indices, pa.array(changed), new)
    made = pa.DictionaryArray.from_arrays(
        codes, pa.array(list(known), old.dictionary.type), ordered=old.type.ordered
    )
    place, field = arrow.schema.get_field_index(name), arrow.schema.field(name)
    return arrow.set_column(place, field, made)


def _replaced(
    arrow: pa.Table, name: str, old: pa.ChunkedArray, new: pa.Array, changed: Bools
) -> pa.Table:
    place = arrow.schema.get_field_index(name)
    field = arrow.schema.field(name).with_type(old.type)
    return arrow.set_column(place, field, pc.replace_with_mask(old, pa.array(changed), new))
