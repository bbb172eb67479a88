"""Order statistics within the cells of a grid: what every bound and every cut is made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Floats, Ints
from sqrl._kernels.buckets import cut_groups
from sqrl._language.tree import Node
from sqrl._rows.cells import Grid
from sqrl._rows.quantiles import BoundMethod, lerp, percentile_ranks, sort_groups
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows, category_of, category_text

# Which order statistics are wanted of groups with so many values: ranks from 0, -1 for none.
Wants = Callable[[Ints], Ints]  # Shapes: (n,) -> (n, k)
MOST_ROWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """Order statistics of each group, and how many values are no greater.

    Shapes: counts (n,), values and through (n, k), nan and 0 where none was wanted.
    """

    counts: Ints
    values: Floats
    through: Ints


@dataclass(frozen=True, slots=True)
class OrderStatistics:
    """The question for order statistics of some expressions within the cells of some conditions.

    A group is a cell of a condition; with `classes` each cell is divided further by which of these
    formulas holds. Groups are numbered condition by condition, cell by cell, class by class.
    """

    of: Of
    grid: Grid
    conditions: tuple[int, ...]
    subjects: tuple[Node, ...]
    wants: Wants
    classes: tuple[Node, ...] = ()

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.conditions) * self.grid.n_cells * max(1, len(self.classes))

    def groups(self, rows: Rows, conditions: tuple[int, ...]) -> tuple[Ints, Ints]:
        """The rows of these conditions, and the group of each; a row may come more than once."""
        selected, groups = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for place, condition in enumerate(conditions):
            chosen, cell = self.grid.cells(rows, condition)
            selected.append(chosen)
            groups.append(cell + place * self.grid.n_cells)
        chosen, group = np.concatenate(selected), np.concatenate(groups)
        if not self.classes:
            return chosen, group
        code = self._class_codes(rows)[chosen]
        known = code >= 0
        return chosen[known], group[known] * len(self.classes) + code[known]

    def group_of_rows(self, rows: Rows) -> Ints | None:
        """The group of every row, -1 for none; None where a row may be in several.

        Shapes: result (n_rows,).
        """
        if self._is_of_all(self.conditions):
            return np.zeros(rows.n, np.int64)
        group = self._by_category(rows)
        if group is None:
            group = np.full(rows.n, -1, np.int64)
            for place, condition in enumerate(self.conditions):
                chosen, cell = self.grid.cells(rows, condition)
                if (group[chosen] >= 0).any():
                    return None
                group[chosen] = cell + place * self.grid.n_cells
        if not self.classes:
            return group
        code = self._class_codes(rows)
        return np.where((group >= 0) & (code >= 0), group * len(self.classes) + code, -1)

    def _by_category(self, rows: Rows) -> Ints | None:
        """The group of every row where each condition is a category of one column; None elsewhere.

        A row's cuts are then looked up by its category, instead of its rows by each category.
        """
        compared = [self.grid.conditions[condition] for condition in self.conditions]
        items = {self.grid.levels[condition] for condition in self.conditions}
        name = _shared_column(compared)
        if name is None or len(items) != 1 or not rows.is_category(name):
            return None
        words = (category_text(formula.right) for (formula,) in compared)  # type: ignore[attr-defined]
        group: Ints = rows.places_of(name, tuple(words))
        for level, item in enumerate(next(iter(items))):
            n_cuts = self.grid.n_buckets[level] - 1
            cuts = self.grid.cuts[level][list(self.conditions)].reshape(-1, n_cuts)
            group = cut_groups(group, rows.numbers(item), cuts)
        return group

    def _class_codes(self, rows: Rows) -> Ints:
        code = np.full(rows.n, -1, np.int64)
        for index, formula in enumerate(self.classes):
            code[rows.truths(formula).true] = index
        return code

    def answer(self, rows: Rows) -> list[Ordered]:
        """For each subject the order statistics wanted.

        Cost: one sort of the rows that the conditions select for each subject; memory for at most
        four million rows at once, or those of one condition. Of many rows they are searched for
        instead, in slices: see `HeldAnswers`.
        """
        parts = [self._sorted(rows, some) for some in self._some_at_once(rows.n)]
        return [
            Ordered(*(np.concatenate(arrays) for arrays in zip(*of_subject, strict=True)))
            for of_subject in zip(*parts, strict=True)
        ]

    def _some_at_once(self, n_rows: int) -> Iterator[tuple[int, ...]]:
        at_once = max(1, MOST_ROWS_AT_ONCE // max(n_rows, 1))
        for first in range(0, len(self.conditions), at_once):
            yield self.conditions[first : first + at_once]

    def _sorted(self, rows: Rows, conditions: tuple[int, ...]) -> list[tuple[Ints, Floats, Ints]]:
        if self._is_of_all(conditions):
            ascending = (rows.ascending(subject) for subject in self.subjects)
            start = np.zeros(1, np.int64)
            return [pick(of, start, np.array([of.size]), self.wants) for of in ascending]
        selected, group = self.groups(rows, conditions)
        n_groups = len(conditions) * self.grid.n_cells * max(1, len(self.classes))
        # One zero: a sort leaves it to the order of the rows which of two comes first.
        values = (rows.numbers(subject)[selected] + 0.0 for subject in self.subjects)
        return [pick(*sort_groups(of, group, n_groups), self.wants) for of in values]

    def _is_of_all(self, conditions: tuple[int, ...]) -> bool:
        """Whether all rows are one group."""
        return len(conditions) == 1 and self.grid.is_whole(conditions[0]) and not self.classes


def _shared_column(conditions: list[tuple[Node, ...]]) -> str | None:
    """The column that each condition compares with a value of its own; None for any other."""
    named = [category_of(condition) for condition in conditions]
    columns, words = {one and one[0] for one in named}, {one and one[1] for one in named}
    return columns.pop() if len(columns) == 1 and len(words) == len(conditions) else None


def pick(ordered: Floats, starts: Ints, counts: Ints, wants: Wants) -> tuple[Ints, Floats, Ints]:
    """Counts, the wanted order statistics of each group's sorted values, and values through them.

    >>> pick(np.array([1.0, 5.0, 5.0]), np.array([0]), np.array([3]), lambda n: np.array([[1, -1]]))
    (array([3]), array([[ 5., nan]]), array([[3, 0]]))
    """
    ranks = wants(counts)
    wanted = ranks >= 0
    values = np.full(ranks.shape, np.nan)
    values[wanted] = ordered[(starts[:, None] + ranks)[wanted]]
    through = np.zeros(ranks.shape, np.int64)
    for group in np.flatnonzero(wanted.any(axis=1)):
        mine = ordered[starts[group] : starts[group] + counts[group]]
        through[group, wanted[group]] = np.searchsorted(mine, values[group, wanted[group]], "right")
    return counts, values, through


@dataclass(frozen=True, slots=True)
class ForBounds:
    """Wants what bounds are interpolated from, for one method after the other."""

    methods: tuple[BoundMethod, ...]

    def __call__(self, counts: Ints) -> Ints:
        """Lower, the next, upper, the next, for each method."""
        columns = []
        for method in self.methods:
            ranks = method.ranks_of(counts)
            for rank in (ranks.rank_lo.astype(np.int64), ranks.rank_hi.astype(np.int64)):
                columns += [rank, np.where(rank < 0, -1, np.minimum(rank + 1, counts - 1))]
        return np.stack(columns, axis=1)

    def bounds(self, found: Ordered, which: int = 0) -> tuple[Floats, Floats, Ints]:
        """Lower bound, upper bound and support of each group by one of the methods."""
        ranks = self.methods[which].ranks_of(found.counts)
        low, low_next, high, high_next = found.values[:, 4 * which : 4 * which + 4].T
        return (
            lerp(low, low_next, ranks.frac_lo),
            lerp(high, high_next, ranks.frac_hi),
            found.counts,
        )


@dataclass(frozen=True, slots=True)
class ForCuts:
    """Wants what percentiles are interpolated from."""

    percentiles: tuple[float, ...]

    def __call__(self, counts: Ints) -> Ints:
        """Each percentile's rank, and the next."""
        columns = []
        for percentile in self.percentiles:
            rank, _ = percentile_ranks(counts, percentile / 100)
            columns += [rank, np.where(rank < 0, -1, np.minimum(rank + 1, counts - 1))]
        return np.stack(columns, axis=1).reshape(counts.size, -1)

    def cuts(self, found: Ordered) -> Floats:
        """The cut points of each group, nan in place of those that would leave a bucket empty.

        Shapes: result (n, percentiles). See `cut_points`, which gives the same of values in memory.
        """
        cuts = np.full((found.counts.size, len(self.percentiles)), np.nan)
        below = np.zeros(cuts.shape, np.int64)
        for place, percentile in enumerate(self.percentiles):
            rank, fraction = percentile_ranks(found.counts, percentile / 100)
            low, high = found.values[:, 2 * place], found.values[:, 2 * place + 1]
            cuts[:, place] = lerp(low, high, fraction)
            reached = cuts[:, place] >= high
            below[:, place] = np.where(reached, found.through[:, 2 * place + 1], rank + 1)
            is_last = ~(cuts[:, place] < np.inf)  # between infinite values there is no number
            below[is_last, place] = found.counts[is_last]
        is_new = np.diff(below, axis=1, prepend=-1) != 0
        keep = is_new & (below < found.counts[:, None]) & (found.counts[:, None] > 0)
        return _pushed_left(np.where(keep, cuts, np.nan))


def _pushed_left(cuts: Floats) -> Floats:
    """Each line with its numbers first and nan after them, in the same order."""
    order = np.argsort(np.isnan(cuts), axis=1, kind="stable")
    return np.take_along_axis(cuts, order, axis=1)
