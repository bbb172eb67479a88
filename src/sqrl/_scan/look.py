"""Look: the job that finds out what the columns hold, before anything else is asked of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._data.column import MOST_VALUES, Column, Kind, column_sum, from_arrow
from sqrl._data.table import Table
from sqrl._language.tree import Name, Node
from sqrl._rows.rows import Rows
from sqrl._scan.job import Chunk, State
from sqrl._scan.sample import sampled_rows, sampled_words
from sqrl._scan.split import AnySplit
from sqrl.errors import SqrlError

KINDS: tuple[Kind, ...] = ("number", "boolean", "date", "category", "other")
MOST_WORDS = 1_000_000  # different words of a column; one with more names rows, not groups
MOST_LETTERS = 1 << 25  # of all of them, each as long as the longest
SAMPLE_ROWS = 10_000  # enough to see that a number has many values, and about where the least are
END = "."  # after each word: numpy would drop zeros at its end
NEVER = 2**62  # later than any row
SAMPLED = "sampled"  # of each column the values of some rows; without a name whether to learn from


@dataclass(frozen=True, slots=True)
class ReadAsIs:
    """Chunks as they are read: each with kinds and categories of its own."""

    source: str

    def __call__(self, batch: pa.RecordBatch) -> Table:
        """The rows as a table."""
        columns = {column.name: column for column in read_columns(batch)}
        return Table(columns, batch.num_rows, self.source)


def read_columns(batch: pa.RecordBatch) -> Iterator[Column]:
    """The columns of a batch; whether numbers are whole is a question for all rows."""
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        yield from_arrow(name, pa.chunked_array([values]), is_integer=False)


@dataclass(frozen=True, slots=True)
class Look:
    """The job that finds the facts; values are kept of the columns `of_interest` alone."""

    of_interest: frozenset[str]
    split: AnySplit | None = None
    columns: frozenset[str] | None = None
    statistics: Mapping[str, Node] = field(default_factory=dict)
    with_fingerprint: bool = True
    every: int = 0  # of how many rows one is kept as a sample, 0: none

    def start(self) -> State:
        """No facts."""
        return {}

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state with the columns of the chunk too."""
        table, seen = chunk.table, State()
        is_train = None
        if self.split is not None:
            is_train = ~self.split.held_out(chunk)
        sampled = sampled_rows(chunk.first, table.n_rows, self.every) if self.every else None
        for name, column in table.columns.items():
            found = _look(column, chunk.first)
            if self.with_fingerprint:
                found["sum"] = np.array([column_sum(column, chunk.first)], np.uint64)
            if name in self.of_interest and column.kind != "other":
                found["values"] = _values(column, state.get(f"{name}/values"))
                if is_train is not None:
                    before = state.get(f"{name}/train_values")
                    found["train_values"] = _values(column.take(is_train), before)
            if sampled is not None and name in self.of_interest:
                found[SAMPLED] = sampled_words(column, sampled)
            seen |= {f"{name}/{fact}": values for fact, values in found.items()}
        if sampled is not None:
            of_train = np.ones(sampled.size, np.bool_) if is_train is None else is_train[sampled]
            seen[f"/{SAMPLED}"] = of_train
        rows = Rows(table, self.statistics)
        for name in self.statistics:
            seen[f"{name}/known"] = np.array([_count_known(name, rows)])
        return self.merge(state, seen)

    def merge(self, first: State, second: State) -> State:
        """The facts of both."""
        merged: State = {}
        for key in {**first, **second}:
            both = [state[key] for state in (first, second) if key in state]
            merged[key] = both[0] if len(both) == 1 else _MERGE[key.rpartition("/")[2]](*both)
        return merged


def _count_known(name: str, rows: Rows) -> int:
    """On how many rows a statistic is known."""
    try:
        return int(np.count_nonzero(~np.isnan(rows.numbers(Name(name)))))
    except SqrlError:
        return 0  # a statistic that cannot be computed is refused later, with the reason


def _look(column: Column, first: int) -> State:
    """The facts of a chunk's column, but for its values."""
    is_other = column.kind == "other"
    missing = np.ones(column.values.size, np.bool_) if is_other else column.missing()
    found: State = {
        "kind": np.array([1 << KINDS.index(column.kind)]),
        "missing": np.array([np.count_nonzero(missing)]),
    }
    if column.kind == "number":
        values = column.values
        infinite = np.isinf(values)
        n_infinite = np.count_nonzero(infinite)
        found["infinite"] = np.array([n_infinite])
        found["first_infinite"] = np.array([first + infinite.argmax() if n_infinite else NEVER])
        whole = (np.floor(values) == values) | missing
        found["fraction"] = np.array([not whole.all()])
        found["largest"] = np.array([np.fmax.reduce(np.abs(values), initial=-np.inf)])
    return found


def _values(column: Column, before: NDArray[Any] | None) -> NDArray[Any]:
    """The distinct values of a column.

    Of too many numbers: the least MOST_VALUES + 1. Of too many words: as many marks. `before` is
    what was found so far.
    """
    present = column.values[~column.missing()]
    if column.kind == "category":
        return before if before is not None and is_many(before) else _words(column, present)
    present = present + 0.0  # one zero
    least = np.unique(present[:SAMPLE_ROWS]) if before is None else before
    if is_many(least):
        present = present[present <= least[MOST_VALUES]]
    return _fewest(np.unique(present))


def _words(column: Column, codes: NDArray[Any]) -> NDArray[Any]:
    words = [column.categories[code] + END for code in np.unique(codes).tolist()]
    if len(words) * max(map(len, words), default=0) > MOST_LETTERS:
        return _many_words()
    return np.array(words, np.str_) if words else np.empty(0, "<U1")


def is_many(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "U":
        return values.size > MOST_WORDS or values.nbytes > 4 * MOST_LETTERS
    return values.size > MOST_VALUES


def _many_words() -> NDArray[Any]:
    return np.full(MOST_WORDS + 1, END)


def _fewest(values: NDArray[Any]) -> NDArray[Any]:
    """The values, or as many as say that they are too many; which must not depend on the chunks."""
    if values.dtype.kind != "U":
        return values[: MOST_VALUES + 1]
    return _many_words() if is_many(values) else values


def _both(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([first, second])


def _union(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    if first.dtype.kind == "U" and (is_many(first) or is_many(second)):
        return _many_words()
    return _fewest(np.union1d(first, second))


_MERGE: dict[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]] = {
    "kind": np.bitwise_or,
    "missing": np.add,
    "known": np.add,
    "sum": np.add,
    "infinite": np.add,
    "first_infinite": np.minimum,
    "fraction": np.logical_or,
    "largest": np.fmax,
    "values": _union,
    "train_values": _union,
    SAMPLED: _both,
}
