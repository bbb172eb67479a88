"""Whether to adapt at all, and by which rules: looked at before the first step, without a label.

Rules of 98 % are broken by 2 % of good data, and rules that imply a class by as much as true labels
break on held-out rows. A model that breaks them no more often has nothing to be mended, and steps
that follow such breaks would only follow chance. Rules whose own columns have drifted, or that the
truth breaks, are no guide: those are left out, and where too few are left, or too few rows are
there to tell, nothing is done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from sqrl._adapt.conditions import Conditions, joined, names_needed, remembered_conditions
from sqrl._adapt.number_drift import NumberDrift, find_number_drift
from sqrl._adapt.rule_loss.named_tensors import Named
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._adapt.runner import Loaded
from sqrl._adapt.second_opinion import SecondOpinion, form_opinion
from sqrl._adapt.setup import Work
from sqrl._adapt.standings import Stand, weigh
from sqrl._adapt.table_drift import Counted, TableDrift, find_drift, possible_move
from sqrl._rows.rows import category_text
from sqrl.report._wording import counted

FEWEST_KEPT = 0.2  # of the rules that the model can change
HALF = 0.5
NO_MATTER = 0.02  # of the balance of classes
MOST_CLASSES = 12  # whose order is looked at, two by two
ALL_THE_SAME = "pass trust_rules=True to adapt all the same"


@dataclass(frozen=True, slots=True, eq=False)
class GateResult:
    """What was found of one set of rules on all rows looked at."""

    is_open: bool
    ending: str = ""
    alarm: str = ""
    fix: str = f"; or {ALL_THE_SAME}"
    warning: str = ""  # of something that does not keep from adapting
    notes: tuple[str, ...] = ()
    stand: Stand | None = None
    opinion: SecondOpinion | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """The rows of mini-batches as one set of rules names them, with what the source says."""

    term: Any
    named: Named
    moving: frozenset[str]


class Gate:
    """Looks at rows with the source's outputs, and sets how far each rule is relied on."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.terms = _rule_losses(work)
        self._moving: dict[int, frozenset[str]] = {}
        self.why = ""  # nothing was done, the last time

    @property
    def is_known(self) -> bool:
        """Whether there are rules that can be looked at: other guards only measure."""
        return bool(self.terms)

    @property
    def n_wanted(self) -> int:
        """How many rows it takes to tell."""
        return max((term.largest_size for term in self.terms), default=1)

    def read(self, loaded: Loaded) -> list[Named]:
        """A mini-batch as each set of rules names it, with the model's outputs as it is now."""
        if not self._moving:
            with torch.enable_grad():
                out = self._work.runner(loaded)
            for place, term in enumerate(self.terms):
                named = term.read(loaded.batch, out)
                self._moving[place] = frozenset(named.with_gradient())
        out = self._work.runner.probe(loaded) if loaded.number == 1 else None
        out = self._work.runner.predict(loaded) if out is None else out
        with torch.no_grad():
            return [term.read(loaded.batch, out, names_needed(term.rules)) for term in self.terms]

    def look(self, parts: Sequence[list[Named]]) -> bool:
        """Whether to adapt, by rows read before; sets the standing of each rule, and says why."""
        work, results = self._work, []
        for place, term in enumerate(self.terms):
            named = joined([part[place] for part in parts])
            results.append(examine(Looked(term, named, self._moving[place])))
        for result in results:
            self._tell(result)
        is_trusted = work.options.trust_rules
        for term, result in zip(self.terms, results, strict=True):
            is_used = not is_trusted or result.alarm
            term.standing = result.stand.standing if result.stand and is_used else None
            if work.guard is not None and not is_trusted:
                work.guard.opinions[id(term)] = result.opinion
        is_refused = any(one.alarm for one in results)
        is_open = is_trusted or (any(one.is_open for one in results) and not is_refused)
        endings = [one.ending for one in results if one.ending]
        self.why = "" if is_open else next(iter(endings), "Nothing was done.")
        return is_open

    def _tell(self, result: GateResult) -> None:
        """Keep what a reader should know, and what is to be warned of."""
        diary = self._work.diary
        for note in result.notes:
            diary.note(note)
        if result.warning:
            diary.alarm(result.warning)
        if result.alarm:
            diary.alarm(f"{result.alarm}{'' if self._work.options.trust_rules else result.fix}.")


