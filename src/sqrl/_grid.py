"""The conditions of a template's candidates, and the buckets within each of them.

A candidate's condition is the same for many candidates, so conditions are made once for each
distinct choice of the holes in them. Cut points of buckets are learned from the train rows that
the condition selects, and used unchanged on every other table.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._candidates import Candidates
from sqrl._domains import bucket_formulas, cut_points, percentiles_of
from sqrl._evaluate import Floats, Rows
from sqrl._language.tree import Each, Node, Repeat
from sqrl._schema import Schema

Ints = NDArray[np.int64]


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

    def exists(self) -> NDArray[np.bool_]:
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
        selected = np.flatnonzero(rows.all_true(self.conditions[condition]))
        cell = np.zeros(selected.size, np.int64)
        for level, item in enumerate(self.levels[condition]):
            values = rows.numbers(item)[selected]
            cuts = self.cuts[level][condition][cell]
            # A cell that is not cut again asks nothing of this value; it may be missing.
            placed = ~np.isnan(values) | np.isnan(cuts).all(axis=1)
            bucket = (values[:, None] > cuts).sum(axis=1)
            selected, cell = selected[placed], (cell * self.n_buckets[level] + bucket)[placed]
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


def make_grid(candidates: Candidates, rows: Rows, schema: Schema) -> Grid:
    """The conditions of the candidates, with buckets cut on these rows."""
    template = candidates.template
    form = template.form
    given = tuple(part for part in form.given if not isinstance(part, Each | Repeat))
    buckets = [(each.item, each.n_buckets) for each in template.cells]
    buckets += [(bucket.item, bucket.n_buckets) for bucket in form.by]
    repeats = tuple(part for part in form.given if isinstance(part, Repeat))
    holes = template.holes_in(*given, *repeats, *(item for item, _ in buckets))
    choices, which = candidates.distinct(holes)
    conditions, levels = [], []
    for row in choices:
        choice = dict(zip(holes, row.tolist(), strict=True))
        filled = [template.fill(part, choice) for part in given]
        for repeat in repeats:
            filled += _literals(candidates, repeat, choice[repeat.name])
        conditions.append(tuple(filled))
        levels.append(tuple(template.fill(item, choice) for item, _ in buckets))
    sizes = tuple(n_buckets for _, n_buckets in buckets)
    cuts = _cut_levels(conditions, levels, sizes, rows, schema)
    return Grid(tuple(conditions), tuple(levels), sizes, cuts, which)


def _literals(candidates: Candidates, repeat: Repeat, body: int) -> list[Node]:
    family = candidates.template.families[repeat.name]
    ids = candidates.bodies[repeat.name].literals(np.array([body]))[0]
    return [family.formula(int(literal)) for literal in ids if literal >= 0]


def _cut_levels(
    conditions: list[tuple[Node, ...]],
    levels: list[tuple[Node, ...]],
    sizes: tuple[int, ...],
    rows: Rows,
    schema: Schema,
) -> tuple[Floats, ...]:
    cuts: list[Floats] = []
    above = 1
    for size in sizes:
        cuts.append(np.full((len(conditions), above, size - 1), np.nan))
        above *= size
    for condition, (given, items) in enumerate(zip(conditions, levels, strict=True)):
        if not items:
            continue
        selected = np.flatnonzero(rows.all_true(given))
        cell = np.zeros(selected.size, np.int64)
        for level, (item, size) in enumerate(zip(items, sizes, strict=True)):
            values = rows.numbers(item)[selected]
            for parent in np.unique(cell):
                found = cut_points(values[cell == parent], percentiles_of(size, schema))
                cuts[level][condition, parent, : found.size] = found
            mine = cuts[level][condition][cell]
            placed = ~np.isnan(values) | np.isnan(mine).all(axis=1)
            cell = (cell * size + (values[:, None] > mine).sum(axis=1))[placed]
            selected = selected[placed]
    return tuple(cuts)
