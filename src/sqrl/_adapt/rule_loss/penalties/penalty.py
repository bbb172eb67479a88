"""Penalty: what it costs to break rules. The rule loss is its mean over the rules."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from sqrl._adapt.rule_loss.machine import Implications


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
    """

    name: str
    outside: Callable[[Tensor, Tensor, Tensor], Tensor]
    implied: Callable[[Implications, Callable[[], Tensor]], Tensor]
    counted: Callable[[Tensor, float, float], Tensor] = as_given
