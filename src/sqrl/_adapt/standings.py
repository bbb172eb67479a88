"""Rule by rule: which hold in the rows at hand, what each weighs, and where its bounds are now."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import beta
from torch import Tensor

from sqrl._adapt.conditions import Conditions
from sqrl._adapt.rule_loss.standing import Standing
from sqrl._adapt.rule_loss.tensor_statistics import tensor_form
from sqrl._adapt.table_drift import TableDrift
from sqrl._check.p_values import Background
from sqrl._language.forms import Form
from sqrl._language.kinds import KINDS
from sqrl._language.tree import Number
from sqrl._rows.rows import category_text
from sqrl._rules.label import class_of
from sqrl._rules.needed_columns import columns_of
from sqrl.report._wording import counted

MANY_BROKEN = 0.1  # of what a rule applies to on held-out rows, by true labels
SURE = 0.95  # of an upper limit for what true labels break
WIDENED = 1.0  # standard errors of a class's share that bounds allow for
FAR = 5.0  # standard errors of a condition from what is expected: then it has no weight left


@dataclass(frozen=True, slots=True, eq=False)
class Stand:
    """The standing of a set of rules, and in words why some were left out."""

    standing: Standing
    reasons: tuple[str, ...]
    broken: float  # the share of rules that held-out labels break, of those that say so
    n_kept: int
    truly_broken: float = 0.0  # what true labels may break of rules that are kept; 0 if not known


def weigh(
    loss: Any, conditions: Conditions, drift: TableDrift, *, still: Sequence[int], classes: Any
) -> Stand:
    """The standing of each rule.

    Left out are rules that nothing changes which the model says (`still`), that held-out rows break
    by their true labels, that name a drifted column, or whose own condition is far from what is
    expected. The others weigh the more, the more held-out rows keep them and the nearer their
    condition is.
    """
    rules, forms, label = loss.rules, loss.forms, _label(drift, classes)
    background, statistics = Background.of(rules), rules.statistics()
    names = [columns_of([form], statistics) for form in forms]
    weights = torch.ones(len(forms), dtype=torch.float64)
    lower, upper, truly = (torch.zeros_like(weights) for _ in range(3))
    weights[list(still)] = 0.0
    untrue, drifted, far, unsure = [], [], [], []
    for index, form in enumerate(forms):
        if not weights[index]:
            continue
        evidence = background.fair_evidence(index, form)
        kept = _share_kept(form, evidence)
        truly[index] = _share_broken(form, evidence)
        distance = 0.0
        if index in conditions.of_rule:
            distance = float(drift.distance[conditions.of_rule[index]])
        weights[index] = kept * max(0.0, 1 - (distance / FAR) ** 2)
        if kept < 1 - MANY_BROKEN:
            untrue.append(index)
        elif names[index] & (drift.drifted or frozenset()):
            drifted.append(index)
        elif abs(distance) >= FAR:
            far.append(index)
        elif form.implies_class and drift.may_have_moved:
            unsure.append(index)
        elif KINDS[form.kind].evidence == "counts" and label is not None:
            lower[index], upper[index] = _moves(form, evidence, drift, *label)
    for some in (untrue, drifted, far, unsure):
        weights[some] = 0.0
    reasons = [
        f"{counted(len(some), 'rule')} {'was' if len(some) == 1 else 'were'} left out: {why}, such"
        f" as {rules[some[0]].text}"
        for some, why in (
            (untrue, "true labels of held-out rows break them too often"),
            (drifted, f"they name {_listed(drift.drifted)}, which drifted"),
            (far, "their conditions hold far more or less often than they did"),
            (unsure, "they imply a class, and the balance of classes may have changed"),
        )
        if some
    ]
    asked = len(forms) - len(still)
    return Stand(
        Standing(weights, lower, upper),
        tuple(reasons),
        len(untrue) / asked if asked else 0.0,
        int((weights > 0).sum()),
        float((weights * truly).sum() / weights.sum()) if weights.any() else 0.0,
    )


def _listed(names: frozenset[str] | None) -> str:
    return ", ".join(sorted(names or ()))


def _label(drift: TableDrift, classes: Any) -> tuple[str, dict[str, int]] | None:
    """The label's name and the places of its classes, where their balance may have changed."""
    if not drift.may_have_moved or not classes:
        return None
    name, values = classes
    return name, {category_text(value): place for place, value in enumerate(values)}


def _share_kept(form: Form, evidence: list[float] | None) -> float:
    """The share of held-out rows that keep the rule; of one about counts, whether those do."""
    if evidence is None:
        return 1.0
    if form.is_single:
        applicable, broken = evidence[:2]
        return 1 - broken / applicable if applicable else 1.0
    if KINDS[form.kind].evidence == "counts":
        statistic = tensor_form(form.statistic or "")
        body, head, both, n = evidence[:4]
        value = _statistic(statistic, body, head, both, n, 1.0, 1.0) if statistic else math.nan
        lower, upper = form.pieces[0].lower, form.pieces[0].upper
        is_outside = any(
            isinstance(end, Number) and sign * value < sign * end.value
            for end, sign in ((lower, 1), (upper, -1))
        )
        return float(not is_outside)
    return 1.0


def _share_broken(form: Form, evidence: list[float] | None) -> float:
    """The share of what a rule that implies a class applies to, that true labels may break.

    An upper limit (Clopper and Pearson's) by held-out rows: that none of three breaks a rule shows
    little.
    """
    if evidence is None or not form.implies_class:
        return 0.0
    applicable, broken = evidence[:2]
    return float(beta.ppf(SURE, broken + 1, applicable - broken)) if broken < applicable else 1.0


def _moves(
    form: Form,
    evidence: list[float] | None,
    drift: TableDrift,
    label: str,
    places: dict[str, int],
) -> tuple[float, float]:
    """How far the bounds move: to hold for every class balance that cannot be excluded.

    Where a class has another share, the rows of it that are in the body have too. The rule's
    statistic is computed from counts at both ends of what its share may be.
    """
    head = class_of((form.head,), label) if form.head is not None else None
    statistic = tensor_form(form.statistic or "")
    if evidence is None or statistic is None or head not in places or form.given:
        return 0.0, 0.0
    assert drift.now is not None
    assert drift.before is not None
    assert drift.errors is not None
    body, in_head, both, n = evidence
    before = drift.before[places[head]]
    now, error = drift.now[places[head]], WIDENED * drift.errors[places[head]]
    ends = np.clip([now - error, now + error], 0.2 * before, 1 - 0.2 * (1 - before))
    found = [_statistic(statistic, body, in_head, both, n, 1.0, 1.0)]
    for share in ends:
        inside, outside = share / before, (1 - share) / (1 - before)
        found.append(_statistic(statistic, body, in_head, both, n, inside, outside))
    moved = [value - found[0] for value in found[1:]]
    if not np.isfinite(moved).all():
        return 0.0, 0.0
    if not drift.has_moved:  # it may be the one remembered: bounds allow for both
        moved.append(0.0)
    return min(moved), max(moved)


def _statistic(
    form: Any, body: float, head: float, both: float, n: float, inside: float, outside: float
) -> float:
    """The statistic of counts, rows of the class weighed by `inside`, the others by `outside`."""
    counts = (
        both * inside + (body - both) * outside,
        head * inside,
        both * inside,
        head * inside + (n - head) * outside,
    )
    made: Tensor = form(*(torch.tensor([count], dtype=torch.float64) for count in counts))
    return float(made)
