"""What can be stated of each column, and which columns predict most of a label.

Columns are chosen one after the other, each time the one that explains most of what those chosen
before leave: the residuals' variance between its cells.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sqrl._data.table import Column
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.tree import Node
from sqrl._learn.facts import Facts
from sqrl._learn.propose import is_class_label

PENALTY = 2.0  # for each cell of a column, as Akaike's criterion has it


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTerms:
    """What can be stated of one column: rates within facts, means of numbers within classes.

    `cells` divide the rows by the column; between them the label's variance is looked at.
    """

    cells: Facts
    facts: tuple[Node, ...]
    numbers: tuple[Node, ...] = ()

    def n_rules(self, target: "Target") -> int:
        """How many rules state it."""
        return len(self.facts) * target.n_rules + len(self.numbers) * len(target.values_of_label)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The label as numbers, and the values of it that rules are about; none where it is a number.

    Shapes: values (n_rows, 1 or n_classes), each column with mean 0 and variance 1; codes (n_rows,)
    are places among all values, -1 where there is none.
    """

    values: Floats
    classes: tuple[Any, ...]
    values_of_label: tuple[Any, ...] = ()  # all of them, of a label with classes
    codes: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def n_rules(self) -> int:
        """How many rules a fact makes."""
        return len(self.classes) or 1


def target_of(column: Column) -> Target:
    """The label as numbers."""
    if not is_class_label(column):
        values = column.values.astype(np.float64)[:, None]
        return Target((values - np.nanmean(values)) / (np.nanstd(values) or 1.0), ())
    distinct = column.distinct()
    chosen = distinct[1:] if len(distinct) == 2 else distinct
    if column.kind == "category":
        every = np.array([column.categories.index(str(value)) for value in distinct])
    else:
        every = np.array(distinct, np.float64)
    hits = column.values[:, None] == every
    codes = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
    hits = hits[:, -len(chosen) :]
    share = hits[~column.missing()].mean(axis=0)
    values = (hits - share) / np.sqrt(np.maximum(share * (1 - share), 1e-9))
    return Target(values, chosen, distinct, codes)


def choose_columns(
    columns: list[ColumnTerms], target: Target, values: Floats, room: int
) -> tuple[list[ColumnTerms], Floats]:
    """The columns that explain most of the label, in as many rules as there is room for; residuals.

    Facts that explain nothing by themselves are left out; numbers whose means are stated are not,
    since many that explain little may explain something together.
    """
    chosen: list[ColumnTerms] = []
    residual = values - values.mean(axis=0)
    left = [one for one in columns if one.numbers or gain_of(one.cells, residual)[0] > 0]
    while left and room > 0:
        best = int(np.argmax([gain_of(one.cells, residual)[0] for one in left]))
        one = left.pop(best)
        if one.n_rules(target) > room:
            continue
        room -= one.n_rules(target)
        chosen.append(one)
        residual = residual - gain_of(one.cells, residual)[1]
    order = {one.cells.column: place for place, one in enumerate(columns)}
    return sorted(chosen, key=lambda one: order[one.cells.column]), residual


def gain_of(facts: Facts, residual: Floats) -> tuple[float, Floats]:
    """What cells explain of the residuals, in chi-squares less a penalty; and what they predict."""
    n_cells = len(facts.formulas)
    cell = np.where(facts.codes < 0, n_cells, facts.codes)
    counts = np.bincount(cell, minlength=n_cells + 1)
    sums = np.stack([np.bincount(cell, one, minlength=n_cells + 1) for one in residual.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    spread = np.maximum(residual.var(axis=0), 1e-9)
    explained = float((counts[:, None] * means**2 / spread).sum())
    n_free = (np.count_nonzero(counts) - 1) * residual.shape[1]
    return explained - PENALTY * n_free, means[cell]
