"""Statistics of `body => head` from four counts: rows in the body, the head, both, and in all.

Each is a numerator over a denominator, undefined (nan) where the denominator is zero. Being plain
arithmetic, it runs on tensors and in databases too. `share` is what it rises and falls with, as
(trials, hits).
"""

import numpy as np  # noqa: F401 - for the examples

from sqrl._language.statistics.registry import BatchStatistic, Floats, add, ratio, statistic


@statistic("f1", of="counts", share=lambda body, head, both, _rows: (body + head - both, both))
def f1(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """F1 of the body as a predictor of the head over all rows: 2 both / (body + head).

    >>> f1(np.array([3.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    return ratio(2.0 * both, body + head)


@statistic("f1_given", of="counts", share=lambda body, _head, both, _rows: (body, both))
def f1_given(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """F1 among the rows of the body alone: 2 r / (1 + r) with r = both / body.

    >>> f1_given(np.array([6.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    # PAPER: what the authors' code computes in place of F1; offered for replication only.
    return ratio(2.0 * both, body + both)


@statistic("precision", of="counts", share=lambda body, _head, both, _rows: (body, both))
def precision(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of the body's rows that are in the head.

    >>> precision(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.5]
    """
    return ratio(both, body)


@statistic("recall", of="counts", share=lambda _body, head, both, _rows: (head, both))
def recall(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of the head's rows that are in the body.

    >>> recall(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([9.0])).tolist()
    [0.4]
    """
    return ratio(both, head)


@statistic(
    "accuracy",
    of="counts",
    share=lambda body, head, both, rows: (rows, rows - body - head + 2 * both),
)
def accuracy(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:
    """The share of rows where body and head agree.

    >>> accuracy(np.array([4.0]), np.array([5.0]), np.array([2.0]), np.array([10.0])).tolist()
    [0.5]
    """
    return ratio(rows - body - head + 2.0 * both, rows)


@statistic("support", of="counts", share=lambda _body, _head, both, rows: (rows, both))
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


def rate(body: Floats, head: Floats, both: Floats, rows: Floats) -> Floats:  # noqa: ARG001
    """The share of rows where a formula, the body, holds.

    >>> rate(np.array([4.0]), np.array([4.0]), np.array([4.0]), np.array([10.0])).tolist()
    [0.4]
    """
    return ratio(body, rows)


# Part of the language, as it is of a formula without a head: nobody can register another.
add(
    BatchStatistic(
        name="rate", of="share", function=rate, share=lambda body, _head, _both, rows: (rows, body)
    )
)
