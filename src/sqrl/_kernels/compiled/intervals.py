"""Compiled loop: which rows lie outside their interval."""

import numpy as np

from sqrl._kernels.compiled.jit import kernel
from sqrl._kernels.intervals import IntervalOutcomes, Intervals


@kernel
def evaluate_rows(rule: Intervals, outcomes: IntervalOutcomes) -> int:
    """How many rows are broken; fills the counts of each piece, the broken rows and how far off.

    A piece is chosen by the first cut that `by` does not exceed; without cuts there is one piece.
    """
    rows, values, by, cuts, lower, upper = rule
    applicable, broken, broken_rows, excess = outcomes
    found = 0
    for index in range(rows.size):
        row = rows[index]
        value = values[row]
        if np.isnan(value):
            continue
        piece = 0
        if cuts.size > 0:
            place = by[row]
            if np.isnan(place):
                continue
            for cut in range(cuts.size):  # no early exit: it could not be predicted
                piece += place > cuts[cut]
        applicable[piece] += 1
        off = max(lower[piece] - value, value - upper[piece])
        if off > 0.0:
            broken[piece] += 1
            broken_rows[found] = row
            width = upper[piece] - lower[piece]
            excess[found] = off / width if 0.0 < width < np.inf else np.inf
            found += 1
    return found
