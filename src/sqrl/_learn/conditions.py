"""The conditions of a template's candidates, with buckets cut on the train rows.

A candidate's condition is the same for many candidates, so conditions are made once for each
distinct choice of the holes in them. Cut points of buckets are learned from the train rows that
the condition selects, and used unchanged on every other table.
"""

import numpy as np

from sqrl._kernels.arrays import Floats
from sqrl._language.tree import Each, Node, Repeat
from sqrl._learn.candidates import Candidates
from sqrl._learn.domains import percentiles_of
from sqrl._rows.cells import Grid
from sqrl._rows.order_statistics import ForCuts, OrderStatistics
from sqrl._rows.questions import Asking
from sqrl._rules.schema import Schema


def make_grid(candidates: Candidates, schema: Schema) -> Asking[Grid]:
    """The conditions of the candidates, with buckets cut on the train rows."""
    template = candidates.template
    form = template.form
    given = tuple(part for part in form.given if not isinstance(part, Each | Repeat))
    buckets = [(each.item, each.n_buckets) for each in template.cells]
    buckets += [(bucket.item, bucket.n_buckets) for bucket in form.by]
    repeats = tuple(part for part in form.given if isinstance(part, Repeat))
    choices, which = candidates.distinct(*given, *repeats, *(item for item, _ in buckets))
    conditions, levels = [], []
    for choice in choices:
        filled = [template.fill(part, choice) for part in given]
        for repeat in repeats:
            filled += candidates.literals(repeat.name, choice[repeat.name])
        conditions.append(tuple(filled))
        levels.append(tuple(template.fill(item, choice) for item, _ in buckets))
    sizes = tuple(n_buckets for _, n_buckets in buckets)
    cuts = yield from _cut_levels(tuple(conditions), tuple(levels), sizes, schema)
    return Grid(tuple(conditions), tuple(levels), sizes, cuts, which)


def _cut_levels(
    conditions: tuple[tuple[Node, ...], ...],
    levels: tuple[tuple[Node, ...], ...],
    sizes: tuple[int, ...],
    schema: Schema,
) -> Asking[tuple[Floats, ...]]:
    """The cut points of each level, within the cells that the levels above it make."""
    cuts: tuple[Floats, ...] = ()
    for level, size in enumerate(sizes):
        above = Grid(
            conditions,
            tuple(items[:level] for items in levels),
            sizes[:level],
            cuts,
            np.empty(0, np.int64),
        )
        by_item: dict[Node, list[int]] = {}
        for condition, items in enumerate(levels):
            by_item.setdefault(items[level], []).append(condition)
        wants = ForCuts(tuple(percentiles_of(size, schema)))
        answers = yield [
            OrderStatistics("train", above, tuple(mine), (item,), wants)
            for item, mine in by_item.items()
        ]
        made = np.full((len(conditions), above.n_cells, size - 1), np.nan)
        for mine, answer in zip(by_item.values(), answers, strict=True):
            made[mine] = wants.cuts(answer[0]).reshape(len(mine), above.n_cells, size - 1)
        cuts = (*cuts, made)
    return cuts
