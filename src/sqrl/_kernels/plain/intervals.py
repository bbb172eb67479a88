"""Which rows lie outside their interval, for all rules about these rows, by numpy."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats
from sqrl._kernels.intervals import Counted, Family


def evaluate_block(
    rows: Array, values: Floats, pieces: Array, family: Family, counted: Counted
) -> None:
    """Count, and write down what is broken, of each rule on some rows."""
    for group, by in enumerate(family.by.tolist()):
        cuts = family.cuts[family.first_cut[group] : family.first_cut[group + 1]]
        here = pieces[: rows.size]
        here[:] = 0
        if by >= 0:
            place = values[by, : rows.size]
            for cut in cuts:
                here += place > cut
            here[np.isnan(place)] = cuts.size + 1
        sizes = np.bincount(here, minlength=cuts.size + 2)
        for rule in range(family.first_rule[group], family.first_rule[group + 1]):
            first = family.first_slot[rule]
            slots = slice(first, first + cuts.size + 2)
            counted.applicable[slots] += sizes
            _evaluate_rule(rows, values[family.column[rule]], here, slots, rule, family, counted)


def _evaluate_rule(
    rows: Array,
    values: Floats,
    pieces: Array,
    slots: slice,
    rule: int,
    family: Family,
    counted: Counted,
) -> None:
    """Count and write down what is broken of one rule; rows without a value do not count."""
    lower, upper = family.lower[slots], family.upper[slots]
    value = values[: rows.size]
    if lower.size == 2:  # one piece: no bounds have to be looked up
        inside = (value >= lower[0]) & (value <= upper[0])
    else:
        inside = (value >= lower[pieces]) & (value <= upper[pieces])
    others = np.flatnonzero(~inside)
    value, piece = value[others], pieces[others]
    missing = piece[np.isnan(value)]
    counted.applicable[slots] -= np.bincount(missing, minlength=lower.size)
    with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is not off
        off = np.fmax(lower[piece] - value, value - upper[piece])
        width = (upper - lower)[piece]
    outside = np.flatnonzero(off > 0.0)
    off, width = off[outside], width[outside]
    counted.broken[slots] += np.bincount(piece[outside], minlength=lower.size)
    begin = counted.found[rule]
    end = begin + outside.size
    counted.rows[rule, begin:end] = rows[others[outside]]
    has_width = (width > 0.0) & (width < np.inf)
    excess = np.full(outside.size, np.inf)
    with np.errstate(over="ignore"):  # further off than a float can say is infinitely far
        excess[has_width] = off[has_width] / width[has_width]
        counted.excess[rule, begin:end] = excess
    counted.found[rule] += outside.size
