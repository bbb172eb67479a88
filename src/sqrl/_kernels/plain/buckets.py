"""Groups divided by cut points, by numpy."""

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s


def cut_rows(groups: Int64s, values: Floats, cuts: Floats, is_cut: Bools, made: Int64s) -> None:
    """Make the group of each row, with each group divided by its cut points."""
    bucket = np.zeros(groups.size, np.int64)
    for cut in cuts.T:
        bucket += values > cut[groups]
    missing = np.isnan(values)
    if missing.any():
        missing &= is_cut[groups]
    made[:] = np.where((groups < 0) | missing, -1, groups * (cuts.shape[1] + 1) + bucket)
