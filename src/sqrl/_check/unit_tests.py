"""Tests of rules by units: whether new units are exchangeable with those of the reference.

Rows of a unit go together, so that rows are no sample; units are. Given all units, old and new, the
new ones are under the null hypothesis a draw without replacement. Two tests of a share:

    moved   the sum of residuals (hits less the share of all units times trials) over new units. Of
            a draw without replacement its variance, skewness and kurtosis are known exactly; the
            tail is that of Student's distribution with these
    hit     how many of the new units have a hit at all, by Fisher's exact test: where hits are rare

No p-value is smaller than one over the number of such draws, so that with few units nothing can be
said, and nothing is (decision 28).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, sqrt

import numpy as np

from sqrl._check.hypergeometric import at_least
from sqrl._check.unit_lines import N_NUMBERS, residual_sums
from sqrl._kernels.arrays import Floats

FEWEST_UNITS = 5  # on each side, for a share that has moved
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Sides:
    """How the lines of a rule are tested."""

    both: bool  # a move either way counts, rather than upwards alone
    moves: bool = True  # whether the share has moved
    hits: bool = True  # whether more units have a hit
    scored: int = 0  # the first lines, which add up scores of cells: each is a test of its own


def unit_p_value(reference: Sequence[float], new: Sequence[float], sides: Sides) -> float:
    """The p-value of a rule from what units say, of the reference and new; nan where none can.

    The least of its tests, times how many were done. Lines that add up scores count one each, and
    as much as all the others together: of fifty cells one is a fiftieth of the question.

    >>> from sqrl._check.unit_lines import Line, powers
    >>> old, hit = np.full(200, 5.0), np.full(50, 5.0)
    >>> reference = powers(Line(old, (np.arange(200) % 20 == 0) * 1.0))
    >>> for broken in (2, 9):
    ...     found = powers(Line(hit, (np.arange(50) < broken) * 1.0))
    ...     print(round(unit_p_value(reference.tolist(), found.tolist(), Sides(both=False)), 4))
    1.0
    0.0058
    """
    if len(reference) != len(new) or not reference:
        return NAN
    scores: list[float] = []
    tests: list[float] = []
    old_lines = np.asarray(reference).reshape(-1, N_NUMBERS)
    new_lines = np.asarray(new).reshape(-1, N_NUMBERS)
    for place, (old, now) in enumerate(zip(old_lines, new_lines, strict=True)):
        if sides.moves:
            moved = _moved(old, now, both=sides.both)
            one_of = scores if place < sides.scored else tests
            one_of.extend([] if np.isnan(moved) else [moved])
    if sides.hits:
        hit = _hit(old_lines[sides.scored :], new_lines[sides.scored :])
        tests.extend(np.minimum(1.0, (1 + sides.both) * hit).tolist())
    groups = scores + ([len(tests) * min(tests)] if tests else [])
    return min(1.0, len(groups) * min(groups)) if groups else NAN


def _hit(old: Floats, new: Floats) -> Floats:
    """The probability of so many new units with a hit, given how many have one in all.

    For each line that has units on both sides.
    """
    known = (old[:, 0] > 0) & (new[:, 0] > 0)
    (n, hit), (m, new_hit) = old[known, :2].T, new[known, :2].T
    return at_least(new_hit, n + m, hit + new_hit, m)


def _moved(old: Floats, new: Floats, *, both: bool) -> float:
    """The probability that residuals of new units add up to so much; nan of too few units."""
    n, m = float(old[0]), float(new[0])
    if min(n, m) < FEWEST_UNITS:
        return NAN
    pooled = old + new
    share = float(pooled[3] / pooled[2])
    _, second, third, fourth = residual_sums(pooled, share)
    moved = residual_sums(new, share)[0]
    units = n + m
    if second <= 1e-12 * max(float(pooled[6]), 1e-300):  # all units have the same share
        return 1.0
    variance = n * m / (units * (units - 1)) * second
    skew = n * m * (n - m) / (units * (units - 1) * (units - 2)) * third / variance**1.5
    far = moved / sqrt(variance)
    part = n * m / units**2
    heavy = (1 - 6 * part) * fourth / second**2 / part - 1.5 * skew**2
    least = -log_draws(units, m)
    if both:
        tail = 2.0 * _above(abs(far), skew if far > 0 else -skew, heavy)
    else:
        tail = _above(far, skew, heavy) if far > 0 else 1.0 - _above(-far, -skew, heavy)
    return float(min(1.0, max(tail, np.exp(least))))


def _above(far: float, skew: float, heavy: float) -> float:
    """The probability above so many standard deviations, of this skewness and excess kurtosis.

    Wilson and Hilferty's cube root takes the skewness away where it makes the tail heavier; the
    rest is Student's distribution with the kurtosis, scaled to a variance of one.
    """
    from scipy.special import ndtr, stdtr

    if skew > 1e-6:
        shape = 4.0 / skew**2
        root = (1.0 + far / sqrt(shape)) ** (1 / 3)
        far = 3.0 * sqrt(shape) * (root - 1.0 + 1.0 / (9.0 * shape))
    if heavy <= 1e-3 or far <= 0.0:
        return float(ndtr(-far))
    freedom = 4.0 + 6.0 / heavy
    return float(stdtr(freedom, -far * sqrt(freedom / (freedom - 2.0))))


def log_draws(units: float, drawn: float) -> float:
    """The log of how many draws without replacement there are."""
    if units <= 0:
        return log(1.0)
    return lgamma(units + 1) - lgamma(drawn + 1) - lgamma(units - drawn + 1)