def is_open(work: Work, batches: Iterable[Any]) -> bool:
    """Whether to adapt to these mini-batches, all of whose rows are looked at.

    True where there are no rules to go by: without a guard, and under one of a user's own.
    """
    gate = Gate(work)
    if not gate.is_known:
        return True
    is_open = gate.look([gate.read(loaded) for loaded in work.runner.load(batches)])
    work.diary.ending = gate.why
    return is_open


def examine(looked: Looked) -> GateResult:
    """What all rows say of one set of rules."""
    term, named = looked.term, looked.named
    still = term.unmoved(named, looked.moving)
    if len(still) == len(term.rules):  # the loss says why, and raises
        return GateResult(is_open=True)
    if named.n < term.largest_size:
        return GateResult(
            is_open=False,
            ending="Nothing was done: there are too few rows to tell whether rules can be relied"
            " on.",
            alarm=f"Whether the rules can be relied on cannot be told: there are {named.n:,} rows,"
            f" and rules are about mini-batches of {term.largest_size:,}; give more rows, or learn"
            " rules about fewer",
        )
    classes = term.class_values(named) if named.label else []
    conditions = _given(
        remembered_conditions(term.rules, label=named.label, classes=classes, moving=looked.moving),
        named,
    )
    rows = TensorRows(named, term.derived)
    truths = conditions.truths(rows)
    drift = find_drift(conditions, Counted.of(truths))
    numbers = find_number_drift(
        term.rules, rows, label=named.label, classes=classes, balance=drift.likeliest
    )
    label = (named.label, classes) if named.label else None
    stand = weigh(term, conditions, drift, still=still, classes=label)
    term.standing = stand.standing
    try:
        return _decide(looked, conditions, truths, drift, numbers, stand, still, classes)
    finally:
        term.standing = None


def _decide(
    looked: Looked,
    conditions: Conditions,
    truths: Any,
    drift: TableDrift,
    numbers: NumberDrift,
    stand: Stand,
    still: Sequence[int],
    classes: Sequence[Any],
) -> GateResult:
    term, named = looked.term, looked.named
    n_asked = len(term.rules) - len(still)
    share, tolerated = term.measure_named(named).share, term.tolerated_share
    notes = [*stand.reasons, *_balance_note(drift, named.label, classes)]
    if not len(conditions) and not numbers.n_compared:
        notes.append(
            "Whether the columns that the rules speak of have drifted cannot be told: the rules"
            " do not know how often their conditions held."
        )
    closed = partial(GateResult, is_open=False, notes=tuple(notes))
    if stand.broken > HALF:
        return closed(
            ending="Nothing was done: the rules are broken by true labels.",
            alarm=f"True labels of held-out rows break {stand.broken:.0%} of the rules too often."
            " A model adapted to such rules gets worse; learn rules that held-out rows keep",
        )
    if alarm := _changed(drift, numbers):
        return closed(ending="Nothing was done: the table has changed too much.", alarm=alarm)
    assert drift.drifted is not None
    if stand.n_kept < max(1, FEWEST_KEPT * n_asked):
        return closed(
            ending="Nothing was done: too few rules can be relied on.",
            alarm=f"Of {counted(n_asked, 'rule')} only {stand.n_kept:,} can be relied on in these"
            " rows; give the rules columns that are right",
        )
    if share <= max(tolerated, stand.truly_broken):
        known = f"the {tolerated:.1%} that chance would break"
        if stand.truly_broken > tolerated:
            known = f"the {stand.truly_broken:.1%} that true labels of held-out rows may break"
        return closed(
            ending=f"Nothing was done: {share:.1%} of what rules apply to break them, no more than"
            f" {known}.",
            stand=stand,
        )
    ambiguous = possible_move(conditions, drift, truths) if drift.drifted else 0.0
    if ambiguous > NO_MATTER:
        names = ", ".join(sorted(drift.drifted))
        return closed(
            ending="Nothing was done: whether columns are wrong or rows are others cannot be told.",
            alarm=f"{names} drifted, and nothing else: if what is recorded is wrong, the rules"
            " about other columns still hold; if the rows themselves are of another kind, the"
            f" balance of classes may have moved by {ambiguous:.0%}, and they do not. That cannot"
            " be told",
            fix="; if the columns are wrong, pass trust_rules=True to go by the other rules",
            stand=stand,
        )
    warning = _order_warning(term, named, classes)
    opinion = None
    if drift.before is not None:
        assert drift.likeliest is not None
        usable = conditions.without(drift.drifted)
        kept = truths[[not one.columns & drift.drifted for one in conditions.remembered]]
        opinion = form_opinion(usable, kept, drift.likeliest, has_moved=drift.has_moved)
    return GateResult(
        is_open=True, warning=warning, notes=tuple(notes), stand=stand, opinion=opinion
    )


