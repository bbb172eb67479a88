"""A program run on a mini-batch: every rule's statistic, from two matrix products and few gathers.

held     conjunctions x rows    where each distinct conjunction of literals holds
probabilities  rows x class sets      the probability of each distinct set of classes
counts   = held @ probabilities       the expected number of rows of each event
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.literals import TensorLiterals
from sqrl._adapt.rule_loss.program import Bounded, Counted, Event, Program
from sqrl._adapt.rule_loss.tensor_rows import TensorRows, wide, widest
from sqrl._adapt.rule_loss.tensor_statistics import TensorStatistic, tensor_form


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Statistics of the mini-batch, nan where undefined, and the bounds of the rules about them."""

    rule: Tensor
    value: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Values of single rows, and how much each counts: (pieces, rows); bounds of the pieces."""

    rule: Tensor
    value: Tensor
    weight: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Implications:
    """Rows in the body, expected rows that keep the rule, and (rules, rows) for each row."""

    rule: Tensor
    body: Tensor
    kept: Tensor
    coverage: Tensor
    held: Tensor
    probability: Tensor


class Machine:
    """A program's index arrays on a device."""

    def __init__(self, program: Program, device: torch.device) -> None:
        self.program, self.device = program, device
        self._literals = TensorLiterals(program, device)
        self._class_sets = torch.tensor(list(program.class_sets), device=device)
        counted = sorted(program.counted, key=lambda one: one.statistic)
        self._statistics = [one.statistic for one in counted]
        self._bounds_of_counts = self._bounds(counted)
        self._counted = self._ints([one.rule for one in counted])
        groups = zip(*((one.body, one.head, one.both, one.all) for one in counted), strict=True)
        events = [self._places(group) for group in groups]
        less = [(place, one.less) for place, one in enumerate(counted) if one.less is not None]
        events.append(self._places([event for _, event in less]))
        conjunctions = [conjunction for conjunction, _ in events]
        self._used, where = torch.unique(torch.cat(conjunctions), return_inverse=True)
        width = len(self._class_sets)
        *self._events, self._uncounted = [
            place * width + classes
            for place, (_, classes) in zip(
                where.split([len(some) for some in conjunctions]), events, strict=True
            )
        ]
        self._lacking = self._ints([place for place, _ in less])
        means = [one for one in program.bounded if one.statistic is not None]
        self._batch = sorted(means, key=lambda one: str(one.statistic))
        self._single = [one for one in program.bounded if one.statistic is None]
        self._of_batch, self._of_single = map(self._bounded_places, (self._batch, self._single))
        self._implied = self._ints([one.rule for one in program.implied])
        self._bodies = self._places([one.body for one in program.implied])
        _, self.implied_classes = self._places([one.kept for one in program.implied])
        self._coverage = self._floats([one.coverage for one in program.implied])
        self._bounds_of_batch = self._bounds(self._batch)
        self._bounds_of_single = self._bounds(self._single)
        self._subjects = list(program.subjects)

    def _ints(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.device)

    def _floats(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=wide(self.device), device=self.device)

    def _bounds(self, rules: Sequence[Counted | Bounded]) -> tuple[Tensor, Tensor]:
        return (
            self._floats([rule.lower for rule in rules]),
            self._floats([rule.upper for rule in rules]),
        )

    def _places(self, events: Sequence[Event]) -> tuple[Tensor, Tensor]:
        return (
            self._ints([event.conjunction for event in events]),
            self._ints([event.classes for event in events]),
        )

    def _bounded_places(self, rules: list[Bounded]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            self._ints([one.rule for one in rules]),
            self._ints([one.subject for one in rules]),
            *self._places([one.event for one in rules]),
        )

    def probabilities_of_sets(self, probabilities: Tensor | None, n: int) -> Tensor:
        """The probability of each set of classes on each row: (n, sets)."""
        if probabilities is None:
            return torch.ones((n, len(self._class_sets)), device=self.device)
        made = probabilities @ self._class_sets.to(probabilities.dtype).T
        # All classes together are certain, whatever rounding says, and have no gradient.
        return torch.where(self._class_sets.all(1), torch.ones_like(made), made)

    def held(self, rows: TensorRows) -> Tensor:
        """Where each conjunction holds: (conjunctions, n)."""
        return self._literals.conjunctions(rows)

    def claims(
        self, rows: TensorRows, held: Tensor, probabilities: Tensor, conditions: Tensor
    ) -> Claims:
        """The statistics of the mini-batch."""
        values = [*self._count(held, probabilities), *self._summarise(rows, held, conditions)]
        rule = self.rules_of_claims()
        dtype = widest(probabilities, *values)
        value = (
            torch.cat([one.to(dtype) for one in values]) if values else probabilities.new_zeros(0)
        )
        both = zip(self._bounds_of_counts, self._bounds_of_batch, strict=True)
        lower, upper = (torch.cat(ends).to(dtype) for ends in both)
        return Claims(rule, value, lower, upper)

    def rules_of_claims(self) -> Tensor:
        """The rule of each claim, in their order."""
        return torch.cat([self._counted, self._of_batch[0]])

    def _count(self, held: Tensor, probabilities: Tensor) -> list[Tensor]:
        """Statistics of counts, in groups of the same statistic."""
        if not self._statistics:
            return []
        used = held if len(self._used) == len(held) else held[self._used]
        # As bytes: torch makes numbers of booleans four times as slowly.
        counts = sum_where(used.view(torch.uint8).to(probabilities.dtype), probabilities).flatten()
        four = [counts.index_select(0, place) for place in self._events]
        if len(self._lacking):
            uncounted = counts.index_select(0, self._uncounted)
            four[3] = four[3].index_add(0, self._lacking, uncounted, alpha=-1)
        return [
            _form_of(name)(*(count[part] for count in four))
            for name, part in _runs(self._statistics)
        ]

    def _summarise(self, rows: TensorRows, held: Tensor, conditions: Tensor) -> list[Tensor]:
        """Statistics of values, in groups of the same statistic."""
        if not self._batch:
            return []
        value, weight = self._weighed(rows, held, conditions, self._of_batch)
        names = [str(one.statistic) for one in self._batch]
        return [_form_of(name)(value[part], weight[part]) for name, part in _runs(names)]

    def pieces(self, rows: TensorRows, held: Tensor, conditions: Tensor) -> Pieces:
        """The values of single rows."""
        value, weight = self._weighed(rows, held, conditions, self._of_single)
        lower, upper = (ends.to(value.dtype) for ends in self._bounds_of_single)
        return Pieces(self._of_single[0], value, weight, lower, upper)

    def _weighed(
        self,
        rows: TensorRows,
        held: Tensor,
        conditions: Tensor,
        places: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Values and weights (rules, rows); what is unknown has no weight."""
        _, subject, conjunction, classes = places
        if not len(subject):
            empty = conditions.new_zeros((0, rows.named.n))
            return empty, empty
        numbers = [rows.numbers(node) for node in self._subjects]
        dtype = widest(conditions, *(one.values for one in numbers))
        values = torch.stack([one.values.to(dtype) for one in numbers])[subject]
        known = torch.stack([one.known for one in numbers])[subject]
        weight = (held[conjunction] & known) * conditions.T[classes]
        return values, weight.to(dtype)

    def implications(self, held: Tensor, probabilities: Tensor) -> Implications:
        """The rules that imply classes."""
        body, _ = self._bodies
        inside = held[body]
        probability = probabilities.T[self.implied_classes]
        weight = inside.to(probabilities.dtype)
        coverage = self._coverage.to(probabilities.dtype)
        kept = (weight * probability).sum(1)
        return Implications(self._implied, weight.sum(1), kept, coverage, inside, probability)


class _SumWhere(torch.autograd.Function):
    """A matrix product whose left side needs no gradient.

    There are few class sets: the usual gradient, (rows x rules) @ (rules x sets), is several times
    slower than (sets x rules) @ (rules x rows), which is the same.
    """

    @staticmethod
    def forward(ctx: Any, held: Tensor, probabilities: Tensor) -> Tensor:
        """The sum of each column of probabilities over the rows that each line of `held` has."""
        ctx.save_for_backward(held)
        return held @ probabilities

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """The gradient of the probabilities."""
        (held,) = ctx.saved_tensors
        return None, (gradients[0].T.contiguous() @ held).T


def sum_where(held: Tensor, probabilities: Tensor) -> Tensor:
    """The sum of each column of probabilities (rows, sets) over the rows of each line of held.

    >>> sum_where(torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.25], [0.5]])).tolist()
    [[0.25], [0.75]]
    """
    made: Tensor = _SumWhere.apply(held, probabilities)  # type: ignore[no-untyped-call]
    return made


def _form_of(name: str) -> TensorStatistic:
    """The statistic on tensors, which a program only names where there is one."""
    form = tensor_form(name)
    assert form is not None
    return form


def _runs(names: Sequence[str]) -> list[tuple[str, slice]]:
    """The runs of equal names.

    >>> _runs(["a", "a", "b"])
    [('a', slice(0, 2, None)), ('b', slice(2, 3, None))]
    """
    runs: list[tuple[str, slice]] = []
    for place, name in enumerate(names):
        if runs and runs[-1][0] == name:
            runs[-1] = name, slice(runs[-1][1].start, place + 1)
        else:
            runs.append((name, slice(place, place + 1)))
    return runs
