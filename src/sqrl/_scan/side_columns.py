"""Columns computed of all rows, in files beside the data, and parts that are read with them.

A number of a column lies at the place of its row, so that any rows can be written and read without
the others.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._data.arrow_arrays import from_numpy, from_values
from sqrl._data.column import Column, Kind
from sqrl._kernels.arrays import Array, Floats, Int64s
from sqrl._scan.job import Part

ROWS_AT_ONCE = 1 << 20
MICROSECONDS, NANOSECONDS = 86_400_000_000, 86_400_000_000_000  # in a day


@dataclass(slots=True, eq=False, weakref_slot=True)
class SideColumns:
    """Columns in a temporary folder, which is removed when nobody has them any more."""

    n_rows: int
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="sqrl-columns-")))
    kinds: dict[str, Kind] = field(default_factory=dict)
    words: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, column: Column, rows: Int64s) -> None:
        """Write the values of some rows, by number; the others of a new column are missing."""
        if column.name not in self.kinds:
            self.kinds[column.name], self.words[column.name] = column.kind, {}
            self._fill(column.name)
        if rows.size:
            values = self._codes(column) if column.kind == "category" else column.values
            path, dtype = self._file(column.name)
            held: Any = np.memmap(path, dtype, "r+", shape=(self.n_rows,))
            held[rows] = values
            held.flush()

    def read(self, name: str, first: int, n_rows: int) -> pa.Array:
        """The values of rows that follow one another, of an Arrow type that reads as their kind."""
        path, dtype = self._file(name)
        values = np.fromfile(path, dtype, n_rows, offset=first * dtype.itemsize)
        return as_read(Column(name, self.kinds[name], values, tuple(self.words[name])))

    def _codes(self, column: Column) -> Array:
        """The codes of words among all that were ever written."""
        known = self.words[column.name]
        codes = [known.setdefault(word, len(known)) for word in column.categories]
        found: Array = np.array([*codes, -1], np.int32)[column.values]
        return found

    def _file(self, name: str) -> tuple[Path, np.dtype[Any]]:
        dtype = np.int32 if self.kinds[name] == "category" else np.float64
        return self.folder / f"{list(self.kinds).index(name)}.bin", np.dtype(dtype)

    def _fill(self, name: str) -> None:
        path, dtype = self._file(name)
        missing = -1 if self.kinds[name] == "category" else np.nan
        with path.open("wb") as file:
            for first in range(0, self.n_rows, ROWS_AT_ONCE):
                np.full(min(ROWS_AT_ONCE, self.n_rows - first), missing, dtype).tofile(file)


def as_read(column: Column) -> pa.Array:
    """The column in an Arrow type that is read as its kind, to the last bit."""
    if column.kind == "category":
        words = from_values(column.categories, pa.string())
        return words.take(from_numpy(column.values, column.missing()))
    if column.kind == "boolean":
        return from_numpy(column.values == 1.0, column.missing())
    return days_to_arrow(column.values) if column.kind == "date" else from_numpy(column.values)


def days_to_arrow(days: Floats) -> pa.Array:
    """Moments that are read as these days to the last bit; nan as null.

    In microseconds, or where some are finer in nanoseconds.

    >>> days_to_arrow(np.array([0.5, np.nan])).to_pylist()
    [datetime.datetime(1970, 1, 1, 12, 0), None]
    """
    missing = np.isnan(days)
    known = np.where(missing, 0.0, days)
    whole = np.floor(known)
    counts = _counts(known, MICROSECONDS)
    back = whole + (counts - whole.astype(np.int64) * MICROSECONDS) / MICROSECONDS
    if (back == known).all():
        return from_numpy(counts, missing).view(pa.timestamp("us"))
    return from_numpy(_counts(known, NANOSECONDS), missing).view(pa.timestamp("ns"))


def _counts(days: Floats, in_a_day: int) -> Int64s:
    """The days in smaller units: the whole ones exactly, then the rest."""
    whole = np.floor(days)
    rest: Int64s = np.rint((days - whole) * in_a_day).astype(np.int64)
    return whole.astype(np.int64) * in_a_day + rest


@dataclass(frozen=True, slots=True, eq=False)
class WiderPart:
    """A part whose rows have more columns: those that lie beside it, from row `first` on."""

    part: Part
    side: SideColumns
    first: int
    stand_in: str
    stamp: Any

    @property
    def name(self) -> str:
        """What to call the part in messages."""
        return self.part.name

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.part.n_rows

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of the part in order; columns None is all."""
        asked = [name for name in self.side.kinds if columns is None or name in columns]

        def beside(name: str, first: int, n_rows: int) -> pa.Array:
            return self.side.read(name, self.first + first, n_rows)

        yield from widened(self.part, columns, asked, beside, self.stand_in)


def widened(
    part: Part,
    columns: frozenset[str] | None,
    asked: list[str],
    beside: Callable[[str, int, int], pa.Array],
    stand_in: str,
) -> Iterator[pa.RecordBatch]:
    """The rows of a part with those columns that are `asked` for beside its own.

    `beside(name, first, n_rows)` gives their values, by place in the part. The `stand_in` is read
    to see the rows by, where no column of the part is asked for.
    """
    theirs = None if columns is None else columns - set(asked)
    is_asked = theirs is None or bool(theirs)
    first = 0
    for batch in part.read(theirs if is_asked else frozenset([stand_in])):
        found = [beside(name, first, batch.num_rows) for name in asked]
        first += batch.num_rows
        before = (batch.schema.names, batch.columns) if is_asked else ([], [])
        names, arrays = [*before[0], *asked], [*before[1], *found]
        yield pa.RecordBatch.from_arrays(arrays, names=names) if asked else batch
