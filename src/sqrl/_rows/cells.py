"""Conditions, and the buckets within each of them."""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Ints
from sqrl._language.forms import bucket_formulas
from sqrl._language.tree import Node
from sqrl._rows.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """For each distinct condition its formulas and, level by level, the cut points in its cells.

    Shapes: which (n_candidates,), the condition of each candidate; cuts one array for each level,
    (n_conditions, cells above, n_buckets - 1), padded with nan where buckets coincide.
    """

    conditions: tuple[tuple[Node, ...], ...]
    levels: tuple[tuple[Node, ...], ...]
    n_buckets: tuple[int, ...]
    cuts: tuple[Floats, ...]
    which: Ints

    @property
    def n_cells(self) -> int:
        """How many cells a condition is divided into."""
        return int(np.prod(self.n_buckets, dtype=np.int64))

    def is_whole(self, condition: int) -> bool:
        """Whether a condition holds on all rows, and is not divided: they are one cell."""
        return not self.conditions[condition] and not self.n_buckets

    def exists(self) -> Bools:
        """Which cells there are; where values coincide, a condition has fewer buckets.

        Shapes: result (n_conditions, n_cells).
        """
        found = np.ones((len(self.conditions), 1), np.bool_)
        for size, cuts in zip(self.n_buckets, self.cuts, strict=True):
            n_cut = (~np.isnan(cuts)).sum(axis=2)
            there = np.arange(size) <= n_cut[:, :, None]
            found = (found[:, :, None] & there).reshape(len(self.conditions), -1)
        return found

    def cells(self, rows: Rows, condition: int) -> tuple[Ints, Ints]:
        """The rows that satisfy a condition, and the cell each of them is in."""
        if self.is_whole(condition):
            return np.arange(rows.n), np.zeros(rows.n, np.int64)
        selected = np.flatnonzero(rows.all_true(self.conditions[condition]))
        cell = np.zeros(selected.size, np.int64)
        for level, item in enumerate(self.levels[condition]):
            values = rows.numbers(item)[selected]
            bucket = np.zeros(selected.size, np.int64)
            is_cut = np.zeros(selected.size, np.bool_)
            for cut in self.cuts[level][condition].T:  # of each cell above
                here = cut[cell] if cut.size > 1 else cut
                bucket += values > here
                is_cut |= ~np.isnan(here)
            cell = cell * self.n_buckets[level] + bucket
            # A cell that is not cut again asks nothing of this value; it may be missing.
            placed = ~np.isnan(values) | ~is_cut
            if not placed.all():
                selected, cell = selected[placed], cell[placed]
        return selected, cell

    def cell_formulas(self, condition: int, cell: int) -> tuple[Node, ...]:
        """The formulas that a cell adds to its condition, one for each level that is cut."""
        formulas = []
        above = 0
        for level, item in enumerate(self.levels[condition]):
            remaining = int(np.prod(self.n_buckets[level + 1 :], dtype=np.int64))
            bucket = (cell // remaining) % self.n_buckets[level]
            cuts = self.cuts[level][condition][above]
            cuts = cuts[~np.isnan(cuts)]
            if cuts.size:
                formulas.append(bucket_formulas(item, cuts)[bucket])
            above = above * self.n_buckets[level] + bucket
        return tuple(formulas)
