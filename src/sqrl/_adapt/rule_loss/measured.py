"""Measured: how a mini-batch stands to the rules."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """How a mini-batch stands to the rules.

    Shapes: each has a number for every rule: on how many samples it applies (a mini-batch is one),
    how many of them break it, and how far outside its bounds it is, in widths. With probabilities
    those are expected numbers.
    """

    applicable: Tensor
    broken: Tensor
    excess: Tensor

    @property
    def share(self) -> float:
        """The share of samples that break a rule, on average over the rules that apply."""
        there = self.applicable > 0
        if not bool(there.any()):
            return 0.0
        return float((self.broken[there] / self.applicable[there]).mean())

    @property
    def mean_excess(self) -> float:
        """How far outside their bounds the rules are, in widths, on average over all rules."""
        return float(self.excess.mean()) if self.excess.numel() else 0.0
