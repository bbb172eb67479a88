"""Compiled loop: which rows lie outside their interval, for all rules about these rows."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int64s
from sqrl._kernels.compiled.jit import inlined, kernel
from sqrl._kernels.intervals import Counted, Family


@inlined
def choose_pieces(by: Floats, cuts: Floats, pieces: Array, sizes: Int64s, n_rows: int) -> None:
    """Choose the piece of each row, by the first cut that `by` does not exceed; count them."""
    for index in range(n_rows):
        place = by[index]
        piece = 0
        for cut in range(cuts.size):  # no early exit: it could not be predicted
            piece += int(place > cuts[cut])
        if np.isnan(place):
            piece = cuts.size + 1
        pieces[index] = piece
        sizes[piece] += 1


@kernel
def evaluate_block(
    rows: Array, values: Floats, pieces: Array, family: Family, counted: Counted
) -> None:
    """Count, and write down what is broken, of each rule on some rows.

    Shapes: rows (n,), values (columns, n or more), pieces (n or more,), which is written to.
    Cost: two comparisons a row and rule, of which one in fifty or so is not what the processor
    expects; one a row and cut point for each group.
    """
    by, cuts, first_cut, first_rule, column, first_slot, lower, upper = family
    applicable, broken, found, broken_rows, excess = counted
    n_rows = rows.size
    for group in range(by.size):
        here = cuts[first_cut[group] : first_cut[group + 1]]
        sizes = np.zeros(here.size + 2, np.int64)
        is_cut = by[group] >= 0
        if is_cut:
            choose_pieces(values[by[group]], here, pieces, sizes, n_rows)
        else:
            sizes[0] = n_rows
        for rule in range(first_rule[group], first_rule[group + 1]):
            slot, mine = first_slot[rule], values[column[rule]]
            for piece in range(here.size + 1):
                applicable[slot + piece] += sizes[piece]
            low, high = lower[slot : slot + here.size + 2], upper[slot : slot + here.size + 2]
            at = found[rule]
            piece = 0
            for index in range(n_rows):
                value = mine[index]
                if is_cut:
                    piece = int(pieces[index])
                if value >= low[piece] and value <= high[piece]:
                    continue
                if np.isnan(value):
                    applicable[slot + piece] -= 1
                    continue
                off = max(low[piece] - value, value - high[piece])
                if off > 0.0:
                    broken[slot + piece] += 1
                    broken_rows[rule, at] = rows[index]
                    width = high[piece] - low[piece]
                    excess[rule, at] = off / width if 0.0 < width < np.inf else np.inf
                    at += 1
            found[rule] = at