def _changed(drift: TableDrift, numbers: NumberDrift) -> str:
    """What to say where the rows are others than those behind the rules; else empty."""
    if drift.drifted is None:
        return (
            "The table has changed: how often the rules' conditions hold is explained neither by"
            " another balance of classes nor by a few columns that have drifted. A model adapted"
            " to rules about wrong columns gets worse; give the rules columns that are right"
        )
    if numbers.moved:
        return (
            f"The table has changed: {numbers.tell()}. A model adapted to rules about wrong columns"
            " gets worse; give the rules columns that are right"
        )
    return ""


def _rule_losses(work: Work) -> list[Any]:
    """The sets of rules that steps and the guard go by, each once."""
    if work.guard is None:
        return []
    own = [term for weight, term in work.objective.rule_terms() if weight > 0]
    found = {id(term): term for term in [*(term for _, term in work.guard.terms), *own]}
    return [term for term in found.values() if hasattr(term, "measure_named")]


def _given(conditions: Conditions, named: Named) -> Conditions:
    """The conditions about columns that the names function gives."""
    there = {*named.numbers, *named.categories}
    gone = {name for one in conditions.remembered for name in one.columns} - there
    return conditions.without(frozenset(gone))


def _balance_note(drift: TableDrift, label: str | None, classes: Sequence[Any]) -> list[str]:
    if not drift.may_have_moved or drift.drifted is None:
        return []
    assert drift.now is not None
    assert drift.before is not None
    assert drift.errors is not None
    most = int(abs(drift.now - drift.before).argmax())
    verb = "has changed" if drift.has_moved else "may have changed"
    bounds = "were moved with it" if drift.has_moved else "allow for both"
    return [
        f"The balance of classes {verb}: {label} = {category_text(classes[most])} in about"
        f" {drift.now[most]:.0%} of the rows (standard error {100 * drift.errors[most]:.1f}"
        f" points), {drift.before[most]:.0%} before. Bounds of rules {bounds}."
    ]


def _order_warning(term: Any, named: Named, classes: Sequence[Any]) -> str:
    """What to say where two classes in each other's place would break rules far less."""
    n_classes = 0 if named.probabilities is None else named.probabilities.shape[1]
    if named.probabilities is None or n_classes > MOST_CLASSES:
        return ""
    now = term.measure_named(named)
    for one in range(n_classes):
        for other in range(one):
            order = list(range(n_classes))
            order[one], order[other] = other, one
            tried = replace(named, probabilities=named.probabilities[:, order])
            swapped = term.measure_named(tried)
            fewer = swapped.share < HALF * now.share
            if fewer and swapped.mean_excess < HALF * now.mean_excess:
                texts = [category_text(classes[place]) for place in order]
                return (
                    f"The classes may be in another order: with {texts[other]} and {texts[one]} in"
                    f" each other's place the model would break {swapped.share:.0%} of what rules"
                    f" apply to, and not {now.share:.0%}. If so, say"
                    f" RuleLoss(..., classes={texts})."
                )
    return ""
