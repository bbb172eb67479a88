"""The guard: are rules broken less on mini-batches that the steps have not used? No labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from sqrl._adapt.objective import Objective
from sqrl._adapt.runner import Loaded, Runner, is_finite
from sqrl._adapt.steps import State, Steps
from sqrl.errors import AdaptError

EQUAL = 1e-6  # relative; a smaller difference is rounding in single precision, not a fall


@dataclass(frozen=True, slots=True)
class Measure:
    """The share of rules' samples that break them, and by how many widths on average."""

    share: float
    excess: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was measured on the same mini-batches before and after."""

    before: Measure
    after: Measure

    @property
    def has_fallen(self) -> bool:
        """Whether rules are broken less than before; equal is not less, nan is not either.

        >>> Verdict(Measure(0.1, 0.2), Measure(0.1, 0.2)).has_fallen
        False
        """
        return self.after.excess < self.before.excess * (1 - EQUAL)


class Guard:
    """Measures a model by rules."""

    def __init__(self, runner: Runner, judges: Sequence[tuple[float, Any]]) -> None:
        self._runner, self.judges = runner, judges

    def measure(self, held: Sequence[Loaded]) -> Measure:
        """The averages over mini-batches; outputs that are not finite count as infinitely bad."""
        found = [self._measure_one(loaded) for loaded in held]
        return Measure(fmean(one.share for one in found), fmean(one.excess for one in found))

    def _measure_one(self, loaded: Loaded) -> Measure:
        out = self._runner.predict(loaded)
        if not is_finite(out):  # rules would take nan for a missing value, and not apply
            return Measure(1.0, math.inf)
        total = sum(weight for weight, _ in self.judges)
        share = excess = 0.0
        for weight, judge in self.judges:
            measured = judge.measure(loaded.batch, out)
            share += weight / total * float(measured.share)
            excess += weight / total * float(measured.mean_excess)
        return Measure(share, excess)

    def compare(self, held: Sequence[Loaded], steps: Steps, before: State) -> Verdict:
        """The state before against the state now, on the same mini-batches."""
        after = self.measure(held)
        now = steps.take()
        steps.restore(before)
        earlier = self.measure(held)
        steps.restore(now)
        return Verdict(earlier, after)


def find_judges(objective: Objective, guard: Any) -> list[tuple[float, Any]]:
    """Who judges: the objective's own rules (guard=True or "step"), those given, or nobody."""
    if guard is False or guard is None:
        return []
    if guard is True or guard == "step":
        return [(weight, judge) for weight, judge in objective.judges() if weight > 0]
    if not hasattr(guard, "measure"):
        raise AdaptError(
            f"A {type(guard).__name__} cannot judge.",
            where="guard=",
            fix="pass True, False, 'step' or a sqrl.RuleLoss",
        )
    return [(1.0, guard)]
