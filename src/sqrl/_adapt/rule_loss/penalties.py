"""How much a statistic outside its bounds costs: ours, and the paper's.

Both take a statistic, nan where undefined, and bounds that are infinite where open, and give zero
for what holds and for what is undefined.
"""

import torch
from torch import Tensor

SMALLEST = 1e-6  # of what a violation is measured in


def excess(value: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """How far outside its bounds a statistic lies, in widths of the interval.

    An interval without a width (one-sided, or one point) is measured in the size of its bound, or
    in ones where that is zero.

    >>> excess(torch.tensor([5.0, 3.0]), torch.zeros(2), torch.full((2,), 4.0)).tolist()
    [0.25, 0.0]
    """
    # PAPER: Eq. 4 and Appendix B measure in the statistic's own unit and clip at 1, so that rules
    # of large scale outweigh others and far violations have no gradient.
    away = torch.relu(torch.maximum(lower - value, value - upper))
    return torch.where(value.isnan(), 0.0, away / scale_of(lower, upper))


def scale_of(lower: Tensor, upper: Tensor) -> Tensor:
    """What a violation is measured in: the interval's width, else the size of its bound, else 1.

    >>> inf = torch.inf
    >>> scale_of(torch.tensor([1.0, -inf, 0.0]), torch.tensor([3.0, 9.0, 0.0])).tolist()
    [2.0, 9.0, 1.0]
    """
    width = upper - lower
    sizes = torch.stack([lower, upper]).abs()
    size = torch.where(sizes.isinf(), 0.0, sizes).amax(0)
    size = torch.where(size > SMALLEST, size, 1.0)
    return torch.where((width > SMALLEST) & ~width.isinf(), width, size)


def paper_penalty(value: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The paper's loss: Eq. 4 for one bound, the quadratic of Appendix B for two, at most 1.

    >>> paper_penalty(torch.tensor([2.0]), torch.tensor([2.5]), torch.tensor([torch.inf])).tolist()
    [0.5]
    >>> paper_penalty(torch.tensor([2.0]), torch.tensor([2.5]), torch.tensor([3.0])).tolist()
    [0.5]
    """
    has_lower, has_upper = ~lower.isinf(), ~upper.isinf()
    below = torch.where(has_lower, lower, 0.0) - value
    above = torch.where(has_upper, upper, 0.0) - value
    one_sided = torch.where(has_lower, below, torch.where(has_upper, -above, 0.0))
    cost = torch.where(has_lower & has_upper, below * above, one_sided)
    return torch.where(value.isnan(), 0.0, torch.relu(cost).clamp(max=1))


def sigmoid_step(chance: Tensor, slope: float, offset: float) -> Tensor:
    """The sigmoid of sigmoidF1: 1 / (1 + exp(slope (chance + offset))).

    >>> sigmoid_step(torch.tensor([0.5, 0.6]), -100.0, -0.5).round(decimals=4).tolist()
    [0.5, 1.0]
    """
    return torch.sigmoid(-slope * (chance + offset))
