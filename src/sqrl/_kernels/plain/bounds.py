"""Bounds by numpy: a statistic of every body on each mini-batch, sorted, and two ranks of it."""

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int32s, Int64s
from sqrl._kernels.layout import Level, Output, Wanted
from sqrl._kernels.plain.counting import count_sets, sign_counts, valid_signs

AT_ONCE = 512  # bodies: what is computed of them stays in the cache


def fill_bounds(
    level: Level, begin: int, end: int, table: Int32s, wanted: Wanted, output: Output
) -> None:
    """Bound every body whose set extends prefixes begin..end."""
    first, last = level.prefixes.first[begin], level.prefixes.first[end]
    counted = table[first:last] if last <= len(table) else count_sets(level, begin, end)
    signed = sign_counts(level, begin, end, table, counted)
    bodies, chosen = valid_signs(level, begin, end, len(signed))
    for least in range(0, chosen[0].size, AT_ONCE):
        some = slice(least, least + AT_ONCE)
        lower, upper = output.lower[bodies][some], output.upper[bodies][some]
        targets = Output(lower, upper, output.support[bodies][some])
        bound_bodies(signed[chosen[0][some], chosen[1][some]], wanted, targets)


def bound_bodies(both: Int32s, wanted: Wanted, output: Output) -> None:
    """Bound some bodies for each head.

    Shapes: both (n_bodies, n_parts, lanes).
    """
    body = both.sum(axis=1, dtype=np.int32)
    for i, head in enumerate(wanted.heads):
        values = evaluate(wanted, both[:, head], body, wanted.sizes[head])
        values.sort(axis=1)  # nan last
        n = values.shape[1] - np.isnan(values).sum(axis=1)
        output.support[:, i] = n
        output.lower[:, i] = values_between(values, wanted.rank_lo[n], wanted.frac_lo[n])
        output.upper[:, i] = values_between(values, wanted.rank_hi[n], wanted.frac_hi[n])


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


def values_between(values: Floats, rank: Int32s | Int64s, fraction: Floats) -> Floats:
    """The point at `fraction` of the way from the value of a rank to the next; nan for rank -1.

    To the last bit as numpy.percentile has it, which measures from the nearer end.
    Shapes: values (n, lanes), sorted; all others (n,).
    """
    line = np.arange(len(values))
    value = values[line, rank]
    following = values[line, np.minimum(rank + 1, values.shape[1] - 1)]
    step = following - value
    between = np.where(fraction >= 0.5, following - step * (1 - fraction), value + step * fraction)
    found = np.where(fraction == 0, value, between)
    return np.where(rank < 0, np.nan, found)
