"""Findings: what has changed, in a few sentences, with the rules as evidence.

Rules that name the same columns are tested together, and Benjamini-Hochberg decides which groups
have changed. Then causes are looked for: the column that has changed most is taken first, what it
explains is its evidence, and so on. What no column explains is a changed relation between columns.
Facts that need no test (a column is gone, or holds no value, or something else than it did) come
first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from sqrl._check.columns_now import ColumnNow
from sqrl._check.findings import finding_words as words
from sqrl._check.findings.blame import order_by_blame
from sqrl._check.findings.changes import Change, main_change
from sqrl._check.findings.exchanged import exchanged_with
from sqrl._check.findings.explain_by_copies import (
    copied_rows,
    explained_by_copies,
    share_of_repeats,
)
from sqrl._check.findings.explain_by_weights import explained_groups
from sqrl._check.findings.groups import Decision, Group, decide, make_groups, rules_by_column
from sqrl._check.violations import Violations

FindingKind = Literal[
    "missing",
    "unseen",
    "range",
    "distribution",
    "relation",
    "rule",
    "repeats",
    "gone",
    "type",
    "unchecked",
]
MOST_EXPLAINING = 5  # columns that are put back on their training distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that has changed, in a sentence, with its evidence.

    `columns` has the one it is about first. `rules` are the places of the rules behind it, the
    clearest first. `effect` is a share from 0 to 1: of rows concerned, or how far the shares of a
    distribution have moved. `n_rows` are rows concerned, of a distribution about as many as moved.
    `p_value` is None for plain facts.
    """

    kind: FindingKind
    columns: tuple[str, ...]
    text: str
    n_rows: int
    rules: tuple[int, ...]
    effect: float
    p_value: float | None
    advice: str

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "text": self.text,
            "n_rows": self.n_rows,
            "rules": list(self.rules),
            "effect": self.effect,
            "p_value": self.p_value,
            "advice": self.advice,
        }


def find(found: Violations) -> tuple[Finding, ...]:
    """What has changed in the rows of a check, the most certain first.

    >>> from sqrl._check.check import check
    >>> from sqrl._rules.ruleset import RuleSet
    >>> known = {"coverage": [0.98] * 2, "support": [900] * 2}
    >>> rules = RuleSet.from_texts(["0 <= x <= 9", "y <= 1"], **known)
    >>> for finding in find(check(rules, {"x": [3.0, 50.0, 60.0, 70.0]})):
    ...     print(finding)
    column y is gone: 1 rule cannot be checked
    x: 3 of 4 rows outside 0 to 9, where 98 % of rows were; up to 70
    """
    facts = list(_facts(found))
    if any(fact.kind == "unchecked" for fact in facts) or np.isnan(found.p_value).all():
        return tuple(facts)
    groups = make_groups(found)
    level = found.level / 2  # of columns, and of what is between them
    told = {name for fact in facts for name in fact.columns}
    single = [group for group in groups if group.kind != "relation"]
    decision = decide(groups, level, [group for group in single if not told & set(group.columns)])
    copies, settled = _repeats(found, decision)
    columns = list(_columns(found, decision, told, settled))
    between = [
        group
        for group in groups
        if group.kind == "relation" and not told & set(group.columns) and group not in settled
    ]
    return (*facts, *copies, *columns, *_relations(found, decide(groups, level, between)))


def _facts(found: Violations) -> Iterator[Finding]:
    """What needs no test: nothing to check, columns gone, of another kind, or without a value."""
    if not found.n_rows or not len(found):
        yield _fact("unchecked", (), words.nothing_to_check(found), 0, words.LOOK_AT_DATA)
        return
    if not found.applicable.any() and np.isnan(found.p_value).all():
        yield _fact("unchecked", (), words.nothing_applied(found), 0, words.LOOK_AT_DATA)
    odd = [name for name, now in found.columns.items() if _is_odd(found, name, now)]
    places = rules_by_column(found) if odd else {}
    odd = [name for name in odd if not _all_waived(found, places.get(name, []))]
    gone = [name for name in odd if found.columns[name].is_gone]
    yield from _gone(found, gone, places)
    for name in (name for name in odd if name not in gone):
        now, rules = found.columns[name], places.get(name, [])
        if now.unread is not None and now.n_unread:
            text, advice = words.other_kind(found, name, now)
            yield _fact("type", (name,), text, now.n_unread, advice, rules, found.n_rows)
        elif now.n_missing == found.n_rows and words.was_known(found, name, rules):
            text, advice = words.all_missing(found, name)
            yield _fact("missing", (name,), text, found.n_rows, advice, rules)
        elif now.n_unseen and name == found.label and not (found.shown_p_value[rules] >= 0).any():
            text, advice = words.unseen(found, name)  # a prediction, which no rule can test
            yield _fact("unseen", (name,), text, now.n_unseen, advice, rules, found.n_rows)


def _all_waived(found: Violations, rules: Sequence[int]) -> bool:
    """Whether all that is said of a column is waived."""
    return bool(rules) and bool(found.is_waived[list(rules)].all())


def _gone(
    found: Violations, names: Sequence[str], places: Mapping[str, Sequence[int]]
) -> Iterator[Finding]:
    """Columns that are gone, each with those that follow from it."""
    lost: dict[str, list[str]] = {}
    for name in sorted(names):
        for cause in words.why_gone(found, name):
            lost.setdefault(cause, []).append(name)
    for cause, mine in lost.items():
        rules = sorted({rule for name in mine for rule in places.get(name, [])})
        text, advice = words.gone(found, cause, len(rules))
        columns = tuple(dict.fromkeys([cause, *mine]))
        yield _fact("gone", columns, text, found.n_rows, advice, rules)


