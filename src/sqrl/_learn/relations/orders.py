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
NEARLY = 0.98  # of the rows, where it does not hold on all


@dataclass(frozen=True, slots=True)
class Order:
    """The number at `low` is at most the one at `high`, on every row or on nearly all."""

    low: int
    high: int
    always: bool


def find_orders(features: Sequence[Feature]) -> list[Order]:
    """Which numbers are never above which others, though their ranges overlap.

    What follows from two others is left out. Cost: a comparison of all rows for each pair.
    """
    found: list[Order] = []
    for one, other in combinations(range(min(len(features), MOST_NUMBERS)), 2):
        for low, high in ((one, other), (other, one)):
            share = _share(features[low], features[high])
            if share >= NEARLY and not _is_idle(features[low].train, features[high].train):
                found.append(Order(low, high, share == 1.0))
                break
    known = {(order.low, order.high) for order in found}
    return [
        order
        for order in found
        if not any(
            (order.low, middle) in known and (middle, order.high) in known
            for middle in range(len(features))
        )
    ]


def _share(low: Feature, high: Feature) -> float:
    """The share of rows on which the order holds, the lower of both kinds of rows."""
    return min(
        share_ordered(low.train, high.train, LEAST_ROWS), share_ordered(low.valid, high.valid, 1)
    )


def share_ordered(low: Floats, high: Floats, least_rows: int) -> float:
    """The share of rows with `low` at most `high` among those that have both; 0 of too few.

    >>> share_ordered(np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, 0.0]), 2)
    1.0
    """
    with np.errstate(invalid="ignore"):
        n_known = int((~np.isnan(low) & ~np.isnan(high)).sum())
        return float((low <= high).sum() / n_known) if n_known >= least_rows else 0.0


def _is_idle(low: Floats, high: Floats) -> bool:
    """Whether the order would hold on nearly all rows if values were dealt anew."""
    known = ~np.isnan(low) & ~np.isnan(high)
    a, b = np.sort(low[known]), high[known]
    below = np.searchsorted(a, b, side="right")  # how many of all low values each may meet
    return bool(1.0 - below.mean() / max(a.size, 1) < BY_CHANCE)
