"""Tests of shares: whether new rows fall into cells as often as rows of the reference do.

All are about two samples, given how many rows of both together are in each cell: under the null
hypothesis the new ones are drawn from these without replacement. With strata the new rows of each
are drawn from that stratum, so that how many rows a stratum has plays no part. Four tests, the
least p-value times how many were done (decision 18):

    cell      the worst cell, by Fisher's exact test, times the number of cells
    spread    chi-square over all cells, those that expect too few rows taken together
    order     rank sum, where cells follow one another: shares that all moved up, or down
    mixture   where there are strata: shares of each that moved towards those of all rows, as they
              do where a column was shuffled
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt

import numpy as np

from sqrl._check.hypergeometric import at_least, at_most
from sqrl._kernels.arrays import Floats

FEWEST_EXPECTED = 10.0  # rows of the smaller sample in a cell, for chi-square and normal tails
EXACT = 3  # cells of each rule that are tested exactly: those that moved most


@dataclass(frozen=True, slots=True, eq=False)
class SharesCase:
    """What one rule compares: counts of the reference and of new rows.

    Shapes: reference and new (strata, cells). Of ordered cells the last may be one for other
    values, `has_other`, which has no place in the order.
    """

    reference: Floats
    new: Floats
    is_ordered: bool
    has_other: bool


def shares_tests(cases: Sequence[SharesCase]) -> Floats:
    """The p-value of each case; nan where one of the samples has no row to compare.

    Cost: some passes over the cells of a case, and one exact test for the worst cells of all.

    >>> case = SharesCase(np.array([[500.0, 500.0]]), np.array([[70.0, 30.0]]), False, False)
    >>> shares_tests([case]).round(5)
    array([0.00017])
    """
    prepared = [_comparable(case) for case in cases]
    by_cell = _worst_cells(prepared)
    found = np.full(len(cases), np.nan)
    for place, (case, worst) in enumerate(zip(prepared, by_cell.tolist(), strict=True)):
        if case is None:
            continue
        tests = [worst]
        tests += _spread(case)
        if case.is_ordered:
            tests += _order(case)
        if len(case.new) > 1:
            tests += _mixture(case)
        found[place] = min(1.0, len(tests) * min(tests))
    return found


def _comparable(case: SharesCase) -> SharesCase | None:
    """The case without strata that have rows on one side only; None where nothing is left."""
    both = (case.reference.sum(axis=1) > 0) & (case.new.sum(axis=1) > 0)
    if not both.any():
        return None
    reference, new = case.reference[both], case.new[both]
    return SharesCase(reference, new, case.is_ordered, case.has_other)


def _worst_cells(cases: Sequence[SharesCase | None]) -> Floats:
    """The two-sided p-value of the worst cell of each case by Fisher's test, times its cells.

    Only the few cells that moved most are tested: to leave one out makes a p-value larger, never
    smaller.
    """
    tested, times = [], np.ones(len(cases))
    for place, case in enumerate(cases):
        if case is None:
            continue
        both = case.reference + case.new
        rows, new_rows = both.sum(axis=1, keepdims=True), case.new.sum(axis=1, keepdims=True)
        used = (both > 0).sum(axis=1)
        times[place] = max(1, int(np.where(used > 2, used, used - 1).sum()))
        expected = both * new_rows / rows
        scale = np.maximum(expected * (1 - both / rows) * (1 - new_rows / rows), 1e-300)
        far = np.abs(case.new - expected) / np.sqrt(scale)
        far[both == 0] = -1.0
        for index in _largest(far.ravel(), EXACT):
            stratum, cell = divmod(index, both.shape[1])
            counts = case.new[stratum, cell], rows[stratum, 0], both[stratum, cell]
            tested.append((place, *counts, new_rows[stratum, 0]))
    if not tested:
        return np.ones(len(cases))
    of_case, count, total, marked, drawn = np.array(tested).T
    above, below = at_least(count, total, marked, drawn), at_most(count, total, marked, drawn)
    least = np.full(len(cases), 1.0)
    np.minimum.at(least, of_case.astype(np.int64), 2.0 * np.minimum(above, below))
    return np.asarray(np.minimum(least * times, 1.0))


def _largest(values: Floats, n: int) -> list[int]:
    if values.size <= n:
        return list(range(values.size))
    return np.argpartition(-values, n)[:n].tolist()  # type: ignore[no-any-return]


def _spread(case: SharesCase) -> list[float]:
    """The tail of chi-square over the cells of all strata."""
    total, freedom = 0.0, 0
    for reference, new in zip(case.reference, case.new, strict=True):
        here, there = _pooled(reference, new)
        if here.size < 2:
            continue
        both, share = here + there, there.sum() / (here.sum() + there.sum())
        expected = both * share
        total += float(((there - expected) ** 2 / (expected * (1 - share))).sum())
        freedom += here.size - 1
    is_fisher = freedom == 1 and len(case.new) == 1 and case.new.shape[1] == 2
    return [chi_square_above(total, freedom)] if freedom and not is_fisher else []


def _pooled(reference: Floats, new: Floats) -> tuple[Floats, Floats]:
    """The cells of a stratum that expect enough rows of the smaller sample; the rest as one."""
    both = reference + new
    share = min(reference.sum(), new.sum()) / both.sum()
    enough = both * share >= FEWEST_EXPECTED
    here, there = reference[enough], new[enough]
    rest = reference[~enough].sum(), new[~enough].sum()
    if not (rest[0] or rest[1]):
        return here, there
    if sum(rest) * share < FEWEST_EXPECTED and here.size:  # join the smallest of the others
        least = int((here + there).argmin())
        here[least] += rest[0]
        there[least] += rest[1]
        return here, there
    if not here.size:
        return here, there
    return np.append(here, rest[0]), np.append(there, rest[1])


def _order(case: SharesCase) -> list[float]:
    """The rank sum of new rows among all, ties shared; of strata the sum, weighed by their size."""
    stop = case.new.shape[1] - case.has_other
    reference, new = case.reference[:, :stop], case.new[:, :stop]
    both = reference + new
    middle = np.cumsum(both, axis=1) - both / 2
    scores = middle / (both.sum(axis=1, keepdims=True) + 1)
    return _normal(reference, new, scores) if stop > 2 or len(new) > 1 else []


def _mixture(case: SharesCase) -> list[float]:
    """How far shares of each stratum moved towards those of all rows.

    A row in a cell that its stratum has more of than all rows do speaks against it, one in a cell
    that it has less of for it: close to the score of the likelihood of a mixture, but bounded.
    """
    both = case.reference + case.new
    share, of_all = both / both.sum(axis=1, keepdims=True), both.sum(axis=0) / both.sum()
    scores = np.divide(
        of_all - share, of_all + share, out=np.zeros_like(share), where=of_all + share > 0
    )
    return _normal(case.reference, case.new, scores)


def _normal(reference: Floats, new: Floats, scores: Floats) -> list[float]:
    """The two-sided p-value of the sum of new rows' scores, nothing where it is not nearly normal.

    Its mean, variance and skewness are those of draws without replacement within each stratum.
    """
    both = reference + new
    n, m = reference.sum(axis=1), new.sum(axis=1)
    rows = n + m
    known = (n > 0) & (m > 0) & (rows > 1)
    n, m, rows, both = n[known], m[known], rows[known], both[known]
    new, scores = new[known], scores[known]
    mean = (both * scores).sum(axis=1) / rows
    away = scores - mean[:, None]
    variance = n * m / (rows * (rows - 1)) * (both * away**2).sum(axis=1)
    total = float(variance.sum())
    # Rows that are not in the fullest cell of their stratum: the others hardly vary.
    others = float(((both.sum(axis=1) - both.max(axis=1)) * np.minimum(n, m) / rows).sum())
    if total <= 0.0 or others < FEWEST_EXPECTED:
        return []
    moved = float((new * away).sum())
    third = n * m * (n - m) / np.maximum(rows * (rows - 1) * (rows - 2), 1.0)
    skew = float((third * (both * away**3).sum(axis=1)).sum()) / total**1.5
    far = abs(moved) / sqrt(total)
    return [min(1.0, 2.0 * _skewed_above(far, skew if moved > 0 else -skew))]


def _skewed_above(z: float, skew: float) -> float:
    """The probability above z, in standard deviations, for a sum of this skewness.

    That of a gamma distribution by Wilson and Hilferty's cube root; where the tail is the light
    one, that of a normal distribution.
    """
    if skew > 1e-6:
        shape = 4.0 / skew**2
        root = (1.0 + z / sqrt(shape)) ** (1 / 3)
        z = 3.0 * sqrt(shape) * (root - 1.0 + 1.0 / (9.0 * shape))
    return 0.5 * erfc(z / sqrt(2.0))


def chi_square_above(value: float, freedom: int) -> float:
    """The probability that chi-square with so many degrees of freedom is above a value.

    A sum of as many terms as half the degrees of freedom: scipy.special has it too, but takes
    longer to import than a check.

    >>> round(chi_square_above(3.841459, 1), 6), round(chi_square_above(11.0705, 5), 6)
    (0.05, 0.05)
    """
    half = value / 2.0
    if half <= 0.0:
        return 1.0
    first = 0.5 * (freedom % 2)
    tail = erfc(sqrt(half)) if freedom % 2 else 0.0
    power = log(half)
    for step in range(freedom // 2):
        place = first + step
        tail += exp(place * power - half - lgamma(place + 1.0))
    return min(tail, 1.0)
