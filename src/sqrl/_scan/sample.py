"""Some of the rows, chosen by their numbers: where searches for order statistics begin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sqrl._data.column import Column, words_of
from sqrl._data.draws import SAMPLE, row_keys
from sqrl._data.table import Table
from sqrl._kernels.arrays import Bools, Floats, Ints
from sqrl._kernels.selection_guess import Guess, Guessing, Sample, make_guess
from sqrl._kernels.selection_rounds import KEPT_BYTES
from sqrl._kernels.threads import run
from sqrl._language.tree import Node
from sqrl._rows.order_statistics import OrderStatistics
from sqrl._rows.rows import Rows

# Twice as many rows in a sample take twice as long to sort, for ranges 0.7 as wide: what is
# collected in them is to be less, the more rows there are.
FEWEST_ROWS, MOST_ROWS, SHARE = 1 << 18, 1 << 20, 64
LEAST_EVERY = 16  # a larger share of few rows would take longer than it saves
MEMORY_SHARE = 32  # a sample takes at most this part of the memory


def sample_every(n_rows: int, n_columns: int, memory: int) -> int:
    """Of how many rows one is in the sample.

    >>> sample_every(1000, 5, 1 << 30), sample_every(100_000_000, 5, 1 << 30)
    (16, 120)
    """
    wanted = min(MOST_ROWS, max(FEWEST_ROWS, n_rows // SHARE))
    most = max(1, min(wanted, memory // (8 * MEMORY_SHARE * max(n_columns, 1))))
    return max(LEAST_EVERY, -(-n_rows // most))


def sampled_rows(first: int, n_rows: int, every: int) -> Ints:
    """Which of the rows first, first + 1, .. are in the sample, counted from the first of them.

    One row of each `every` that follow one another, by a hash of their place: however rows are
    divided into chunks the same are chosen, and no period in the data is.

    >>> whole = sampled_rows(0, 100, 10)
    >>> np.concatenate([sampled_rows(0, 33, 10), 33 + sampled_rows(33, 67, 10)]).tolist() == (
    ...     whole.tolist())
    True
    """
    begin, end = first // every, (first + n_rows - 1) // every + 1
    blocks = np.arange(begin, end)
    keys = row_keys(begin, max(end - begin, 0), seed=0, draw=SAMPLE)
    rows = blocks * every + (keys % np.uint64(every)).astype(np.int64) - first
    return rows[(rows >= 0) & (rows < n_rows)]


def sampled_words(column: Column, rows: Ints) -> Floats:
    """The values of some rows in 64 bits each: numbers as they are, words by a hash."""
    if column.kind == "other":
        return np.full(rows.size, np.nan)
    taken = column.take(rows)
    return words_of(taken).view(np.float64) if column.kind == "category" else taken.values


def sampled_column(values: Floats, whole: Column) -> Column:
    """The column of values in 64 bits, with the kind and the categories of the whole."""
    if whole.kind != "category":
        is_other = whole.kind == "other"
        values = np.full(values.size, np.nan) if is_other else values
        return Column(whole.name, whole.kind, values)
    each = np.arange(len(whole.categories), dtype=np.int32)
    hashes = words_of(Column(whole.name, "category", each, whole.categories))
    order = np.argsort(hashes, kind="stable")
    words = values.view(np.uint64)
    place = np.minimum(np.searchsorted(hashes[order], words), max(each.size - 1, 0))
    codes = np.full(values.size, -1, np.int32)
    if each.size:
        is_known = hashes[order][place] == words
        codes[is_known] = order[place[is_known]]
    return Column(whole.name, "category", codes, whole.categories)


@dataclass(frozen=True, slots=True, eq=False)
class SampledRows:
    """Some of the rows of a scan, and which of them are learned from; None: all."""

    table: Table
    is_train: Bools | None

    def of_kind(self, statistics: Mapping[str, Node], n_rows: int, *, train: bool) -> "RowSample":
        """Those that are learned from, or those held out, of so many in all."""
        table = self.table
        if self.is_train is not None:
            table = table.take(np.flatnonzero(self.is_train == train))
        return RowSample(Rows(table, statistics), table.n_rows / max(n_rows, 1))


@dataclass(slots=True, eq=False)
class RowSample:
    """Rows to guess from; `share` is that of all rows in it."""

    rows: Rows
    share: float
    _sorted: dict[Node, Ints] = field(default_factory=dict)

    def guesses(self, order: OrderStatistics) -> list[Guess | None]:
        """For each subject of a question where its order statistics may be.

        Cost: a sort of the sample for each subject, once, and one by groups for each question.
        """
        if not self.rows.n:
            return [None] * len(order.subjects)
        group, chosen = order.group_of_rows(self.rows), None
        if group is None:
            chosen, group = order.groups(self.rows, order.conditions)
        made: list[Guess | None] = [None] * len(order.subjects)

        def guess(place: int, values: Floats, rows: Ints, mine: Ints) -> None:
            sample = Sample(values[rows], mine, self.share)
            made[place] = make_guess(sample, order.n_groups, order.wants)

        work = []
        for place, subject in enumerate(order.subjects):
            values, rows = self.rows.numbers(subject), self._ascending(subject)
            if chosen is None:
                work.append(partial(guess, place, values, rows, group[rows]))
            else:  # a row may be in several groups
                rank = np.full(values.size, -1, np.int64)
                rank[rows] = np.arange(rows.size)
                by_value = np.argsort(rank[chosen], kind="stable")
                by_value = by_value[rank[chosen][by_value] >= 0]
                work.append(partial(guess, place, values, chosen[by_value], group[by_value]))
        run([work], threads=None, track=None)
        return made

    def _ascending(self, subject: Node) -> Ints:
        """The rows by their value, without those that have none."""
        if subject not in self._sorted:
            values = self.rows.numbers(subject)
            order = np.argsort(values)
            self._sorted[subject] = order[: values.size - np.count_nonzero(np.isnan(values))]
        return self._sorted[subject]


def begin_searches(
    guesses: Mapping[int, list[Guess | None]], most_bytes: int, room: int
) -> dict[int, list[Guessing | None]]:
    """The first round of every search that there is a guess for.

    As many ranges as fit into `room` are collected, those with the fewest values first; the others
    are counted.
    """
    known = [guess.expected.ravel() for mine in guesses.values() for guess in mine if guess]
    expected = np.sort(np.concatenate([np.empty(0, np.int64), *known]))
    n_collected = np.searchsorted(np.cumsum(expected) * KEPT_BYTES, room, "right")
    # Of ranges that are expected to hold as many either all are collected or none.
    most_each = int(expected[n_collected]) - 1 if n_collected < expected.size else room
    return {
        place: [
            None if one is None else one.round(most_bytes=most_bytes, most_each=most_each)
            for one in mine
        ]
        for place, mine in guesses.items()
    }
