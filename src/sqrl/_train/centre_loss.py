"""CentreLoss: how unlikely a mini-batch's expected rates are around the centres of rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sqrl._adapt.objective import Context
from sqrl._adapt.rule_loss.loss import Names, RuleLoss
from sqrl._adapt.rule_loss.machine import Machine
from sqrl._adapt.rule_loss.named_tensors import Named, read_named
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._language.tree import Name
from sqrl._rules.label import known_label, label_of
from sqrl._rules.ruleset import RuleSet
from sqrl._train.stated import LEAST_SPREAD, Stated, centre_and_spread, read_stated
from sqrl.errors import AdaptError


class CentreLoss(RuleLoss):
    """Squared distance of each expected statistic to its centre, over its variance; their mean.

    The variance of a rate p among n rows of the mini-batch is p (1 - p) / n, and that of the rate
    that the rule states is its spread squared; of a mean it is the variance of what it is the mean
    of, over n, which within a class is the number of rows expected of it. For training: a rule loss
    of bounds (`RuleLoss`) lets go of a rate once it lies between them.

    >>> rules = RuleSet.from_texts(["0.1 <= rate(y = 1) <= 0.4 over 4"], centre=[0.2], spread=[0.1])
    >>> loss = CentreLoss(rules, names=lambda batch, out: {"y": out.softmax(-1)})
    >>> round(float(loss(None, torch.zeros(4, 2))), 4)  # 0.3 ** 2 / (0.2 * 0.8 / 4 + 0.1 ** 2)
    1.8
    """

    def __init__(
        self, rules: RuleSet, names: Names, *, classes: Sequence[Any] | None = None
    ) -> None:
        rules = rules.in_force()
        known = [centre_and_spread(rules, place) for place in range(len(rules))]
        places = [place for place, one in enumerate(known) if one is not None]
        if not places:
            raise AdaptError("No rule has a centre.", fix="learn rules with the schema 'supervise'")
        super().__init__(rules[np.array(places)], names, classes=classes)
        chosen = [known[place] for place in places]
        self._centre = torch.tensor([one[0] for one in chosen if one], dtype=torch.float64)
        spread = torch.tensor([one[1] for one in chosen if one], dtype=torch.float64)
        self._spread = spread.clamp(min=LEAST_SPREAD)
        self._chance = torch.tensor(_chances(self.rules), dtype=torch.float64)
        self._unsure = torch.tensor(_unsure(self.rules), dtype=torch.float64)

    def forward(self, batch: Any, out: Any, context: Context | None = None) -> Tensor:  # noqa: ARG002
        """The mean over the rules of the squared distance over its variance."""
        named = read_named(self.names(batch, out), self._needed)
        machine = self._machine(named)
        rows = TensorRows(named, self.derived)
        held = machine.held(rows)
        sets = machine.probabilities_of_sets(named.probabilities, named.n)
        claims = machine.claims(rows, held, sets, sets)
        n_rows = self._rows_of(machine, held, sets)[claims.rule].to(claims.value.dtype)
        centre, spread, chance, unsure = (
            values.to(claims.value)[claims.rule]
            for values in (self._centre, self._spread, self._chance, self._unsure)
        )
        here = self._variances(machine, rows, chance)
        more = unsure * (here - chance).clamp(min=0).nan_to_num()
        chance = torch.where(chance.isnan(), here, chance + more)
        known = ~claims.value.isnan() & (n_rows > 0)
        distance = torch.where(known, claims.value, centre) - centre
        variance = chance / n_rows.clamp(min=1) + spread**2 + unsure * more
        return (distance**2 / variance).sum() / max(1, len(claims.rule))

    def _variances(self, machine: Machine, rows: TensorRows, chance: Tensor) -> Tensor:
        """The variance of what each mean is of in the mini-batch; in the order of the claims."""
        made = torch.ones(len(self.rules), dtype=chance.dtype, device=chance.device)
        subjects = list(machine.program.subjects)
        for one in machine.program.bounded:
            numbers = rows.numbers(subjects[one.subject])
            values = numbers.values[numbers.known].detach().to(chance)
            if len(values) > 1:
                made[one.rule] = values.var().clamp(min=1e-12)
        return made[machine.rules_of_claims()]

    def _rows_of(self, machine: Machine, held: Tensor, sets: Tensor) -> Tensor:
        """How many rows of the mini-batch each rule's statistic rests on."""
        counts = held.sum(dim=1)
        made = torch.full((len(self.rules),), float(held.shape[1]), device=held.device)
        for one in machine.program.counted:
            if one.statistic in {"precision", "f1_given"}:
                made[one.rule] = counts[one.body.conjunction]
        for mean in machine.program.bounded:
            made[mean.rule] = counts[mean.event.conjunction]
            if machine.program.is_about_label(mean.event):
                inside = held[mean.event.conjunction].to(sets.dtype)
                made[mean.rule] = float((inside @ sets[:, mean.event.classes]).detach())
        return made


