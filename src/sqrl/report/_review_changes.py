"""What changed between two rules files, as a reviewer of a pull request reads it."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from sqrl._language.short import INDENT, sentence_lines, short_text, wrapped
from sqrl._rules.decisions import Decision, by_id, ids_redecided
from sqrl._rules.diff import Moved, RuleDiff, diff_rules
from sqrl._rules.ruleset import RuleSet
from sqrl.report._markdown import code, plain_text
from sqrl.report._wording import counted

MOST = 30  # of each kind of change in Markdown


@dataclass(frozen=True, slots=True)
class Redecided:
    """A rule about which something else is decided than before."""

    id: str
    text: str | None  # None where neither file has the rule
    before: Decision | None
    after: Decision | None

    def __str__(self) -> str:
        before, after = (
            "nothing" if one is None else str(one) for one in (self.before, self.after)
        )
        return after if self.before is None else f"{after}; was {before}"


@dataclass(frozen=True, slots=True, eq=False)
class ReviewChanges:
    """What changed from a base to newer rules: rules, bounds and decisions."""

    rules: RuleDiff
    decisions: tuple[Redecided, ...]
    edited: frozenset[str]  # ids of rules whose bounds are a person's
    accepted: frozenset[str]  # ids of rules that somebody accepted

    def summary(self) -> str:
        """The counts in one line."""
        return f"{self.rules.summary()}; {counted(len(self.decisions), 'decision')} changed"

    def to_dict(self) -> dict[str, Any]:
        """The changes as plain data."""
        return {
            "appeared": _plain(self.rules.appeared),
            "vanished": _plain(self.rules.vanished),
            "moved": [
                {
                    "id": one.id,
                    "before": one.before,
                    "after": one.after,
                    "by_widths": None if isnan(one.by_widths) else one.by_widths,
                    "edited": one.id in self.edited,
                    "accepted": one.id in self.accepted,
                }
                for one in self.rules.moved
            ],
            "unchanged": self.rules.n_unchanged,
            "decisions": [
                {"id": one.id, "text": one.text, "before": one.before, "after": one.after}
                for one in self.decisions
            ],
        }

    def far(self, one: Moved) -> str:
        """How far a rule moved, and whose bounds these are."""
        parts = [] if isnan(one.by_widths) else [f"by {one.by_widths:.2g} widths"]
        parts += ["edited by a person"] if one.id in self.edited else []
        parts += ["accepted: look again"] if one.id in self.accepted else []
        return ", ".join(parts)


def review_changes(base: RuleSet, newer: RuleSet) -> ReviewChanges:
    """What changed from the base to the newer rules.

    >>> old, new = (RuleSet.from_texts([f"3 <= GCS <= {most}"]) for most in (14, 15))
    >>> review_changes(old, new.accept(new.ids(), by="Ann", why="as agreed")).summary()
    '0 appeared, 0 vanished, 1 moved, 0 unchanged; 1 decision changed'
    """
    before, after = by_id(base.decisions), by_id(newer.decisions)
    changed = ids_redecided(base.decisions, newer.decisions)
    texts: dict[str, str] = {}
    for rules in (base, newer) if changed else ():
        places = {one: place for place, one in enumerate(rules.ids())}
        texts |= {one: rules[places[one]].text for one in changed if one in places}
    learned = zip(newer.ids(), newer.table["learned"].to_pylist(), strict=True)
    return ReviewChanges(
        diff_rules(base, newer),
        tuple(Redecided(one, texts.get(one), before.get(one), after.get(one)) for one in changed),
        frozenset(one for one, text in learned if text is not None),
        frozenset(one for one, decision in after.items() if decision.verdict == "accepted"),
    )


def change_lines(changes: ReviewChanges, *, top: int = 10, width: int = 80) -> Iterator[str]:
    """The changes as text that fits a terminal."""
    yield changes.summary()
    for title, rules in _by_title(changes):
        if rules and top:
            yield from ("", f"{title}:")
            for rule in rules.head(top):
                yield from sentence_lines(rule.short_text, width, mark=INDENT)
                yield f"{INDENT}id {rule.id}"
            yield from _more(len(rules), top)
    if changes.rules.moved and top:
        yield from ("", "Moved:")
        for one in changes.rules.moved[:top]:
            yield from sentence_lines(short_text(one.before), width, mark=INDENT)
            yield from wrapped(f"now: {short_text(one.after)}", width, INDENT)
            yield from wrapped(
                ", ".join(filter(None, [f"id {one.id}", changes.far(one)])), width, INDENT
            )
        yield from _more(len(changes.rules.moved), top)
    if changes.decisions and top:
        yield from ("", "Decided:")
        for said in changes.decisions[:top]:
            yield from sentence_lines(short_text(said.text or said.id), width, mark=INDENT)
            yield from wrapped(f"id {said.id}: {said}", width, INDENT)
        yield from _more(len(changes.decisions), top)


def change_markdown(changes: ReviewChanges) -> str:
    """The changes as Markdown for a pull request."""
    lines = ["## Rules changed", "", f"{plain_text(changes.summary())}", ""]
    if changes.decisions:
        lines += ["| rule | id | decided |", "|---|---|---|"]
        for said in changes.decisions[:MOST]:
            sentence = code(short_text(said.text)) if said.text else ""
            lines.append(f"| {sentence} | {code(said.id)} | {plain_text(str(said))} |")
        lines += [*_more_markdown(len(changes.decisions)), ""]
    if changes.rules.moved:
        lines += ["| before | after | id | moved |", "|---|---|---|---|"]
        for one in changes.rules.moved[:MOST]:
            cells = [code(short_text(one.before)), code(short_text(one.after)), code(one.id)]
            lines.append(f"| {' | '.join(cells)} | {plain_text(changes.far(one))} |")
        lines += [*_more_markdown(len(changes.rules.moved)), ""]
    for title, rules in _by_title(changes):
        if rules:
            lines += [f"<details><summary>{title}: {counted(len(rules), 'rule')}</summary>", ""]
            lines += [f"- {code(one.short_text)} {code(one.id or '')}" for one in rules.head(MOST)]
            lines += [*_more_markdown(len(rules)), "", "</details>", ""]
    return "\n".join(lines[:-1]) + "\n"


def _by_title(changes: ReviewChanges) -> tuple[tuple[str, RuleSet], ...]:
    return ("Appeared", changes.rules.appeared), ("Vanished", changes.rules.vanished)


def _plain(rules: RuleSet) -> list[dict[str, str]]:
    return [{"id": one, "text": text} for one, text in zip(rules.ids(), rules.texts(), strict=True)]


def _more(count: int, top: int) -> list[str]:
    return [f"{INDENT}... and {count - top:,} more"] if count > top else []


def _more_markdown(count: int) -> list[str]:
    return ["", f"and {count - MOST:,} more."] if count > MOST else []
