"""Numbers of which one is never above the other: ordered before shipped, low before high."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sqrl._kernels.arrays import Floats
from sqrl._learn.relations.features import Feature

MOST_NUMBERS = 60
BY_CHANCE = 0.1  # of rows dealt anew that would break it: less, and it says nothing
LEAST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Order:
    """The number at `low` is at most the one at `high`, on every row."""

    low: int
    high: int


def find_orders(features: Sequence[Feature]) -> list[Order]:
    """Which numbers are never above which others, though their ranges overlap.

    What follows from two others is left out. Cost: a comparison of all rows for each pair.
    """
    found: list[Order] = []
    for one, other in combinations(range(min(len(features), MOST_NUMBERS)), 2):
        a, b = features[one], features[other]
        if holds(a.train, b.train, LEAST_ROWS) and _is_confirmed(a, b):
            found.append(Order(one, other))
        elif holds(b.train, a.train, LEAST_ROWS) and _is_confirmed(b, a):
            found.append(Order(other, one))
    known = {(order.low, order.high) for order in found}
    return [
        order
        for order in found
        if not any(
            (order.low, middle) in known and (middle, order.high) in known
            for middle in range(len(features))
        )
    ]


def _is_confirmed(low: Feature, high: Feature) -> bool:
    return holds(low.valid, high.valid, 1) and not _is_idle(low.train, high.train)


def holds(low: Floats, high: Floats, least_rows: int) -> bool:
    """Whether no row has `low` above `high`, and enough rows have both.

    >>> holds(np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, 0.0]), 2)
    True
    """
    with np.errstate(invalid="ignore"):
        n_known = int((~np.isnan(low) & ~np.isnan(high)).sum())
        return n_known >= least_rows and not (low > high).any()


def _is_idle(low: Floats, high: Floats) -> bool:
    """Whether the order would hold on nearly all rows if values were dealt anew."""
    known = ~np.isnan(low) & ~np.isnan(high)
    a, b = np.sort(low[known]), high[known]
    below = np.searchsorted(a, b, side="right")  # how many of all low values each may meet
    return bool(1.0 - below.mean() / max(a.size, 1) < BY_CHANCE)
