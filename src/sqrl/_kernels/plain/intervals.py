"""Which rows lie outside their interval, by numpy."""

import numpy as np

from sqrl._kernels.intervals import IntervalOutcomes, Intervals


def evaluate_rows(rule: Intervals, outcomes: IntervalOutcomes) -> int:
    """How many rows are broken; fills the counts of each piece, the broken rows and how far off.

    A piece is chosen by the first cut that `by` does not exceed; without cuts there is one piece.
    """
    rows, values, by, cuts, lower, upper = rule
    applicable, broken, broken_rows, excess = outcomes
    value = values[rows]
    known = ~np.isnan(value)
    piece = np.zeros(rows.size, np.int64)
    if cuts.size:
        place = by[rows]
        known &= ~np.isnan(place)
        for cut in cuts:
            piece += place > cut
    rows, value, piece = rows[known], value[known], piece[known]
    applicable += np.bincount(piece, minlength=applicable.size)
    with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is not off
        off = np.fmax(lower[piece] - value, value - upper[piece])
        width = (upper - lower)[piece]
    outside = np.flatnonzero(off > 0.0)
    off, width, piece = off[outside], width[outside], piece[outside]
    broken += np.bincount(piece, minlength=broken.size)
    broken_rows[: outside.size] = rows[outside]
    has_width = (width > 0.0) & (width < np.inf)
    excess[: outside.size] = np.inf
    with np.errstate(over="ignore"):
        excess[: outside.size][has_width] = off[has_width] / width[has_width]
    return outside.size
