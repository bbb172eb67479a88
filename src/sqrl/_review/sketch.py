"""Sketch: the values that a rule bounds, few enough for a page and exact where bounds are."""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s

EXACT = 2048  # values kept at either end: bounds are mostly there
BETWEEN = 1024  # quantiles kept of the rest


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Some of n sorted values, each with how many lie before it.

    How many values lie below a bound is exact as long as no value is left out around it, and else
    lies between the ranks of two neighbours that are kept.
    """

    n: int
    values: Floats
    ranks: Int64s

    def below(self, bound: float) -> tuple[float, bool]:
        """About how many values lie below a bound, and whether the number is exact.

        The page does the same, in review.js.

        >>> make_sketch(np.arange(10.0)).below(2.5)
        (3.0, True)
        """
        place = int(np.searchsorted(self.values, bound, "left"))
        if place == self.values.size:
            return float(self.n), True
        rank = int(self.ranks[place])
        before = int(self.ranks[place - 1]) if place else -1
        if rank - before <= 1:
            return float(rank), True
        low, high = float(self.values[place - 1]), float(self.values[place])
        return before + 1 + (rank - before - 1) * (bound - low) / (high - low), False


def make_sketch(values: Floats) -> Sketch:
    """The sketch of some values; nan and infinities are left out."""
    ordered = np.sort(values[np.isfinite(values)])
    n = ordered.size
    if n <= 2 * EXACT + BETWEEN:
        ranks = np.arange(n, dtype=np.int64)
    else:
        middle = np.linspace(EXACT, n - EXACT - 1, BETWEEN).round().astype(np.int64)
        ranks = np.concatenate([np.arange(EXACT), middle, np.arange(n - EXACT, n)])
        ranks = np.unique(ranks)
    return Sketch(n, ordered[ranks], ranks)
