"""Division that knows when it is undefined."""

import numpy as np

from sqrl._language.statistics.registry import Floats


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Numerator / denominator, nan where the denominator is zero.

    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    undefined = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))