def _chances(rules: RuleSet) -> list[float]:
    """The variance of one row: of a rate p it is p (1 - p), of a mean the variance of its rows.

    It is nan for a mean of which no variance is known: that of the mini-batch is taken.
    """
    made = []
    label = label_of(rules)
    subject = None if label is None else Name(label)
    of_label = [
        rule.centre if rule.centre is not None else np.nan
        for place, rule in enumerate(rules)
        if subject is not None and rules.form(place).subject == subject
    ]
    usual = float(np.nanvar(of_label)) if len(of_label) > 1 else 1.0
    for place, rule in enumerate(rules):
        known = centre_and_spread(rules, place)
        assert known is not None
        centre, spread = known
        form = rules.form(place)
        if form.evidence == "moments":
            moments = rule.evidence or []
            is_label = subject is not None and form.subject == subject
            without = (usual or 1.0) if is_label else np.nan
            made.append(max(moments[2], 1e-12) if len(moments) > 2 else without)
        else:
            rate = min(max(centre, 0.0), 1.0)
            made.append(max(rate * (1 - rate), spread**2, 1e-4))
    return made


def _unsure(rules: RuleSet) -> list[float]:
    """How much the variance of all rows counts for that of the rows behind a mean: as one row more.

    A pixel that is black in each of the forty images of a class has no variance there, and may yet
    be white in the next. It is 0 for rates, and for means of the label itself.
    """
    label = label_of(rules)
    made = []
    for place, rule in enumerate(rules):
        form, moments = rules.form(place), rule.evidence or []
        is_mean = form.evidence == "moments" and (label is None or form.subject != Name(label))
        made.append(1.0 / (moments[0] + 1.0) if is_mean and len(moments) > 2 else 0.0)
    return made


def names_of(rules: RuleSet, stated: Stated) -> Names:
    """Names for the usual case: the model's output is the label, all else stands in the table."""
    label = known_label(rules)

    def names(batch: Any, out: Any) -> Mapping[str, Any]:
        columns: Mapping[str, Any] = getattr(batch, "columns", {})
        made = out if isinstance(out, Tensor) else getattr(out, "logits", None)
        if made is None:
            raise AdaptError(
                f"The model gives a {type(out).__name__}: what of it is {label!r} is not clear.",
                fix='say so: names=lambda batch, out: {"label": ..., **batch.columns}',
            )
        return {**columns, label: as_label(made, stated)}

    return names


def as_label(out: Tensor, stated: Stated) -> Tensor:
    """Logits as probabilities of the classes: two of one logit; a number as it is."""
    if stated.is_number:
        return out[..., 0] if out.ndim == 2 else out
    if out.ndim == 1 or out.shape[1] == 1:
        second = out.reshape(-1).sigmoid()
        return torch.stack([1 - second, second], dim=1)
    if out.shape[1] != len(stated.classes):
        raise AdaptError(
            f"The model has {out.shape[1]} outputs, and the rules speak of {len(stated.classes)}"
            " classes.",
            fix=f"give it an output for each of {', '.join(stated.classes[:8])}",
        )
    return out.softmax(-1)


class Facts:
    """The terms of what rules state in mini-batches, whatever loader they come from."""

    def __init__(self, rules: RuleSet, names: Names, classes: Sequence[str] | None) -> None:
        self.stated = read_stated(rules, classes)
        self._loss = RuleLoss(rules, names, classes=self.stated.classes or None)
        self._places: dict[int, list[int]] = {}

    def named(self, batch: Any, out: Any) -> Named:
        """The tensors that rules speak of."""
        return read_named(self._loss.names(batch, out), self._loss._needed)

    def held(self, named: Named) -> Tensor:
        """The terms of each row, as `Stated.held` has them: (n_rows, n_terms)."""
        rows = TensorRows(named, self._loss.derived)
        made = []
        for body in self.stated.bodies:
            truths = [rows.truths(node).true for node in body]
            made.append(torch.stack(truths).all(dim=0).double())
        for expression in self.stated.means.expressions:
            numbers = rows.numbers(expression)
            unknown = torch.full_like(numbers.values, float("nan"))
            made.append(torch.where(numbers.known, numbers.values, unknown).double())
        return torch.stack(made, dim=1)
