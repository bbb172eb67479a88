"""A program run on a mini-batch: every rule's statistic, from few matrix products and gathers.

held     conjunctions x rows    where each distinct conjunction of literals holds
probabilities  rows x class sets      the probability of each distinct set of classes
counts   = held @ probabilities       the expected number of rows of each event
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sqrl._adapt.rule_loss.event_counts import EventCounts
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
    """A program's index arrays on a device; `categories` are the columns that hold no numbers."""

    def __init__(
        self, program: Program, device: torch.device, categories: Collection[str] = ()
    ) -> None:
        self.program, self.device = program, device
        self._literals = TensorLiterals(program, device, categories)
        self._class_sets = torch.tensor(list(program.class_sets), device=device)
        self._is_certain = self._class_sets.all(1)
        counted = sorted(program.counted, key=lambda one: one.statistic)
        self._statistics = _runs([one.statistic for one in counted])
        self._counted = self._ints([one.rule for one in counted])
        events = [[one.body, one.head, one.both, one.all] for one in counted]
        four = [event for group in zip(*events, strict=True) for event in group]
        less = [(place, one.less) for place, one in enumerate(counted) if one.less is not None]
        rest = [event for _, event in less]
        self._event_counts = EventCounts([*four, *rest], self._is_certain.tolist(), device)
        self._events = self._ints(self._event_counts.places(four))
        self._uncounted = self._ints(self._event_counts.places(rest))
        self._lacking = self._ints([place for place, _ in less])
        means = [one for one in program.bounded if one.statistic is not None]
        self._batch = sorted(means, key=lambda one: str(one.statistic))
        self._single = [one for one in program.bounded if one.statistic is None]
        self._of_batch, self._of_single = map(self._bounded_places, (self._batch, self._single))
        self._implied = self._ints([one.rule for one in program.implied])
        self._bodies = self._places([one.body for one in program.implied])
        _, self.implied_classes = self._places([one.kept for one in program.implied])
        self._coverage = self._floats([one.coverage for one in program.implied])
        self._summaries = _runs([str(one.statistic) for one in self._batch])
        self._claimed = torch.cat([self._counted, self._of_batch[0]])
        self._bounds_of_claims = self._bounds([*counted, *self._batch])
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
        return torch.where(self._is_certain, 1.0, made)

    def held(self, rows: TensorRows) -> Tensor:
        """Where each conjunction holds: (conjunctions, n)."""
        return self._literals.conjunctions(rows)

    def claims(
        self, rows: TensorRows, held: Tensor, probabilities: Tensor, conditions: Tensor
    ) -> Claims:
        """The statistics of the mini-batch."""
        values = [*self._count(held, probabilities), *self._summarise(rows, held, conditions)]
        dtype = widest(probabilities, *values)
        value = (
            torch.cat([one.to(dtype) for one in values]) if values else probabilities.new_zeros(0)
        )
        lower, upper = (ends.to(dtype) for ends in self._bounds_of_claims)
        return Claims(self._claimed, value, lower, upper)

    def rules_of_claims(self) -> Tensor:
        """The rule of each claim, in their order."""
        return self._claimed

    def _count(self, held: Tensor, probabilities: Tensor) -> list[Tensor]:
        """Statistics of counts, in groups of the same statistic."""
        if not self._statistics:
            return []
        counts = self._event_counts.count(held, probabilities)
        four = list(counts.index_select(0, self._events).view(4, -1))
        if len(self._lacking):
            uncounted = counts.index_select(0, self._uncounted)
            four[3] = four[3].index_add(0, self._lacking, uncounted, alpha=-1)
        return [_form_of(name)(*(count[part] for count in four)) for name, part in self._statistics]

    def _summarise(self, rows: TensorRows, held: Tensor, conditions: Tensor) -> list[Tensor]:
        """Statistics of values, in groups of the same statistic."""
        if not self._batch:
            return []
        value, weight = self._weighed(rows, held, conditions, self._of_batch)
        return [_form_of(name)(value[part], weight[part]) for name, part in self._summaries]

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
        if not len(self._implied):
            none = probabilities.new_zeros(0)
            return Implications(self._implied, none, none, none, none[None], none[None])
        body, _ = self._bodies
        inside = held[body]
        probability = probabilities.T[self.implied_classes]
        weight = inside.to(probabilities.dtype)
        coverage = self._coverage.to(probabilities.dtype)
        kept = (weight * probability).sum(1)
        return Implications(self._implied, weight.sum(1), kept, coverage, inside, probability)


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
