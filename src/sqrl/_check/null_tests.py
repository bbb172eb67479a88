"""Tests of the null hypothesis: new samples come from where the old ones came from.

A bound learned from n samples is itself random. Under the null hypothesis the number of m new
samples outside a bound at an order statistic is beta-binomial in n and m, whatever the
distribution; a plain binomial would forget that the bound may be off. Rules of mini-batches and of
classes are compared with what held-out rows said of them: mini-batches share rows, and the rules
kept are those that looked best on the rows they were learned from.
"""

from math import erfc, sqrt

import numpy as np

from sqrl._check.hypergeometric import at_least, at_most
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.statistics import batch_statistic
from sqrl._rows.quantiles import BoundMethod

FEWEST = 10.0  # rows of a kind on each side, below which a normal approximation is not trusted
NAN = float("nan")


def outside_spacings(support: Int64s, method: BoundMethod) -> tuple[Floats, Floats]:
    """How many of the n + 1 gaps between n sorted samples lie outside the bounds.

    The first is what is expected (a bound between two samples cuts a gap), the second the whole
    number that is not less: with it the p-value is sure not to be too small.

    >>> from sqrl._rules.schema import BoundOptions
    >>> method = BoundMethod(0.02, True, True, BoundOptions())
    >>> [float(x[0]) for x in outside_spacings(np.array([101]), method)]
    [4.0, 4.0]
    """
    ranks = method.ranks_of(support)
    known = ranks.rank_lo >= 0
    expected, whole = np.zeros(support.shape), np.zeros(support.shape)
    if method.has_lower:
        place = ranks.rank_lo + ranks.frac_lo
        expected += place + 1
        whole += np.ceil(place) + 1
    if method.has_upper:
        place = ranks.rank_hi + ranks.frac_hi
        expected += support - place
        whole += support - np.floor(place)
    return np.where(known, expected, np.nan), np.where(known, whole, np.nan)


def outside_test(
    broken: Int64s, applicable: Int64s, support: Int64s, method: BoundMethod
) -> tuple[Floats, Floats]:
    """The expected number of broken rows, and the p-value of at least as many as there are.

    Exact under exchangeability; nan where the bound has no support. The beta-binomial tail is a
    hypergeometric one: k new samples lie outside `whole` gaps just when, of the first whole + k - 1
    of old and new together, counted from outside, at least k are new.

    >>> from sqrl._rules.schema import BoundOptions
    >>> method = BoundMethod(0.02, True, True, BoundOptions())
    >>> expected, p = outside_test(np.array([9]), np.array([100]), np.array([999]), method)
    >>> float(expected[0].round(3)), float(p[0].round(5))
    (2.196, 0.00085)
    """
    expected, whole = outside_spacings(support, method)
    known = ~np.isnan(whole)
    p = np.full(support.shape, np.nan)
    outside = np.minimum(whole[known], support[known] + 1) + broken[known] - 1
    p[known] = at_least(
        broken[known], support[known] + applicable[known], applicable[known], outside
    )
    return applicable * expected / (support + 1), p


def worst_piece(p: Floats, piece_of: Int64s, n_rules: int) -> Floats:
    """The p-value of each rule: that of its worst piece, times the number of its pieces.

    >>> worst_piece(np.array([0.01, 0.3, np.nan]), np.array([0, 0, 1]), 2).tolist()
    [0.02, nan]
    """
    tested = ~np.isnan(p)
    pieces = np.bincount(piece_of[tested], minlength=n_rules)
    least = np.full(n_rules, np.inf)
    np.minimum.at(least, piece_of[tested], p[tested])
    return np.asarray(np.where(pieces > 0, np.minimum(least * np.maximum(pieces, 1), 1.0), np.nan))


def share_test(held_out: tuple[float, float], new: tuple[float, float]) -> tuple[float, float]:
    """Expected broken rows and p-value from (applicable, broken), held out and new.

    Fisher's exact test: given how many are broken in all, the new ones are a draw without
    replacement.

    >>> expected, p = share_test((100.0, 2.0), (100.0, 9.0))
    >>> round(expected, 2), round(p, 4)
    (2.0, 0.0291)
    """
    (rows, broken), (new_rows, new_broken) = held_out, new
    if rows == 0:
        return NAN, NAN
    expected = new_rows * broken / rows
    if new_rows == 0:
        return expected, NAN
    return expected, float(at_least(new_broken, rows + new_rows, broken + new_broken, new_rows))


