"""Which values expressions and formulas take within the cells of a grid, and on how many rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._data.column import MOST_VALUES
from sqrl._kernels.arrays import Int64s, distinct
from sqrl._language.parser import is_formula
from sqrl._language.tree import Name, Node, Number, Truth, Word
from sqrl._rows.cells import Grid
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State

LONGEST_WORD = 1000  # characters; a column with longer ones holds no groups
SAMPLE_ROWS = 10_000  # enough to see that a number has many values
Codes = NDArray[np.signedinteger[Any]]
END = "."  # after each word: numpy would drop zeros at its end


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """How many rows of each group have each value; None where there are too many values.

    Shapes: counts (1 + groups, values), all rows first, then condition by condition, cell by cell.
    """

    values: tuple[Node, ...]
    counts: Int64s | None


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Asks how many rows have each value of some items: columns, expressions or formulas.

    `wanted` are the conditions that each item is counted under; of others nothing is counted. Rows
    on which an item is unknown are left out.

    >>> from sqrl._data.table import as_table
    >>> everywhere = Grid(((),), ((),), (), (), np.zeros(1, np.int64))
    >>> rows = Rows(as_table({"pet": ["dog", None, "cat", "dog"]}), {})
    >>> found = ValueCounts("train", everywhere, (Name("pet"),), ((0,),)).answer(rows)[0]
    >>> found.values, found.counts.tolist()
    ((Word(text='cat'), Word(text='dog')), [[1, 2], [1, 2]])
    """

    of: Of
    grid: Grid
    items: tuple[Node, ...]
    wanted: tuple[tuple[int, ...], ...]

    def start(self) -> State:
        """Nothing counted."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        found: State = {}
        coded = [_coded(item, rows) for item in self.items]
        shape = 1 + len(self.grid.conditions) * self.grid.n_cells
        for place, (values, codes, kind) in enumerate(coded):
            found[f"{place}/values"], found[f"{place}/kind"] = values, np.array([kind])
            counts = np.zeros((shape, values.size), np.int64)
            if values.size:
                counts[0] = np.bincount(codes + 1, minlength=values.size + 1)[1:]
            found[f"{place}/counts"] = counts
        for condition in sorted({one for some in self.wanted for one in some}):
            begin = 1 + condition * self.grid.n_cells
            if self.grid.is_whole(condition):
                for place in (i for i, some in enumerate(self.wanted) if condition in some):
                    found[f"{place}/counts"][begin] = found[f"{place}/counts"][0]
                continue
            selected, cells = self.grid.cells(rows, condition)
            for place, (values, codes, _) in enumerate(coded):
                if condition not in self.wanted[place] or not values.size:
                    continue
                mine = codes[selected]
                joined = (cells * values.size + mine)[mine >= 0]
                counted = np.bincount(joined, minlength=self.grid.n_cells * values.size)
                block = found[f"{place}/counts"][begin : begin + self.grid.n_cells]
                block += counted.reshape(self.grid.n_cells, values.size)
        return self.merge(tally, found)

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        if not one or not other:
            return one or other
        merged: State = {}
        for place in range(len(self.items)):
            names = [f"{place}/{name}" for name in ("values", "counts", "kind")]
            mine, others = ([state[name] for name in names] for state in (one, other))
            kind = np.maximum(mine[2], others[2])
            values, counts = mine[:2] if kind[0] == MANY else _joined(mine, others)
            merged |= dict(zip(names, [*_fewest(values, counts, kind), kind], strict=True))
        return merged

    def finish(self, tally: State) -> list[Counted]:
        """The values of each item and their counts."""
        found = []
        for place in range(len(self.items)):
            kind = int(tally[f"{place}/kind"][0]) if tally else NUMBER
            if kind == MANY:
                found.append(Counted((), None))
                continue
            values = tally[f"{place}/values"].tolist() if tally else []
            groups = 1 + len(self.grid.conditions) * self.grid.n_cells
            counts = tally[f"{place}/counts"] if tally else np.zeros((groups, 0), np.int64)
            found.append(Counted(tuple(_constant(value, kind) for value in values), counts))
        return found

    def answer(self, rows: Rows) -> list[Counted]:
        """The values of each item and their counts, of all rows at once."""
        return self.finish(self.add(rows, 0, {}))


# What the values of an item are; the greatest of those of two parts is that of both.
NUMBER, TRUTH, WORD, MANY = range(4)
MANY_VALUES = np.empty(0), np.empty(0, np.int32), MANY  # of an item of which nothing is counted


def _coded(item: Node, rows: Rows) -> tuple[NDArray[Any], Codes, int]:
    """The values that an item takes, which of them each row has (-1: none), what they are.

    Of an item with too many values there are no codes.
    """
    if is_formula(item):
        truths = rows.truths(item)
        unknown = ~(truths.true | truths.false)
        return np.array([0.0, 1.0]), truths.true.astype(np.int8) - unknown.astype(np.int8), TRUTH
    column = None
    if isinstance(item, Name) and item.name not in rows.statistics:
        column = rows.table[item.name]
    if column is not None and column.kind == "category" and column.categories:
        return _coded_words(column.categories, column.values)
    numbers = rows.numbers(item)
    some = numbers[:SAMPLE_ROWS]
    if distinct(some[~np.isnan(some)] + 0.0).size > MOST_VALUES:
        return MANY_VALUES
    numbers = numbers + 0.0  # one zero
    missing = np.isnan(numbers)
    values = distinct(numbers[~missing])
    if values.size > MOST_VALUES:
        return MANY_VALUES
    codes = np.searchsorted(values, numbers)
    codes[missing] = -1
    return values, codes, TRUTH if column is not None and column.kind == "boolean" else NUMBER


def _coded_words(categories: Sequence[str], codes: Codes) -> tuple[NDArray[Any], Codes, int]:
    used = np.zeros(len(categories) + 1, np.bool_)
    used[codes] = True
    present = np.flatnonzero(used[:-1])
    words = [categories[code] + END for code in present.tolist()]
    if len(words) > MOST_VALUES or max(map(len, words), default=0) > LONGEST_WORD:
        return MANY_VALUES
    place = np.full(len(categories) + 1, -1, np.int32)
    place[present] = np.arange(present.size)
    values = np.array(words, np.str_) if words else np.empty(0, "<U1")
    return values, place[codes], WORD


def _joined(one: list[NDArray[Any]], other: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The values of both, and the counts of each added up."""
    (values, counts, _), (others, more, _) = one, other
    if not values.size or not others.size:
        return [values, counts] if values.size else [others, more]
    union = np.union1d(values, others)
    total = np.zeros((len(counts), union.size), np.int64)
    total[:, np.searchsorted(union, values)] += counts
    total[:, np.searchsorted(union, others)] += more
    return [union, total]


def _fewest(
    values: NDArray[Any], counts: NDArray[Any], kind: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The values and counts, or nothing where they are too many, which `kind` then says."""
    if values.size > MOST_VALUES:
        kind[0] = MANY
    return (np.empty(0), counts[:, :0]) if kind[0] == MANY else (values, counts)


def _constant(value: Any, kind: int) -> Node:
    if kind == WORD:
        return Word(value[: -len(END)])
    return Truth(bool(value)) if kind == TRUTH else Number(float(value))
