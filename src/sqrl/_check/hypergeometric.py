"""Tails of the hypergeometric distribution, exact and for many tests at once."""

import numpy as np
from numpy.typing import ArrayLike

from sqrl._kernels.arrays import Floats

NEGLIGIBLE = 1e-17
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
STIRLING_FROM = 16  # where the first term left out is less than 1e-17


def at_least(k: ArrayLike, population: ArrayLike, marked: ArrayLike, drawn: ArrayLike) -> Floats:
    """The probability that of `drawn` from a `population` with so many `marked` at least k are.

    Shapes: all the same, or one for all. Cost: vectorised over tests, as many steps as the widest
    tail has terms: a few thousand for counts in the millions.

    >>> at_least([2, 0, 9], 10, 4, 3).round(4).tolist()
    [0.3333, 1.0, 0.0]
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(x, np.float64) for x in (k, population, marked, drawn))
    )
    shape = arrays[0].shape
    count, total, hits, draws = (array.ravel() for array in arrays)
    least, most = np.maximum(0.0, draws + hits - total), np.minimum(hits, draws)
    tail = np.where(count <= least, 1.0, 0.0)
    inner = (count > least) & (count <= most)
    mode = np.floor((draws + 1) * (hits + 1) / (total + 2))
    above = inner & (count > mode)
    tail[above] = _sum_away(count[above], total[above], hits[above], draws[above])
    below = inner & ~above  # the shorter tail is that of the unmarked: at most k - 1 marked
    other = draws[below] - count[below] + 1
    unmarked = total[below] - hits[below]
    tail[below] = 1.0 - _sum_away(other, total[below], unmarked, draws[below])
    return np.clip(tail, 0.0, 1.0).reshape(shape)


def at_most(k: ArrayLike, population: ArrayLike, marked: ArrayLike, drawn: ArrayLike) -> Floats:
    """The probability that at most k are marked.

    >>> at_most([1, 3], 10, 4, 3).round(4).tolist()
    [0.6667, 1.0]
    """
    count, total, hits, draws = (np.asarray(x, np.float64) for x in (k, population, marked, drawn))
    return at_least(draws - count, total, total - hits, draws)


def _sum_away(count: Floats, total: Floats, hits: Floats, draws: Floats) -> Floats:
    """The probability of count, count + 1, ...: the terms fall, as count is past the mode."""
    if not count.size:
        return count
    some, others = _log_choose(hits, count), _log_choose(total - hits, draws - count)
    first = some + others - _log_choose(total, draws)
    tail = np.ones_like(count)
    term = np.ones_like(count)
    active = np.arange(count.size)
    step = count.copy()
    while active.size:
        j, n, m, d = step[active], total[active], hits[active], draws[active]
        term[active] *= (m - j) * (d - j) / ((j + 1) * (n - m - d + j + 1))
        tail[active] += term[active]
        step[active] += 1
        active = active[term[active] > NEGLIGIBLE * tail[active]]
    return np.asarray(np.exp(first) * tail)


def _log_choose(n: Floats, k: Floats) -> Floats:
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def log_factorial(n: ArrayLike) -> Floats:
    """The logarithm of n!, to a relative error of 1e-14, and an absolute one where n is small.

    Stirling's series, from where it is exact on: scipy.special has one too, but takes longer to
    import than all other work of a check.

    >>> log_factorial([0, 1, 5]).round(12).tolist() == np.log([1, 1, 120]).round(12).tolist()
    True
    """
    least = np.asarray(n, np.float64) + 1
    product = np.ones_like(least)
    for step in range(STIRLING_FROM):
        product *= np.where(least < STIRLING_FROM, least + step, 1.0)
    x = np.where(least < STIRLING_FROM, least + STIRLING_FROM, least)
    series = np.zeros_like(x)
    for factor in reversed(STIRLING):
        series = series / (x * x) + factor
    leading = (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi)
    return np.asarray(leading + series / x - np.log(product))


def coin_flips(heads: ArrayLike, tails: ArrayLike) -> Floats:
    """The two-sided p-value of a fair coin that falls as unevenly as this, or more so.

    >>> coin_flips([0, 1, 3], [0, 9, 3]).round(4).tolist()
    [1.0, 0.0215, 1.0]
    """
    from scipy.special import bdtr

    one, other = np.asarray(heads, np.float64), np.asarray(tails, np.float64)
    flips = (one + other).astype(np.int64)
    tail = np.where(flips > 0, bdtr(np.minimum(one, other), np.maximum(flips, 1), 0.5), 1.0)
    return np.asarray(np.minimum(2.0 * tail, 1.0))
