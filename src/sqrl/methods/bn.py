"""BN: the statistics of the normalisation layers from the test data, and nothing else."""

from sqrl._adapt.objective import Objective


class BN(Objective):
    """BatchNorm layers take their means and variances from the test data; no steps.

    The model's parameters stay as they are, so that models without BatchNorm do not change.
    Nado et al. 2020 and Schneider et al. 2020 found it; the paper's first baseline (Sec. 4.2).

    >>> BN().has_steps, BN().statistics
    (False, 'recomputed')
    """

    statistics = "recomputed"
    has_steps = False
