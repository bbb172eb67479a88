"""The guard keeps a state if rules are broken less on mini-batches held out. No labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sqrl._adapt.objective import Objective
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._adapt.runner import Loaded, Runner, is_finite
from sqrl._adapt.second_opinion import LESS_BY_SOURCE, Expected, SecondOpinion, expected_auc
from sqrl._adapt.steps import ModelState, Steps
from sqrl.errors import AdaptError

EQUAL = 1e-6  # relative; a smaller difference is rounding in single precision, not a fall


@dataclass(frozen=True, slots=True)
class Breakage:
    """The share of rules' samples that break them, and by how many widths on average.

    `expected` is how good predictions are if labels are as the rules themselves say of each row;
    `auc_by_source` their AUC if labels are as the source says, corrected to the rules' rates, which
    is computed where the class balance has changed. None where rules say nothing of single rows.
    """

    share: float
    excess: float
    expected: Expected | None = None
    auc_by_source: float | None = None


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

        A model that meets the rates may separate the classes less well than before.
        """
        before, after = self.before.expected, self.after.expected
        is_worse = before is not None and after is not None and after.is_worse_than(before)
        return is_worse or self.ranks_worse

    @property
    def is_better(self) -> bool:
        """Whether rules are broken less, and predictions are expected to be better for it."""
        return self.has_fallen and not self.is_worse and self.is_worth_it

    @property
    def is_worth_it(self) -> bool:
        """Whether the expected gain is large enough to act on.

        On a few thousand rows chance alone moves accuracy by half a point, and what rules say of
        each row is an estimate.
        """
        before, after = self.before.expected, self.after.expected
        return before is None or after is None or after.is_worth(before)

    @property
    def ranks_worse(self) -> bool:
        """Whether rows are ranked clearly worse, by the source's predictions as the truth."""
        before, after = self.before.auc_by_source, self.after.auc_by_source
        return before is not None and after is not None and after < before - LESS_BY_SOURCE


class Guard:
    """Measures how far a model breaks rules, before steps and after."""

    def __init__(self, runner: Runner, terms: Sequence[tuple[float, Any]]) -> None:
        self._runner, self.terms = runner, terms
        self.opinions: dict[int, SecondOpinion | None] = {}  # by the id of a term

    def measure(self, held: Sequence[Loaded], nearest: Tensor | None = None) -> Breakage:
        """The averages over mini-batches; outputs that are not finite count as infinitely bad.

        `nearest` is what `nearest_to_source` gave of the same mini-batches.
        """
        pairs: list[tuple[Tensor, Tensor]] = []
        found = [self._measure_one(loaded, pairs) for loaded in held]
        expected = by_source = None
        if pairs and all(math.isfinite(one.excess) for one in found):
            predicted, said = (torch.cat(side) for side in zip(*pairs, strict=True))
            expected = Expected.of(predicted, said)
            by_source = None if nearest is None else expected_auc(predicted, nearest)
        return Breakage(
            fmean(one.share for one in found),
            fmean(one.excess for one in found),
            expected,
            by_source,
        )

    def nearest_to_source(self, held: Sequence[Loaded]) -> Tensor | None:
        """The predictions nearest to those of the model as it is that have the rules' rates.

        None where rules say nothing of single rows, or where the class balance is as before: then
        the model's inputs are wrong, and its ranking is no reference. Shapes: (rows of all
        mini-batches, classes).
        """
        said: list[list[Tensor]] = []  # of each term, for each mini-batch
        for _, term in self.terms:
            opinion = self.opinions.get(id(term))
            if opinion is None:
                continue
            if not opinion.has_moved:
                return None
            own, truths = [], []
            for loaded in held:
                predicted, rows = _read(term, opinion, loaded, self._runner.predict(loaded))
                own.append(predicted)
                truths.append(opinion.conditions.truths(rows))
            nearest = opinion.nearest_to(torch.cat(own), np.concatenate(truths, axis=1))
            said.append(list(torch.split(nearest, [len(one) for one in own])))
        parts = [one for of_batch in zip(*said, strict=True) for one in of_batch]
        return torch.cat(parts) if parts else None

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
                predicted, rows = _read(term, opinion, loaded, out)
                pairs.append((predicted, opinion.probabilities(rows)))
        return Breakage(share, excess)

    def compare(self, held: Sequence[Loaded], steps: Steps, before: ModelState) -> Decision:
        """The state before against the state now, on the same mini-batches."""
        after = self.measure(held)
        now = steps.take()
        steps.restore(before)
        earlier = self.measure(held)
        steps.restore(now)
        return Decision(earlier, after)


def _read(term: Any, opinion: SecondOpinion, loaded: Loaded, out: Any) -> tuple[Tensor, TensorRows]:
    """The predicted probabilities of a mini-batch, and its rows as the opinion needs them."""
    with torch.no_grad():
        named = term.read(loaded.batch, out, opinion.names)
    assert named.probabilities is not None
    return named.probabilities.double().cpu(), TensorRows(named, term.derived)


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
