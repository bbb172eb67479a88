"""The paper's penalty: Eq. 4 and Appendix B, with the sigmoid of sigmoidF1 for probabilities."""

from collections.abc import Callable

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.machine import Implications
from sqrl._adapt.rule_loss.penalties.penalty import Penalty


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


PAPER = Penalty("paper", outside=paper_penalty, implied=missing_probability, counted=stepped)
