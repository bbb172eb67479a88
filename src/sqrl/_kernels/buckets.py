"""Groups divided further by cut points of their own."""

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s, frozen
from sqrl._kernels.dispatch import loops

STEPS = 5.0  # of the plain loops for a value and a cut point


def cut_groups(groups: Int64s, values: Floats, cuts: Floats) -> Int64s:
    """The group of each row when every group has a bucket for each of its cut points, and one more.

    Group g becomes g * n_buckets + the number of cut points of g that the value exceeds. A row of
    no group, -1, stays so; a row without a value is in no bucket, unless its group is not cut.

    Shapes: groups and values (n,); cuts (n_groups, n_buckets - 1), nan where there are fewer.
    Cost: a comparison a row and cut point.

    >>> cuts = np.array([[1.0, 2.0], [np.nan, np.nan]])
    >>> cut_groups(np.array([0, 0, 1, 1]), np.array([1.5, np.nan, 9.0, np.nan]), cuts).tolist()
    [1, -1, 3, 3]
    """
    made = np.empty(groups.size, np.int64)
    loops("buckets", STEPS * values.size * (2 + cuts.shape[1])).cut_rows(
        frozen(groups, np.int64),
        frozen(values, np.float64),
        frozen(cuts, np.float64),
        frozen((~np.isnan(cuts)).any(axis=1), np.bool_),
        made,
    )
    return made
