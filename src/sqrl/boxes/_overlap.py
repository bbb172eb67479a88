"""overlap: the intersection over union of boxes."""

import numpy as np
from numpy.typing import NDArray

from sqrl._data.formats.boxes import SIDES
from sqrl._data.table import Table

Floats = NDArray[np.float64]


def sides_of(boxes: Table) -> Floats:
    """The boxes as an array with a row each: left, top, right, bottom."""
    return np.stack([boxes[side].values for side in SIDES], axis=1).astype(np.float64)


def overlap(boxes: Floats, others: Floats, *, of_first: bool = False) -> Floats:
    """The intersection over union of each box with each other one, or over the box alone.

    Shapes: boxes (n, 4), others (m, 4), result (n, m). Two boxes without an area overlap by 0.

    >>> overlap(np.array([[0, 0, 2, 2]]), np.array([[1, 0, 3, 2], [5, 5, 6, 6]])).tolist()
    [[0.3333333333333333, 0.0]]
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    inner = np.clip(high - low, 0, None).prod(axis=2).astype(np.float64)
    first, second = areas(boxes), areas(others)
    whole = first[:, None] + (0 if of_first else second[None, :] - inner)
    found: Floats = np.divide(inner, whole, out=np.zeros_like(inner), where=whole > 0)
    return found


def areas(boxes: Floats) -> Floats:
    """The area of each box."""
    sizes: Floats = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).astype(np.float64)
    return np.asarray(sizes.prod(axis=1))
