"""Statistics of `body => head` from four counts: rows in the body, the head, both, and in all.

Each is a numerator over a denominator, undefined (nan) where the denominator is zero, and each is
known to the counting kernel by the same name.
"""

import numpy as np

from sqrl._language.statistics.ratio import ratio
from sqrl._language.statistics.registry import Floats, statistic


@statistic("f1", of="counts")
def f1(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """F1 of the body as a predictor of the head over all rows: 2 both / (body + head).

    >>> f1(np.array([3.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    return ratio(2.0 * both, body + head)


@statistic("f1_given", of="counts")
def f1_given(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """F1 among the rows of the body alone: 2 r / (1 + r) with r = both / body.

    >>> f1_given(np.array([6.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    # PAPER: what the authors' code computes in place of F1; offered for replication only.
    return np.where(body > 0, ratio(2.0 * both, body + both), np.nan)


@statistic("precision", of="counts")
def precision(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of the body's rows that are in the head.

    >>> precision(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    return ratio(both, body)


@statistic("recall", of="counts")
def recall(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of the head's rows that are in the body.

    >>> recall(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.4]
    """
    return ratio(both, head)


@statistic("accuracy", of="counts")
def accuracy(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:
    """The share of rows where body and head agree.

    >>> accuracy(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([10.0])).tolist()
    [0.5]
    """
    return ratio(rows - body - head + 2.0 * both, rows)


@statistic("support", of="counts")
def support(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of rows in both body and head.

    >>> support(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([10.0])).tolist()
    [0.2]
    """
    return ratio(both, rows)


@statistic("lift", of="counts")
def lift(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:
    """How many times more often the head holds in the body than in all rows.

    >>> lift(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([10.0])).tolist()
    [1.0]
    """
    return ratio(both * rows, body * head)
