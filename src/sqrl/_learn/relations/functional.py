"""Functional dependencies: one column's value decides another's, as a country its currency."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Int64s
from sqrl._learn.relations.dependence import Pair
from sqrl._learn.relations.features import Cells, Feature, as_values

MOST_VALUES = 50  # that decide: a rule for each
ROWS_A_VALUE = 10  # that a value which decides should have
MOST_COMMON = 0.95  # a column that nearly always has one value is decided by anything


@dataclass(frozen=True, slots=True)
class Dependency:
    """The value of `decides` determines that of `decided`; `both_ways` where the reverse holds."""

    decides: int
    decided: int
    both_ways: bool


def find_dependencies(features: Sequence[Feature], pairs: Sequence[Pair]) -> list[Dependency]:
    """Which of the dependent pairs are functions, on all rows to learn from and all held out.

    Where each decides the other one direction is given: the values are the same in number.
    """
    cells = {
        place: _coded(features[place]) for pair in pairs for place in (pair.first, pair.second)
    }
    found: list[Dependency] = []
    for pair in pairs:
        one, other = cells[pair.first], cells[pair.second]
        if one is None or other is None:
            continue
        forth, back = decides(one, other), decides(other, one)
        if forth:
            found.append(Dependency(pair.first, pair.second, back))
        elif back:
            found.append(Dependency(pair.second, pair.first, False))
    return found


def _coded(feature: Feature) -> Cells | None:
    return as_values(feature, min(MOST_VALUES, max(2, feature.train.size // ROWS_A_VALUE)))


def decides(one: Cells, other: Cells) -> bool:
    """Whether the value of one column determines that of the other on every row.

    >>> country = Cells(np.array([0, 1, 1, 2] * 9), np.array([0, 2]), 3)
    >>> nordic = Cells(np.array([0, 1, 1, 1] * 9), np.array([0, 1]), 2)
    >>> decides(country, nordic), decides(nordic, country)
    (True, False)
    """
    table = _table(one.train, other.train, one.n, other.n)
    total = int(table.sum())
    if total == 0 or table.sum(axis=0).max() > MOST_COMMON * total:
        return False
    if ((table > 0).sum(axis=1) > 1).any():
        return False
    told = table.argmax(axis=1)
    known = (one.valid >= 0) & (other.valid >= 0) & (table.sum(axis=1) > 0)[one.valid]
    return bool((told[one.valid[known]] == other.valid[known]).all())


def _table(one: Int64s, other: Int64s, n_one: int, n_other: int) -> Int64s:
    known = (one >= 0) & (other >= 0)
    flat = np.bincount(one[known] * n_other + other[known], minlength=n_one * n_other)
    return flat.reshape(n_one, n_other)
