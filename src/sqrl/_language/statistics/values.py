"""Statistics of the values that an expression takes on a mini-batch's rows.

Each takes (mini-batches, rows) with nan where a row does not count and gives one number for each
mini-batch: nan where no row counts, and where infinite values leave it undefined. Their twins on
tensors are in `_adapt/rule_loss/tensor_statistics.py`; the SQL that takes several steps is in
`export/_batch_rules.py`.
"""

import numpy as np

from sqrl._language.statistics.registry import Floats, ratio, statistic


@statistic("mean", sql="avg(value)")
def mean(values: Floats) -> Floats:
    """The mean of each mini-batch.

    >>> mean(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.where(present, values, 0.0).sum(axis=-1)
    return ratio(total, present.sum(axis=-1).astype(np.float64))


@statistic("std")
def std(values: Floats) -> Floats:
    """The standard deviation of each mini-batch, of the rows as they are (divided by n).

    >>> std(np.array([[1.0, 3.0, np.nan]])).tolist()
    [1.0]
    """
    with np.errstate(invalid="ignore", over="ignore"):
        away = values - mean(values)[..., np.newaxis]
        return np.asarray(np.sqrt(mean(away * away)))


@statistic("min", sql="min(value)")
def minimum(values: Floats) -> Floats:
    """The smallest value of each mini-batch.

    >>> minimum(np.array([[1.0, 3.0, np.nan]])).tolist()
    [1.0]
    """
    return np.asarray(np.fmin.reduce(values, axis=-1, initial=np.nan))


@statistic("max", sql="max(value)")
def maximum(values: Floats) -> Floats:
    """The largest value of each mini-batch.

    >>> maximum(np.array([[1.0, 3.0, np.nan]])).tolist()
    [3.0]
    """
    return np.asarray(np.fmax.reduce(values, axis=-1, initial=np.nan))


@statistic("median")
def median(values: Floats) -> Floats:
    """The median of each mini-batch.

    >>> median(np.array([[1.0, 3.0, 9.0, np.nan], [1.0, 2.0, np.nan, np.nan]])).tolist()
    [3.0, 1.5]
    """
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered = np.sort(values, axis=-1)  # nan goes last
    present = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    lower = np.maximum(present - 1, 0) // 2
    upper = np.minimum(present // 2, values.shape[-1] - 1)
    middle = np.concatenate([lower, upper], axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.take_along_axis(ordered, middle, axis=-1).mean(axis=-1))


@statistic(
    "repeats",
    no_torch="a value repeats another or does not: it has no gradient",
    sql="(count(value) - count(DISTINCT value)) * 1.0 / count(value)",
)
def repeats(values: Floats) -> Floats:
    """The share of rows whose value another row of the mini-batch has before them.

    >>> repeats(np.array([[1.0, 3.0, 1.0, np.nan], [np.nan] * 4])).round(3).tolist()
    [0.333, nan]
    """
    ordered = np.sort(values, axis=-1)  # nan goes last, and equals nothing
    again = (ordered[..., 1:] == ordered[..., :-1]).sum(axis=-1)
    return ratio(again.astype(np.float64), (~np.isnan(values)).sum(axis=-1).astype(np.float64))
