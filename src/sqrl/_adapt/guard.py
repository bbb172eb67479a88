"""The guard keeps a state if rules are broken less on mini-batches held out. No labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sqrl._adapt.expected import Expected, Gain
from sqrl._adapt.objective import Objective
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._adapt.runner import Loaded, Runner, is_finite
from sqrl._adapt.second_opinion import SecondOpinion
from sqrl._adapt.steps import ModelState, Steps
from sqrl.errors import AdaptError

EQUAL = 1e-6  # relative; a smaller difference is rounding in single precision, not a fall


@dataclass(frozen=True, slots=True)
class Breakage:
    """The share of rules' samples that break them, and by how many widths on average.

    `expected` is how good predictions are if labels are as the rules themselves say of each row;
    None where they say nothing of single rows.
    """

    share: float
    excess: float
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What the guard goes by: the same mini-batches measured before and after.

    `gains` are what predictions gain by each opinion that was asked, and `own` what they would if
    the source's were the truth.
    """

    before: Breakage
    after: Breakage
    gains: tuple[Gain, ...] = ()
    own: Gain | None = None

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
        return before is not None and after is not None and after.is_worse_than(before)

    @property
    def is_better(self) -> bool:
        """Whether rules are broken less, and by every opinion that is worth it and surely no harm.

        On a few thousand rows chance alone moves accuracy by half a point, and what rules say of
        each row is an estimate.
        """
        agreed = all(one.is_worth_it and one.is_sure for one in self.gains)
        return self.has_fallen and agreed and self.keeps_ranking

    @property
    def keeps_ranking(self) -> bool:
        """Whether rows stay ranked as by the source, unless opinions agree on a better score.

        A source that is too certain can be mended as it ranks them. Opinions that see no more to
        gain may know too little of single rows to rank them anew.
        """
        is_raised = all(one.raises_score for one in self.gains)
        return self.own is None or is_raised or self.own.keeps_ranking


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Predictions on the rows of mini-batches, and what was measured of them."""

    breakage: Breakage
    predicted: Tensor | None  # (rows, classes); None where no opinion is asked, or not finite


class Guard:
    """Measures how far a model breaks rules, before steps and after."""

    def __init__(self, runner: Runner, terms: Sequence[tuple[float, Any]]) -> None:
        self._runner, self.terms = runner, terms
        self.opinions: dict[int, SecondOpinion | None] = {}  # by the id of a term

    @property
    def has_opinion(self) -> bool:
        """Whether rules say something of single rows."""
        return any(self.opinions.get(id(term)) is not None for _, term in self.terms)

    def measure(self, held: Sequence[Loaded]) -> Breakage:
        """The averages over mini-batches; outputs that are not finite count as infinitely bad."""
        said: list[Tensor] = []
        read = self.read(held, said)
        if read.predicted is None:
            return read.breakage
        return replace(read.breakage, expected=Expected.of(read.predicted, torch.cat(said)))

    def read(self, held: Sequence[Loaded], said: list[Tensor] | None = None) -> Read:
        """What is measured of mini-batches, with predictions; opinions are put to `said`."""
        predicted: list[Tensor] = []
        found = [self._measure_one(loaded, predicted, said) for loaded in held]
        share, excess = fmean(one.share for one in found), fmean(one.excess for one in found)
        is_known = predicted and math.isfinite(excess)
        return Read(Breakage(share, excess), torch.cat(predicted) if is_known else None)

    def judges(self, held: Sequence[Loaded]) -> tuple[Tensor, ...]:
        """The probabilities by which results are judged, the model being the source.

        What rules alone say of each row, and the predictions nearest to the source's that have
        their rates; none where rules say nothing of single rows. Shapes: each (rows of all
        mini-batches, classes).
        """
        found: list[list[tuple[Tensor, Tensor]]] = []  # of each term, for each mini-batch
        for _, term in self.terms:
            opinion = self.opinions.get(id(term))
            if opinion is None:
                continue
            own, truths, said = [], [], []
            for loaded in held:
                predicted, rows = _read(term, opinion, loaded, self._runner.predict(loaded))
                own.append(predicted)
                truths.append(opinion.conditions.truths(rows))
                said.append(opinion.of_truths(truths[-1]))
            nearest = opinion.nearest_to(torch.cat(own), np.concatenate(truths, axis=1))
            parts = torch.split(nearest, [len(one) for one in own])
            found.append(list(zip(said, parts, strict=True)))
        pairs = [pair for of_batch in zip(*found, strict=True) for pair in of_batch]
        return tuple(torch.cat(side) for side in zip(*pairs, strict=True))

    def _measure_one(
        self, loaded: Loaded, read: list[Tensor], said: list[Tensor] | None
    ) -> Breakage:
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
                read.append(predicted)
                if said is not None:
                    said.append(opinion.probabilities(rows))
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
