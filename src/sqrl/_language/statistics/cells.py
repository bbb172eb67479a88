"""Statistics of how many rows of a mini-batch are in each cell, against those of a reference.

Each takes counts (.., strata, cells) of mini-batches and those of the reference (strata, cells),
and gives one number for each mini-batch: nan where no row counts.
"""

import numpy as np

from sqrl._language.statistics.registry import BatchStatistic, Floats, add, ratio


def distance(counts: Floats, reference: Floats) -> Floats:
    """The total variation distance of shares from those of the reference: 0 the same, 1 apart.

    It is the share of rows that would have to move. Of several strata the mean, weighed by the
    mini-batch's rows in each; a stratum that the reference has no row of does not count.

    >>> distance(np.array([[[8.0, 2.0]], [[0.0, 0.0]]]), np.array([[50.0, 50.0]])).round(3).tolist()
    [0.3, nan]
    """
    known = reference.sum(axis=-1, keepdims=True)
    rows = np.where(known > 0, counts.sum(axis=-1, keepdims=True), 0.0)
    expected = rows * ratio(reference, np.maximum(known, 1.0))
    moved = np.where(rows > 0, np.abs(counts - expected), 0.0).sum(axis=(-2, -1))
    return ratio(0.5 * moved, rows.sum(axis=(-2, -1)))


# Part of the language, as it is of axes and a reference: nobody can register another.
add(
    BatchStatistic(
        name="distance",
        of="cells",
        function=distance,
        reasons={
            "torch": "which cell a row is in has no gradient",
            "sql": "its cells would make a query of thousands of terms",
        },
    )
)
