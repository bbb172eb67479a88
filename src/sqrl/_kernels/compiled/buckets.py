"""Compiled loop: groups divided by cut points."""

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._kernels.compiled.jit import kernel


@kernel
def cut_rows(groups: Int64s, values: Floats, cuts: Floats, is_cut: Bools, made: Int64s) -> None:
    """Make the group of each row, with each group divided by its cut points.

    Shapes: groups, values and made (n,); cuts (n_groups, n_cuts), is_cut (n_groups,).
    """
    n_cuts = cuts.shape[1]
    for row in range(values.size):
        group, value = groups[row], values[row]
        if group < 0 or (np.isnan(value) and is_cut[group]):
            made[row] = -1
            continue
        bucket = 0
        for index in range(n_cuts):  # no early exit: it could not be predicted
            bucket += int(value > cuts[group, index])
        made[row] = group * (n_cuts + 1) + bucket
