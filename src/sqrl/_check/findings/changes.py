"""Changes: what the rules of a group say has changed, and how many rows that concerns."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqrl._check.findings.cell_shares import cell_shares
from sqrl._check.findings.groups import Decision, Group
from sqrl._check.null_tests import as_share
from sqrl._check.violations import Violations
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, In, Known, Name, Not

ChangeKind = Literal["missing", "unseen", "range", "distribution", "repeats", "relation", "rule"]
LEANING = 0.75  # how much a moved distribution counts beside rows that can be pointed at


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change, the clearest rule that shows it, all that do, and how much it is.

    `effect` is a share of rows: those concerned, or those that would have to move back.
    """

    kind: ChangeKind
    rules: tuple[int, ...]
    p_value: float
    effect: float
    n_rows: int
    others: tuple["Change", ...] = ()

    @property
    def rule(self) -> int:
        """The clearest rule."""
        return self.rules[0]


def main_change(found: Violations, group: Group, decision: Decision) -> Change:
    """The change that concerns most rows of those that a significant group shows, and the others.

    Missing, unseen and far-off values can be pointed at, and so come before a distribution that
    they have moved.
    """
    limit = max(found.level, decision.limit)
    every = list(_changes(found, group))
    changes = [change for change in every if change.p_value <= limit]
    first = max(changes, key=_weight) if changes else min(every, key=lambda one: one.p_value)
    others = tuple(change for change in changes if change is not first)
    return Change(first.kind, first.rules, first.p_value, first.effect, first.n_rows, others)


def _weight(change: Change) -> tuple[float, float]:
    can_be_seen = change.kind in {"missing", "unseen", "range", "repeats"}
    return change.effect * (1.0 if can_be_seen else LEANING), -change.p_value


def _changes(found: Violations, group: Group) -> Iterator[Change]:
    by_kind: dict[ChangeKind, list[int]] = {}
    for rule in group.rules:
        if not math.isnan(found.p_value[rule]):
            form = found.rules.form(rule)
            kind: ChangeKind = "relation" if group.kind == "relation" else change_kind(form)
            by_kind.setdefault(kind, []).append(rule)
    for kind, rules in by_kind.items():
        ordered = sorted(rules, key=lambda rule: (found.p_value[rule], -measure(found, rule)[0]))
        clear = [rule for rule in ordered if found.p_value[rule] <= found.level] or ordered[:1]
        if kind == "range":  # beyond all that was seen says more than outside the usual
            clear.sort(key=lambda rule: -(found.rules[rule].coverage or 0.0))
        effect, n_rows = measure(found, clear[0])
        p = min(1.0, float(found.p_value[ordered[0]]) * len(rules))
        yield Change(kind, tuple(clear), p, effect, n_rows)


def change_kind(form: Form) -> ChangeKind:
    """What it means for one column that a rule of it is broken."""
    if form.statistic == "repeats":
        return "repeats"
    if is_about_missing(form):
        return "missing"
    if form.given:
        return "rule"
    if form.implies_class:
        says_values = isinstance(form.head, In) or _is_equal(form)
        return "unseen" if says_values else "rule"
    if form.bounds_rows:
        return "range" if len(form.pieces) == 1 else "rule"
    return "distribution"


def _is_equal(form: Form) -> bool:
    return isinstance(form.head, Compare) and form.head.op == "="


def is_about_missing(form: Form) -> bool:
    """Whether a rule says of all rows how often there is a value."""
    parts = (form.head,) if form.implies_class else form.body if form.head is None else ()
    nodes = [node.item if isinstance(node, Not) else node for node in parts]
    return not form.given and len(nodes) == 1 and isinstance(nodes[0], Known)


def column_of(form: Form) -> str | None:
    """The column that a rule about one column's own values bounds; None where it is computed."""
    match form.subject or form.head:
        case Name(name) | In(Name(name), _) | Compare(Name(name), _, _) | Known(Name(name)):
            return name
    return None


def measure(found: Violations, rule: int) -> tuple[float, int]:
    """How much a broken rule shows to have changed, as a share of rows, and how many rows."""
    form = found.rules.form(rule)
    if form.is_single:
        extra = found.broken[rule] - np.nan_to_num(found.expected[rule])
        return max(0.0, float(extra / max(found.n_rows, 1))), int(found.broken[rule])
    shares = cell_shares(found, rule)
    if shares is not None:
        apart = shares.moved()
        return apart, round(apart * float(shares.after.sum()))
    before, after = before_and_after(found, rule)
    if is_about_missing(form):
        n_missing = max((now.n_missing for now in found.columns.values()), default=0)
        name = column_of(form) or _known_column(form)
        if name is not None and name in found.columns:
            n_missing = found.columns[name].n_missing
        return abs(after - before), n_missing
    return _moved(found, rule, form, before, after)


def _known_column(form: Form) -> str | None:
    for node in form.body:
        match node:
            case Known(Name(name)) | Not(Known(Name(name))):
                return name
    return None


def _moved(
    found: Violations, rule: int, form: Form, before: float, after: float
) -> tuple[float, int]:
    """How far a statistic of mini-batches has moved, as a share of rows."""
    if math.isnan(before) or math.isnan(after):
        return 0.0, 0
    apart = abs(after - before)
    if form.statistic in {"mean", "std"}:
        old = found.rules.table["evidence"][rule].as_py()
        deviation = math.sqrt(old[2]) if old and old[2] > 0 else 0.0
        apart = math.erf(apart / deviation / 2 / math.sqrt(2)) if deviation else float(apart > 0)
    apart = min(apart, 1.0)
    return apart, round(apart * found.n_rows)


def missing_before(found: Violations, rule: int) -> float | None:
    """The share of held-out rows without a value, where a rule about that says so."""
    form = found.rules.form(rule)
    if not is_about_missing(form):
        return None
    if form.is_single:
        old = found.rules.table["evidence"][rule].as_py()
        return float(old[1] / old[0]) if old and old[0] else 0.0
    share = before_and_after(found, rule)[0]
    is_reversed = isinstance(form.body[0], Not)
    return None if math.isnan(share) else share if is_reversed else 1.0 - share


def before_and_after(found: Violations, rule: int) -> tuple[float, float]:
    """The statistic of a rule about mini-batches on all held-out rows, and on all rows checked."""
    form = found.rules.form(rule)
    old, new = found.rules.table["evidence"][rule].as_py(), found.evidence.get(rule)
    return _statistic(form, old), _statistic(form, new)


def _statistic(form: Form, evidence: list[float] | None) -> float:
    if not evidence:
        return math.nan
    if form.evidence == "moments":
        return _of_moments(form.statistic or "", evidence) if evidence[0] else math.nan
    if form.evidence == "counts":
        share = as_share(form.statistic or "", np.array([evidence]))
        if share is not None and share[0][0] > 0:
            return float(share[1][0] / share[0][0])
    return math.nan


def _of_moments(statistic: str, evidence: list[float]) -> float:
    """The statistic that evidence of values says; nan where it says no more than a test needs."""
    if statistic == "mean":
        return evidence[1]
    if statistic == "std":
        return math.sqrt(max(evidence[2], 0.0))
    if statistic == "repeats":
        rows = evidence[0] * evidence[3]
        return evidence[4] / rows if rows else math.nan
    return math.nan
