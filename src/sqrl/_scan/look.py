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
FEW_ROWS = 1 << 10  # which mostly say whether there are fractions
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
            has_fraction = bool(state.get(f"{name}/fraction", False))
            found = _look(column, chunk.first, has_fraction=has_fraction)
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
            if not state.get(f"{name}/known", False):  # once is enough
                seen[f"{name}/known"] = np.array([_is_known(name, rows)])
        return self.merge(state, seen)

    def merge(self, first: State, second: State) -> State:
        """The facts of both."""
        merged: State = {}
        for key in {**first, **second}:
            both = [state[key] for state in (first, second) if key in state]
            merged[key] = both[0] if len(both) == 1 else _MERGE[key.rpartition("/")[2]](*both)
        return merged


def _is_known(name: str, rows: Rows) -> bool:
    """Whether a statistic is known on any row."""
    try:
        return not np.isnan(rows.numbers(Name(name))).all()
    except SqrlError:
        return False  # a statistic that cannot be computed is refused later, with the reason


def _look(column: Column, first: int, *, has_fraction: bool) -> State:
    """The facts of a chunk's column, but for its values; `has_fraction` is what is known of it.

    Cost: for numbers two passes over the values, more only where some are missing or infinite, or
    all are whole.
    """
    values = column.values
    found: State = {"kind": np.array([1 << KINDS.index(column.kind)])}
    if column.kind != "number":
        is_other = column.kind == "other"
        n_missing = values.size if is_other else np.count_nonzero(column.missing())
        found["missing"] = np.array([n_missing])
        return found
    least, greatest = values.min(initial=np.inf), values.max(initial=-np.inf)  # nan if any is
    n_missing = np.count_nonzero(np.isnan(values)) if np.isnan(greatest) else 0
    if n_missing:
        least, greatest = np.fmin.reduce(values), np.fmax.reduce(values)
    # Of no values: less than any.
    largest = -np.inf if n_missing == values.size else max(-least, greatest)
    infinite = np.isinf(values) if largest == np.inf else np.zeros(1, np.bool_)
    n_infinite = np.count_nonzero(infinite)
    found["missing"] = np.array([n_missing])
    found["infinite"] = np.array([n_infinite])
    found["first_infinite"] = np.array([first + infinite.argmax() if n_infinite else NEVER])
    found["fraction"] = np.array([has_fraction or _has_fraction(values)])
    found["largest"] = np.array([largest])
    return found


def _has_fraction(values: NDArray[Any]) -> bool:
    """Whether any number is not whole; mostly the first ones say so."""
    return any(
        bool(((np.floor(part) != part) & ~np.isnan(part)).any())
        for part in (values[:FEW_ROWS], values[FEW_ROWS:])
    )


def _values(column: Column, before: NDArray[Any] | None) -> NDArray[Any]:
    """The distinct values of a column.

    Of too many numbers: the least MOST_VALUES + 1. Of too many words: as many marks. `before` is
    what was found so far.
    """
    values = column.values
    if column.kind == "category":
        return before if before is not None and is_many(before) else _words(column)
    least = before
    if least is None:
        some = values[:SAMPLE_ROWS]
        least = np.unique(some[~np.isnan(some)])
    is_wanted = values <= least[MOST_VALUES] if is_many(least) else ~np.isnan(values)
    return _fewest(np.unique(values[is_wanted] + 0.0))  # one zero


def _words(column: Column) -> NDArray[Any]:
    is_used = np.zeros(len(column.categories) + 1, np.bool_)
    is_used[column.values] = True  # the last stands for missing
    words = [column.categories[code] + END for code in np.flatnonzero(is_used[:-1]).tolist()]
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
    "known": np.logical_or,
    "sum": np.add,
    "infinite": np.add,
    "first_infinite": np.minimum,
    "fraction": np.logical_or,
    "largest": np.fmax,
    "values": _union,
    "train_values": _union,
    SAMPLED: _both,
}
