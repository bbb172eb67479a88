"""Plasma: clouds made by the diamond-square algorithm, for fog."""

from collections.abc import Sequence

import torch
from torch import Tensor


def plasma(size: int, decay: float, generators: Sequence[torch.Generator]) -> Tensor:
    """A map of clouds for each generator, from 0 to 1, cut out of one whose side is 2, 4, 8, ...

    Starting from a single height, points halfway between the known ones get the average of their
    four neighbours and something random, which shrinks by the square of `decay` with each halving.
    The whole map joins up at its edges. Shapes: result (n, size, size).

    >>> clouds = plasma(8, 2.0, [torch.Generator().manual_seed(0)])
    >>> clouds.shape, float(clouds.min()), float(clouds.max())
    (torch.Size([1, 8, 8]), 0.0, 1.0)
    """
    side = 1 << max(1, (size - 1).bit_length())  # a power of two
    shape = (side, side)
    random = torch.stack([2 * torch.rand(shape, generator=g) - 1 for g in generators])
    heights = torch.zeros_like(random)
    step, strength = side, 1.0
    while step >= 2:
        half = step // 2
        corners = heights[:, ::step, ::step]
        centres = _average(corners, corners.roll(-1, 1), corners.roll(-1, 2))
        centres = centres + strength * random[:, half::step, half::step]
        heights[:, half::step, half::step] = centres
        across = (corners + corners.roll(-1, 2) + centres + centres.roll(1, 1)) / 4
        down = (corners + corners.roll(-1, 1) + centres + centres.roll(1, 2)) / 4
        heights[:, ::step, half::step] = across + strength * random[:, ::step, half::step]
        heights[:, half::step, ::step] = down + strength * random[:, half::step, ::step]
        step, strength = half, strength / decay**2
    low, high = heights.amin((1, 2), keepdim=True), heights.amax((1, 2), keepdim=True)
    return ((heights - low) / (high - low))[:, :size, :size]


def _average(corners: Tensor, below: Tensor, right: Tensor) -> Tensor:
    """The average of the four corners of each square."""
    return (corners + below + right + below.roll(-1, 2)) / 4
