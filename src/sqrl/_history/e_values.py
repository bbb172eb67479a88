"""E-values: how many times likelier the rows of one window are after a change than without one.

An e-value is nonnegative, and its mean without a change is at most 1; so is that of a product of
e-values of windows, each against what came before it (decision 25). A change is of unknown size:
each window has an e-value for every size in `SHIFTS`, in standard errors of one window. All are
natural logs, 0 where a window says nothing.
"""

import numpy as np

from sqrl._kernels.arrays import Bools, Floats

SHIFTS = np.array([0.25, 0.5, 1.0, 2.0, 4.0])
SHIFTS.flags.writeable = False
LEAST_P = 1e-300
NO_BALL = 0.01  # in the place of none, of which an urn would have no distribution


def share_evidence(rows: Floats, hits: Floats, new_rows: Floats, new_hits: Floats) -> Floats:
    """Log e-values for a share that is higher in new rows than it was in the rows before.

    Without a change the number of new hits is beta-binomial: an urn with hits + 1 balls of one kind
    and rows - hits of the other, whose tails are the p-values of Fisher's exact test. The change is
    another urn with as many balls, whose share is so many standard deviations higher.

    Shapes: all (n,), result (n, shifts).

    >>> one = [np.array([x]) for x in (1000.0, 20.0, 100.0, 9.0)]
    >>> share_evidence(*one).round(2).tolist()
    [[0.94, 1.72, 2.92, 4.44, 5.57]]
    """
    is_known = (rows > 0) & (new_rows > 0)
    hit, miss = hits + 1.0, np.maximum(rows - hits, NO_BALL)
    drawn, drawn_hits = np.where(is_known, new_rows, 1.0), np.where(is_known, new_hits, 0.0)
    balls = hit + miss
    share = hit / balls
    deviation = np.sqrt(share * (1 - share) / drawn * (balls + drawn) / (balls + 1))
    moved = share[:, None] + SHIFTS * deviation[:, None]
    moved = np.minimum(moved, (1 + share[:, None]) / 2)  # there is no share above 1
    columns = [x[:, None] for x in (hit, miss, balls, drawn, drawn_hits)]
    hit, miss, balls, drawn, drawn_hits = columns
    after = _log_draws(moved * balls, (1 - moved) * balls, drawn, drawn_hits)
    return np.where(is_known[:, None], after - _log_draws(hit, miss, drawn, drawn_hits), 0.0)


def _log_draws(hit: Floats, miss: Floats, drawn: Floats, drawn_hits: Floats) -> Floats:
    """The log probability of draws from an urn, but for what depends on its size alone."""
    from scipy.special import gammaln

    hits = gammaln(hit + drawn_hits) - gammaln(hit)
    return np.asarray(hits + gammaln(miss + drawn - drawn_hits) - gammaln(miss))


def normal_evidence(z: Floats) -> Floats:
    """Log e-values for a z-value that is higher than a standard normal variable.

    Shapes: z (n,), result (n, shifts); nan says nothing.

    >>> normal_evidence(np.array([3.0, np.nan])).round(2).tolist()
    [[0.72, 1.38, 2.5, 4.0, 4.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    return np.where(np.isnan(z)[:, None], 0.0, z[:, None] * SHIFTS - SHIFTS**2 / 2)


def either_way(z: Floats) -> Floats:
    """Log e-values for a z-value that is further from 0, on whichever side.

    The mean of the e-values for both sides, so that its sign does not matter.

    >>> (either_way(np.array([3.0])) == either_way(np.array([-3.0]))).all()
    np.True_
    """
    return np.asarray(np.logaddexp(normal_evidence(z), normal_evidence(-z)) - np.log(2.0))


def z_of(p: Floats, rises: Bools) -> Floats:
    """The z-value of a two-sided p-value and its direction; nan where it is.

    >>> z_of(np.array([0.05, 1.0]), np.array([False, True])).round(2).tolist()
    [-1.96, -0.0]
    """
    from scipy.special import ndtri

    size = -ndtri(np.maximum(p, LEAST_P) / 2)
    return np.asarray(np.where(rises, size, -size))


def e_bh(log_e: Floats, level: float) -> Bools:
    """Which hypotheses to reject so that the expected share of false ones is at most `level`.

    Benjamini-Hochberg with e-values, whatever their dependence: the k largest, for the largest k
    such that each is at least n / (level k).

    >>> e_bh(np.log([900.0, 70.0, 25.0, 3.0]), 0.05).tolist()
    [True, True, False, False]
    """
    order = np.argsort(-log_e, kind="stable")
    passes = log_e[order] >= np.log(log_e.size / level) - np.log(np.arange(1, log_e.size + 1))
    rejected = np.zeros(log_e.shape, np.bool_)
    if passes.any():
        rejected[order[: int(np.flatnonzero(passes)[-1]) + 1]] = True
    return rejected
