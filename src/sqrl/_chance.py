"""How often chance alone would break a rule, and which rules are broken beyond that.

A bound learned from n samples is itself random. If new samples come from where the old ones came
from, the number of m new ones outside a bound at an order statistic is beta-binomial in n and m,
whatever the distribution; a plain binomial would forget that the bound may be off. Rules of
mini-batches and of classes are compared with what held-out rows said of them.
"""

import numpy as np
from numpy.typing import NDArray

from sqrl._quantiles import BoundMethod
from sqrl._stats import count_statistic, statistic_kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
FEWEST = 10.0  # rows of a kind on each side, below which a normal approximation is not trusted


def outside_spacings(support: Ints, method: BoundMethod) -> tuple[Floats, Floats]:
    """How many of the n + 1 gaps between n sorted samples lie outside the bounds.

    The first is what is expected (a bound between two samples cuts a gap), the second the whole
    number that is not less: with it the p-value is sure not to be too small.

    >>> from sqrl._schema import BoundOptions
    >>> method = BoundMethod(0.02, True, True, BoundOptions())
    >>> [float(x[0]) for x in outside_spacings(np.array([101]), method)]
    [4.0, 4.0]
    """
    ranks = method.ranks(int(support.max(initial=0)))
    known = ranks.rank_lo[support] >= 0
    expected, whole = np.zeros(support.shape), np.zeros(support.shape)
    if method.has_lower:
        place = ranks.rank_lo[support] + ranks.frac_lo[support]
        expected += place + 1
        whole += np.ceil(place) + 1
    if method.has_upper:
        place = ranks.rank_hi[support] + ranks.frac_hi[support]
        expected += support - place
        whole += support - np.floor(place)
    return np.where(known, expected, np.nan), np.where(known, whole, np.nan)


def outside_by_chance(
    broken: Ints, applicable: Ints, support: Ints, method: BoundMethod
) -> tuple[Floats, Floats]:
    """The expected number of broken rows, and the chance of at least as many as there are.

    Exact under exchangeability; nan where the bound has no support.

    >>> from sqrl._schema import BoundOptions
    >>> method = BoundMethod(0.02, True, True, BoundOptions())
    >>> expected, p = outside_by_chance(np.array([9]), np.array([100]), np.array([999]), method)
    >>> float(expected[0].round(3)), float(p[0].round(5))
    (2.196, 0.00085)
    """
    from scipy.stats import betabinom

    expected, whole = outside_spacings(support, method)
    inside = support + 1 - whole
    possible = (whole > 0) & (inside > 0) & (applicable > 0)
    p = np.where(np.isnan(whole), np.nan, 1.0)
    p[possible] = betabinom.sf(
        broken[possible] - 1, applicable[possible], whole[possible], inside[possible]
    )
    return applicable * expected / (support + 1), p


def worst_piece(p: Floats, piece_of: Ints, n_rules: int) -> Floats:
    """The p-value of each rule: that of its worst piece, times the number of its pieces."""
    pieces = np.bincount(piece_of, minlength=n_rules)
    least = np.full(n_rules, np.nan)
    order = np.argsort(p, kind="stable")[::-1]
    least[piece_of[order]] = p[order]  # the smallest is written last
    return np.minimum(least * np.maximum(pieces, 1), 1.0)


def class_by_chance(seen: tuple[float, float], new: tuple[float, float]) -> tuple[float, float]:
    """Expected broken rows and p-value of a class rule from (body, broken) held out and new.

    Fisher's exact test: given how many are broken in all, the new ones are a draw without
    replacement.

    >>> expected, p = class_by_chance((100.0, 2.0), (100.0, 9.0))
    >>> round(expected, 2), round(p, 4)
    (2.0, 0.0291)
    """
    from scipy.stats import hypergeom

    (body, broken), (new_body, new_broken) = seen, new
    if body == 0 or new_body == 0:
        return (new_body * broken / body if body else float("nan")), float("nan")
    p = hypergeom.sf(new_broken - 1, body + new_body, broken + new_broken, new_body)
    return new_body * broken / body, float(p)


def moments_by_chance(seen: list[float], new: list[float]) -> float:
    """The two-sided p-value of a difference of means from (rows, mean, variance) on both sides."""
    from scipy.stats import norm

    (n, mean, variance), (m, new_mean, new_variance) = seen, new
    if min(n, m) < FEWEST:
        return float("nan")
    error = np.sqrt(variance / n + new_variance / m)
    if error == 0:
        return 1.0 if mean == new_mean else 0.0
    return float(2 * norm.sf(abs(mean - new_mean) / error))


def counts_by_chance(statistic: str, seen: list[float], new: list[float]) -> float:
    """The two-sided p-value of a difference of a statistic of counts, held out against new.

    Rows fall into four cells: both, body alone, head alone, neither. The statistic is a smooth
    function of the cells' shares, so that its difference is normal with a variance that its
    gradient gives (the delta method), at the shares of all rows together.
    """
    from scipy.stats import norm

    cells, new_cells = _cells(seen), _cells(new)
    n, m = cells.sum(), new_cells.sum()
    pooled = cells + new_cells
    if min(n, m) < FEWEST or min(pooled[0] + pooled[1], pooled[2] + pooled[3]) < FEWEST:
        return float("nan")
    values = [_statistic(statistic, part / part.sum()) for part in (cells, new_cells)]
    share = pooled / pooled.sum()
    gradient = _gradient(statistic, share)
    variance = (share * gradient**2).sum() - (share * gradient).sum() ** 2
    error = np.sqrt(max(variance, 0.0) * (1 / n + 1 / m))
    if np.isnan(values).any() or np.isnan(error):
        return float("nan")
    if error == 0:
        return 1.0 if values[0] == values[1] else 0.0
    return float(2 * norm.sf(abs(values[0] - values[1]) / error))


def _cells(counts: list[float]) -> Floats:
    body, head, both, rows = counts
    return np.array([both, body - both, head - both, rows - body - head + both])


def _statistic(name: str, share: Floats) -> float:
    both, body, head = share[0], share[0] + share[1], share[0] + share[2]
    if statistic_kind(name) == "share":
        return float(body)
    arguments = [np.array([value]) for value in (body, head, both, share.sum())]
    return float(count_statistic(name)(*arguments)[0])


def _gradient(name: str, share: Floats) -> Floats:
    """How the statistic changes with each cell's share, by central differences."""
    step = 1e-6
    gradient = np.zeros(4)
    for cell in range(4):
        change = np.zeros(4)
        change[cell] = min(step, share[cell]) if share[cell] > 0 else 0.0
        if change[cell] == 0.0:
            continue
        up, down = _statistic(name, share + change), _statistic(name, share - change)
        gradient[cell] = (up - down) / (2 * change[cell])
    return gradient


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
