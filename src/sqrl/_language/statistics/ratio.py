"""Division that knows when it is undefined."""

from typing import Any

import numpy as np

from sqrl._language.statistics.arithmetic import Symbol
from sqrl._language.statistics.registry import Floats


def ratio(numerator: Any, denominator: Any) -> Floats:
    """Numerator / denominator, nan where the denominator is zero.

    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    if isinstance(numerator, Symbol) or isinstance(denominator, Symbol):
        formula: Floats = numerator / denominator
        return formula
    undefined = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))
