"""Our penalty: expected statistics, and violations in widths of the rule's interval."""

from collections.abc import Callable

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.machine import Implications, kept_share
from sqrl._adapt.rule_loss.penalties.penalty import Penalty

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


def kept_too_rarely(found: Implications, is_kept: Callable[[], Tensor]) -> Tensor:  # noqa: ARG001
    """How far the expected share of rows with an implied class lies below the rule's coverage."""
    share = kept_share(found)
    return excess(share, found.coverage, torch.full_like(share, torch.inf))


EXPECTED = Penalty("expected", outside=excess, implied=kept_too_rarely)
