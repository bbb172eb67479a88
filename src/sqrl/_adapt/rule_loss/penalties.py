"""What it costs to break rules: ours, and the paper's two. LOSSES is the door: CONTRIBUTING.md."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.machine import Implications
from sqrl._adapt.rule_loss.tensor_statistics import ratio
from sqrl._registry import Registry

SMALLEST = 1e-6  # of what a violation is measured in


def as_given(probabilities: Tensor, slope: float, offset: float) -> Tensor:  # noqa: ARG001
    """The probabilities as the model gives them."""
    return probabilities


@dataclass(frozen=True, slots=True)
class Penalty:
    """What it costs to break rules: one way to make a loss of them.

    `outside(value, lower, upper)`: the cost of a statistic, nan where undefined, with bounds that
    are infinite where open; zero for what holds and for what is undefined.
    `implied(found, is_kept)`: the cost of each rule that implies a class. `is_kept()` computes
    where the likeliest class is one that the rule implies: (rules, rows).
    `counted(probabilities, slope, offset)`: the probabilities of events as statistics count them.
    `only_broken`: the mean is over the rules that cost something, and not over all of them.
    """

    name: str
    outside: Callable[[Tensor, Tensor, Tensor], Tensor]
    implied: Callable[[Implications, Callable[[], Tensor]], Tensor]
    counted: Callable[[Tensor, float, float], Tensor] = as_given
    only_broken: bool = False


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
    share = ratio(found.kept, found.body)
    return excess(share, found.coverage, torch.full_like(share, torch.inf))


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


def distance(value: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """How far a statistic lies from the nearer of its bounds, in its own unit.

    >>> distance(torch.tensor([5.0, 3.0]), torch.zeros(2), torch.full((2,), 4.0)).tolist()
    [1.0, 0.0]
    """
    away = torch.relu(torch.maximum(lower - value, value - upper))
    return torch.where(value.isnan(), 0.0, away)


def sigmoid_step(probability: Tensor, slope: float, offset: float) -> Tensor:
    """The sigmoid of sigmoidF1: 1 / (1 + exp(slope (probability + offset))).

    >>> sigmoid_step(torch.tensor([0.5, 0.6]), -100.0, -0.5).round(decimals=4).tolist()
    [0.5, 1.0]
    """
    return torch.sigmoid(-slope * (probability + offset))


def stepped(probabilities: Tensor, slope: float, offset: float) -> Tensor:
    """The probabilities put through the step; what is certain stays so."""
    made = sigmoid_step(probabilities, slope, offset)
    return torch.where(probabilities == 1, probabilities, made)


def missing_probability(found: Implications, is_kept: Callable[[], Tensor]) -> Tensor:
    """What the implied class lacks to be certain, averaged over rows; 0 where it is likeliest."""
    # PAPER: it gives no loss for rules that imply a class. The distance of the class's
    # probability from 1 where another class is likelier stands for Eq. 4.
    missing = torch.where(found.held & ~is_kept(), 1 - found.probability, 0.0)
    return missing.sum(1) / max(1, found.held.shape[1])


EXPECTED = Penalty("expected", outside=excess, implied=kept_too_rarely)
PAPER = Penalty("paper", outside=paper_penalty, implied=missing_probability, counted=stepped)
# PAPER: the code that its authors released has this in the place of Appendix B's quadratic.
RELEASED = Penalty(
    "released", outside=distance, implied=missing_probability, counted=stepped, only_broken=True
)
LOSSES = Registry("loss", {penalty.name: penalty for penalty in (EXPECTED, PAPER, RELEASED)})