def _fact(
    kind: FindingKind,
    columns: tuple[str, ...],
    text: str,
    n_rows: int,
    advice: str,
    rules: Iterable[int] = (),
    of: int | None = None,
) -> Finding:
    return Finding(
        kind=kind,
        columns=columns,
        text=text,
        n_rows=n_rows,
        rules=tuple(rules),
        effect=1.0 if not of else n_rows / of,
        p_value=None,
        advice=advice,
    )


def _is_odd(found: Violations, name: str, now: ColumnNow) -> bool:
    """Whether there may be something plain to say of a column."""
    is_lacking = now.is_gone or bool(now.n_unread) or now.n_missing == found.n_rows
    return is_lacking or (name == found.label and now.n_unseen > 0)


def _columns(
    found: Violations, decision: Decision, told: set[str], settled: set[Group]
) -> Iterator[Finding]:
    """A finding for each column that has changed by itself, with what it explains."""
    changes = {
        group: main_change(found, group, decision)
        for group in decision.chosen("column")
        if group not in settled
    }
    left = sorted(changes, key=lambda group: (group.p_value, -changes[group].effect))
    relations = _related(found, decision)
    n_told = 0
    while left:
        first = left.pop(0)
        explained: list[Group] = []
        twin = exchanged_with(found, first, left)
        if twin is not None:
            left.remove(twin)
            explained = [twin]
        elif n_told < MOST_EXPLAINING and left:
            explained = explained_groups(found, first, left, decision)
            left = [group for group in left if group not in explained]
        names = {first.columns[0], *(group.columns[0] for group in explained)}
        told |= names
        explained += [group for group in relations if names & set(group.columns)]
        relations = [group for group in relations if not names & set(group.columns)]
        n_told += 1
        if twin is not None:
            yield _exchanged(found, changes[first], first, explained)
        else:
            yield _finding(found, changes[first], first, explained)


def _finding(found: Violations, change: Change, group: Group, explained: list[Group]) -> Finding:
    """The finding for one group, with what it explains."""
    text, advice = words.changed(found, change)
    also = words.also_explains(found, group, explained)
    return Finding(
        kind=change.kind,
        columns=group.columns,
        text=f"{text}{also}",
        n_rows=change.n_rows,
        rules=_evidence(found, [group, *explained], change.rules),
        effect=change.effect,
        p_value=group.p_value,
        advice=advice,
    )


def _exchanged(found: Violations, change: Change, group: Group, explained: list[Group]) -> Finding:
    """The finding for two columns in each other's place, of which the second is explained."""
    columns = (*group.columns, *explained[0].columns)
    text, advice = words.exchanged(found, *columns)
    return Finding(
        kind="distribution",
        columns=columns,
        text=text,
        n_rows=change.n_rows,
        rules=_evidence(found, [group, *explained], change.rules),
        effect=change.effect,
        p_value=group.p_value,
        advice=advice,
    )


def _evidence(
    found: Violations, groups: list[Group], first: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """The rules of some groups that have a small p-value, those asked for first, then by p."""
    mine = [rule for group in groups for rule in group.rules if rule not in first]
    p = found.p_value
    clear = [rule for rule in mine if p[rule] <= found.level]
    return (*first, *sorted(clear, key=lambda rule: (p[rule], rule)))


def _related(found: Violations, decision: Decision) -> list[Group]:
    """The relations that may have changed."""
    relations = [group for group in decision.groups if group.kind == "relation"]
    return [group for group in relations if group.p_value <= found.level]


def _relations(found: Violations, decision: Decision) -> Iterator[Finding]:
    """What no column explains: findings by the column that most of the relations share."""
    left = decision.chosen("relation")
    while left:
        names = {name for group in left for name in group.columns}
        shared = order_by_blame(found, decision, left, sorted(names))[0]
        mine = [group for group in left if shared in group.columns]
        left = [group for group in left if group not in mine]
        others = {name for group in mine for name in group.columns} - {shared}
        columns = (shared, *sorted(sorted(others), key=partial(_least_p, mine)))
        change = main_change(found, mine[0], decision)
        text, advice = words.relation(found, columns, change)
        yield Finding(
            kind="relation",
            columns=columns,
            text=text,
            n_rows=change.n_rows,
            rules=_evidence(found, mine, change.rules),
            effect=change.effect,
            p_value=mine[0].p_value,
            advice=advice,
        )


def _least_p(groups: list[Group], name: str) -> float:
    """The least p-value of the groups that name a column."""
    return min(group.p_value for group in groups if name in group.columns)


def _repeats(found: Violations, decision: Decision) -> tuple[list[Finding], set[Group]]:
    """Rows, or keys, that occur more than once, and the groups that only copies have changed."""
    findings: list[Finding] = []
    settled: set[Group] = set()
    for group in sorted(decision.chosen("repeats"), key=lambda group: -len(group.columns)):
        if findings:
            continue
        copies = copied_rows(found, group)
        before, after = share_of_repeats(found, group)
        n_copies = round(after * found.n_rows) if copies is None else int(copies.sum())
        text, advice = words.repeats(found, group, n_copies, before)
        if copies is not None:
            others = [*decision.chosen("column"), *_related(found, decision)]
            settled = set(explained_by_copies(found, copies, others, decision))
        findings.append(
            Finding(
                kind="repeats",
                columns=group.columns if len(group.columns) == 1 else (),
                text=text,
                n_rows=n_copies,
                rules=_evidence(found, [group, *settled]),
                effect=n_copies / max(found.n_rows, 1),
                p_value=group.p_value,
                advice=advice,
            )
        )
    return findings, settled
