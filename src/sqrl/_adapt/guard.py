"""The guard keeps a state if rules are broken less on mini-batches held out. No labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.objective import Objective
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._adapt.runner import Loaded, Runner, is_finite
from sqrl._adapt.second_opinion import Expected, SecondOpinion
from sqrl._adapt.steps import ModelState, Steps
from sqrl.errors import AdaptError

EQUAL = 1e-6  # relative; a smaller difference is rounding in single precision, not a fall


@dataclass(frozen=True, slots=True)
class Breakage:
    """The share of rules' samples that break them, and by how many widths on average.

    `expected` is how good predictions are if labels are as the rules themselves say of each row,
    None where they do not say it.
    """

    share: float
    excess: float
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the guard goes by: the same mini-batches measured before and after."""

    before: Breakage
    after: Breakage

    @property
    def has_fallen(self) -> bool:
        """Whether rules are broken less than before; equal is not less, nan is not either.

        >>> Decision(Breakage(0.1, 0.2), Breakage(0.1, 0.2)).has_fallen
        False
        """
        return self.after.excess < self.before.excess * (1 - EQUAL)

    @property
    def is_worse(self) -> bool:
        """Whether predictions are worse, by what the rules themselves say of each row.

        Rates can be met by a model that tells rows apart less well than before.
        """
        before, after = self.before.expected, self.after.expected
        return before is not None and after is not None and after.is_worse_than(before)


class Guard:
    """Measures how far a model breaks rules, before steps and after."""

    def __init__(self, runner: Runner, terms: Sequence[tuple[float, Any]]) -> None:
        self._runner, self.terms = runner, terms
        self.opinions: dict[int, SecondOpinion | None] = {}  # by the id of a term

    def measure(self, held: Sequence[Loaded]) -> Breakage:
        """The averages over mini-batches; outputs that are not finite count as infinitely bad."""
        pairs: list[tuple[Tensor, Tensor]] = []
        found = [self._measure_one(loaded, pairs) for loaded in held]
        expected = None
        if pairs and all(math.isfinite(one.excess) for one in found):
            expected = Expected.of(*(torch.cat(side) for side in zip(*pairs, strict=True)))
        return Breakage(
            fmean(one.share for one in found), fmean(one.excess for one in found), expected
        )

    def _measure_one(self, loaded: Loaded, pairs: list[tuple[Tensor, Tensor]]) -> Breakage:
        out = self._runner.predict(loaded)
        if not is_finite(out):  # rules would take nan for a missing value, and not apply
            return Breakage(1.0, math.inf)
        total = sum(weight for weight, _ in self.terms)
        share = excess = 0.0
        for weight, term in self.terms:
            measured = term.measure(loaded.batch, out)
            share += weight / total * float(measured.share)
            excess += weight / total * float(measured.mean_excess)
            opinion = self.opinions.get(id(term))
            if opinion is not None:
                with torch.no_grad():
                    named = term.read(loaded.batch, out, opinion.names)
                    assert named.probabilities is not None
                    said = opinion.probabilities(TensorRows(named, term.derived))
                pairs.append((named.probabilities.double().cpu(), said))
        return Breakage(share, excess)

    def compare(self, held: Sequence[Loaded], steps: Steps, before: ModelState) -> Decision:
        """The state before against the state now, on the same mini-batches."""
        after = self.measure(held)
        now = steps.take()
        steps.restore(before)
        earlier = self.measure(held)
        steps.restore(now)
        return Decision(earlier, after)


def guard_terms(objective: Objective, guard: Any) -> list[tuple[float, Any]]:
    """The rules a guard measures by, with weights: the objective's own, those given, or none."""
    if guard is False or guard is None:
        return []
    if guard is True or guard == "step":
        return [(weight, term) for weight, term in objective.rule_terms() if weight > 0]
    if not hasattr(guard, "measure"):
        raise AdaptError(
            f"A {type(guard).__name__} cannot be a guard.",
            where="guard=",
            fix="pass True, False, 'step' or a sqrl.RuleLoss",
        )
    return [(1.0, guard)]