def fisher(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Two-sided p-values for a difference of two shares from (trials, hits) on both sides.

    Twice the smaller tail of Fisher's exact test; nan where a side has no trials.

    >>> one = np.array([100.0]), np.array([2.0])
    >>> fisher(one, (np.array([100.0]), np.array([9.0]))).round(4).tolist()
    [0.0582]
    """
    (n, hits), (m, new_hits) = first, second
    above = at_least(new_hits, n + m, hits + new_hits, m)
    below = at_most(new_hits, n + m, hits + new_hits, m)
    p = np.minimum(2.0 * np.minimum(above, below), 1.0)
    return np.where((n > 0) & (m > 0), p, np.nan)


def mean_test(held_out: Floats, new: Floats) -> Floats:
    """Two-sided p-values of a difference of means from (rows, mean, variance) on both sides.

    Student's test with the greater of the two variances. Of a skewed column, the sample that lacks
    the few large values has both a small mean and a small variance, and by Welch's test a
    p-value that is thousands of times too small; the other sample has them, and its variance says
    so (decision 18). Shapes: held_out and new (n, 3), result (n,).

    >>> mean_test(np.array([[50, 1.0, 4.0]]), np.array([[60, 1.9, 5.0]])).round(4).tolist()
    [0.0395]
    """
    (n, mean, variance), (m, new_mean, new_variance) = held_out.T, new.T
    with np.errstate(all="ignore"):
        greater = np.maximum(variance * n / (n - 1), new_variance * m / (m - 1))
        apart = np.abs(mean - new_mean) / np.sqrt(greater * (1 / n + 1 / m))
        p = student_beyond(apart, n + m - 2)
    p = np.where(greater == 0, mean == new_mean, p)
    return np.where(np.minimum(n, m) < FEWEST, np.nan, p)


def counts_test(statistic: str, held_out: Floats, new: Floats) -> Floats:
    """Two-sided p-values of a difference of a statistic of counts, held out against new.

    Nearly all of these rise and fall with one share (F1 with the share of both among the rows in
    the body or the head), so that Fisher's exact test of that share serves. For others rows fall
    into four cells and the statistic is a smooth function of their shares: its difference is nearly
    normal, with a variance that its gradient gives.

    Shapes: held_out and new (n, 4): rows in the body, the head, both, and in all; result (n,).

    >>> held_out, new = np.array([[40.0, 50.0, 30.0, 100.0]]), np.array([[40.0, 50.0, 20.0, 100.0]])
    >>> counts_test("f1", held_out, new).round(4)
    array([0.02])
    """
    share, new_share = as_share(statistic, held_out), as_share(statistic, new)
    if share is not None and new_share is not None:
        return fisher(share, new_share)
    cells, new_cells = _cells(held_out), _cells(new)
    pooled = cells + new_cells
    n, m = cells.sum(axis=1), new_cells.sum(axis=1)
    with np.errstate(all="ignore"):
        error = _deviation(statistic, pooled) * np.sqrt(1 / n + 1 / m)
        apart = _statistic(statistic, new_cells) - _statistic(statistic, cells)
        p = np.where(error == 0, apart == 0, 2 * normal_below(-np.abs(apart) / error))
    few = (pooled < FEWEST).any(axis=1) | (np.minimum(n, m) < FEWEST) | np.isnan(apart)
    return np.where(few, np.nan, p)


def as_share(statistic: str, counts: Floats) -> tuple[Floats, Floats] | None:
    """(trials, hits) of the share that the statistic rises and falls with, if there is one."""
    body, head, both, rows = np.asarray(counts, np.float64).T
    share = batch_statistic(statistic).share
    return None if share is None else share(body, head, both, rows)


def outside_of_batches(
    statistic: str, held_out: Floats, lower: Floats, upper: Floats, size: Floats
) -> Floats:
    """The share of mini-batches expected outside their bounds, by what held-out rows say.

    `size` rows count in a mini-batch. The bounds' own coverage does not say it: it is of
    mini-batches that share rows, whose statistics vary less than those of new rows.

    Shapes: held_out (n, 3) moments or (n, 4) counts, all others and the result (n,).

    >>> held_out, bound, size = np.array([[1e9, 0.0, 100.0]]), np.array([1.96]), np.array([100.0])
    >>> outside_of_batches("mean", held_out, -bound, bound, size).round(3)
    array([0.05])
    """
    with np.errstate(all="ignore"):
        if batch_statistic(statistic).of == "values":
            rows, value, deviation = held_out[:, 0], held_out[:, 1], np.sqrt(held_out[:, 2])
        else:
            cells = _cells(held_out)
            rows, value = held_out[:, 3], _statistic(statistic, cells)
            deviation = _deviation(statistic, cells)
        error = deviation * np.sqrt(1 / rows + 1 / size)
        share = normal_below((lower - value) / error) + normal_below((value - upper) / error)
    share = np.where(error == 0, (value < lower) | (value > upper), share)
    return np.where((rows < FEWEST) | (size < 1) | np.isnan(value), np.nan, share)


def normal_below(x: Floats) -> Floats:
    """The probability that a standard normal variable is below x; nan where x is.

    >>> normal_below(np.array([0.0, -1.96])).round(3).tolist()
    [0.5, 0.025]
    """
    values = [0.5 * erfc(-value / sqrt(2)) for value in x.ravel().tolist()]
    return np.array(values, np.float64).reshape(x.shape)


def student_beyond(t: Floats, freedom: Floats) -> Floats:
    """The probability that Student's t is further from zero than this, on either side.

    By Wallace's transformation to a normal variable, good to a few per cent of the probability
    from 10 degrees of freedom on: scipy.special takes longer to import than a check.

    >>> student_beyond(np.array([2.086, 3.85]), np.array([20.0, 20.0])).round(4).tolist()
    [0.05, 0.001]
    """
    normal = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t * t / freedom))
    return 2.0 * normal_below(-normal)


def _cells(counts: Floats) -> Floats:
    """How many rows are in both, in the body alone, in the head alone, and in neither."""
    body, head, both, rows = np.asarray(counts, np.float64).T
    return np.stack([both, body - both, head - both, rows - body - head + both], axis=1)


def _statistic(name: str, cells: Floats) -> Floats:
    both, body, head = cells[:, 0], cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    return batch_statistic(name)(body, head, both, cells.sum(axis=1))


def _deviation(name: str, cells: Floats) -> Floats:
    """The standard deviation of the statistic for one row, by the delta method."""
    share = cells / cells.sum(axis=1, keepdims=True)
    gradient = np.zeros_like(share)
    for cell in range(4):
        step = np.zeros_like(share)
        step[:, cell] = np.minimum(1e-6, share[:, cell])
        rise = _statistic(name, share + step) - _statistic(name, share - step)
        slope = rise / (2 * step[:, cell])
        gradient[:, cell] = np.where(step[:, cell] > 0, slope, 0.0)
    variance = (share * gradient**2).sum(axis=1) - (share * gradient).sum(axis=1) ** 2
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def benjamini_hochberg(p: Floats, level: float) -> Bools:
    """Which hypotheses to reject so that the expected share of false ones is at most `level`.

    >>> benjamini_hochberg(np.array([0.001, 0.02, 0.04, 0.9, np.nan]), 0.05).tolist()
    [True, True, False, False, False]
    """
    tested = np.flatnonzero(~np.isnan(p))
    rejected = np.zeros(p.shape, np.bool_)
    if not tested.size:
        return rejected
    order = tested[np.argsort(p[tested], kind="stable")]
    passes = p[order] <= level * np.arange(1, order.size + 1) / order.size
    if passes.any():
        rejected[order[: int(np.flatnonzero(passes)[-1]) + 1]] = True
    return rejected
