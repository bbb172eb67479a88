"""The null band: between which shares of broken rows windows like the baseline are, mostly."""

from collections.abc import Sequence

import numpy as np

from sqrl._history.record import CheckRecord, Numbers
from sqrl._kernels.arrays import Floats

BEYOND = 0.01  # of windows, half of them on each side


def null_band(record: CheckRecord, baselines: Sequence[Numbers | None]) -> tuple[Floats, Floats]:
    """The least and the greatest share of broken rows that 99 % of such windows have.

    By a beta distribution of the same mean and variance as what is drawn from the urn, rounded
    outwards to whole rows. Of rules about rows; nan for others, and where either has no rows.

    Shapes: both (n_rules,).
    """
    from scipy.special import betaincinv

    low, high = np.full(len(record.ids), np.nan), np.full(len(record.ids), np.nan)
    places = [
        place
        for place, (layout, before) in enumerate(zip(record.layout, baselines, strict=True))
        if layout == "outcomes" and before is not None and record.applicable[place] > 0
    ]
    if not places:
        return low, high
    before = np.array([baselines[place] for place in places])
    drawn = record.applicable[places].astype(np.float64)
    balls = before[:, 0] + 1.0
    share = (before[:, 1] + 0.5) / balls
    variance = share * (1 - share) / drawn * (balls + drawn) / (balls + 1)
    size = np.maximum(share * (1 - share) / variance - 1.0, 1e-9)
    one, other = share * size, (1 - share) * size
    low[places] = np.floor(betaincinv(one, other, BEYOND / 2) * drawn) / drawn
    high[places] = np.ceil(betaincinv(one, other, 1 - BEYOND / 2) * drawn) / drawn
    return low, high
