"""Bounds by numpy: a statistic of every body on each mini-batch, sorted, and two ranks of it."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int32s
from sqrl._kernels.layout import Level, Output, Wanted
from sqrl._kernels.plain.counting import count_sets, sign_counts, valid_signs

AT_ONCE = 1 << 15  # values, of some bodies: what is computed of them stays in the cache


def fill_bounds(
    level: Level, begin: int, end: int, table: Int32s, wanted: Wanted, output: Output
) -> None:
    """Bound every body whose set extends prefixes begin..end."""
    first, last = level.prefixes.first[begin], level.prefixes.first[end]
    counted = table[first:last] if last <= len(table) else count_sets(level, begin, end)
    signed = sign_counts(level, begin, end, table, counted)
    bodies, chosen = valid_signs(level, begin, end, len(signed))
    n, found = output.support[bodies], np.empty((4, chosen[0].size, wanted.heads.size))
    at_once = max(1, AT_ONCE // signed.shape[3])
    for least in range(0, chosen[0].size, at_once):
        some = slice(least, least + at_once)
        order_bodies(signed[chosen[0][some], chosen[1][some]], wanted, n[some], found[:, some])
    output.lower[bodies] = values_between(found[:2], wanted.rank_lo[n], wanted.frac_lo[n])
    output.upper[bodies] = values_between(found[2:], wanted.rank_hi[n], wanted.frac_hi[n])


def order_bodies(both: Int32s, wanted: Wanted, support: Int32s, found: Floats) -> None:
    """Find the values that the bounds of some bodies lie between, for each head.

    Shapes: both (n_bodies, n_parts, lanes), support (n_bodies, n_heads), found (4, n_bodies,
    n_heads): the value of the lower bound's rank and the next, then of the upper bound's.
    """
    body = np.einsum("bpl->bl", both)  # in half the time of sum
    ranks = np.stack([wanted.rank_lo, wanted.rank_lo + 1, wanted.rank_hi, wanted.rank_hi + 1])
    ranks, line = np.minimum(ranks, both.shape[2] - 1), np.arange(len(both))
    for i, head in enumerate(wanted.heads):
        values = evaluate(wanted, both[:, head], body, wanted.sizes[head])
        values.sort(axis=1)  # nan last
        support[:, i] = values.shape[1]
        few = np.flatnonzero(np.isnan(values[:, -1]))
        support[few, i] -= np.isnan(values[few]).sum(axis=1)
        found[:, :, i] = values[line, ranks[:, support[:, i]]]


def evaluate(wanted: Wanted, both: Int32s, body: Int32s, head: Floats) -> Floats:
    """The statistic on each mini-batch from the counts of its rows; 0 / 0 is nan.

    Shapes: both, body and result (n_bodies, lanes), head (lanes,).
    """
    above, below = fraction(wanted.statistic, both, body, head, wanted.rows)
    with np.errstate(invalid="ignore"):
        return np.asarray(above / below)


def fraction(  # noqa: PLR0911  a line for each statistic
    statistic: int, both: Array, body: Array, head: Array, rows: Array
) -> tuple[Array, Array]:
    """What is divided by what, in the order of STATISTICS."""
    match statistic:
        case 0:
            return 2 * both, body + head
        case 1:
            return 2 * both, body + both
        case 2:
            return both, body
        case 3:
            return both, head
        case 4:
            return rows - (body + head - 2 * both), rows
        case 5:
            return both, rows
    return both * rows, body * head


def values_between(found: Floats, rank: Int32s, fraction: Floats) -> Floats:
    """The point at `fraction` of the way from the value of a rank to the next; nan for rank -1.

    To the last bit as numpy.percentile has it, which measures from the nearer end.
    Shapes: found (2, ..), all others (..).
    """
    value, following = found
    step = following - value
    between = np.where(fraction >= 0.5, following - step * (1 - fraction), value + step * fraction)
    found = np.where(fraction == 0, value, between)
    return np.where(rank < 0, np.nan, found)
