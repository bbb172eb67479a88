"""Decision: what a person has decided about a rule, by its id, with who, when and why."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from sqrl.errors import RulesFileError, SchemaError, unknown

Verdict = Literal["accepted", "rejected", "waived"]
MOST_DECISIONS = 100_000
LONGEST_BY, LONGEST_WHY, LONGEST_ID = 200, 2000, 64


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a person has decided about a rule: accepted, rejected, or waived until a day.

    Days are ISO dates, in UTC; the day that a waiver is `until` still belongs to it.

    >>> Decision(id="d9434650", verdict="waived", by="Ann", when="2026-11-02",
    ...          why="sensor 7 is being replaced", until="2026-12-31").lasts("2026-12-31")
    True
    """

    id: str
    verdict: Verdict
    by: str
    when: str
    why: str
    until: str | None = None

    def __post_init__(self) -> None:
        for name, most in (("id", LONGEST_ID), ("by", LONGEST_BY), ("why", LONGEST_WHY)):
            text = getattr(self, name)
            if not text.strip() or len(text) > most or not text.isprintable():
                raise ValueError(f"{name!r} of a decision is one line of 1 to {most:,} letters")
        for name, day in (("when", self.when), ("until", self.until)):
            if day is not None and not is_day(day):
                raise ValueError(f"{name!r} of a decision is a date such as 2026-12-31")
        if (self.verdict == "waived") != (self.until is not None):
            raise ValueError("a decision has 'until' where it is a waiver, and only there")

    def lasts(self, day: str) -> bool:
        """Whether the decision counts on a day: of a waiver, whether it has not ended."""
        return self.until is None or day <= self.until

    def __str__(self) -> str:
        until = f" until {self.until}" if self.until else ""
        return f"{self.verdict}{until} by {self.by} on {self.when}: {self.why}"


def is_day(text: str) -> bool:
    """Whether a text is a date as we write it.

    >>> is_day("2026-12-31"), is_day("2026-02-30"), is_day("31.12.2026"), is_day("20261231")
    (True, False, False, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def today() -> str:
    """The day it is now, in UTC."""
    return datetime.now(UTC).date().isoformat()


def as_day(day: str | date | None) -> str:
    """A day as we write it; of none today."""
    text = today() if day is None else str(day)
    if not is_day(text):
        raise SchemaError(f"{text!r} is not a day.", fix="write a date such as 2026-12-31")
    return text


def in_order(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions by id, as they are saved; raises where a rule has two, or they are too many."""
    ordered = tuple(sorted(decisions, key=lambda one: one.id))
    if len(ordered) > MOST_DECISIONS:
        raise RulesFileError(
            f"There are {len(ordered):,} decisions; at most {MOST_DECISIONS:,} are kept.",
            fix="withdraw those about rules that are gone",
        )
    for one, other in pairwise(ordered):
        if one.id == other.id:
            raise RulesFileError(
                f"Rule {one.id!r} has two decisions.",
                where="decisions",
                fix="keep the one that counts",
            )
    return ordered


def decide(
    known: Sequence[str],
    decisions: Sequence[Decision],
    ids: str | Iterable[str],
    verdict: Verdict,
    *,
    by: str,
    why: str,
    until: str | date | None = None,
    when: str | date | None = None,
) -> tuple[Decision, ...]:
    """The decisions with one more about each of some rules; it takes the place of an older one.

    >>> said = {"by": "Ann", "why": "as agreed", "when": "2026-11-02"}
    >>> print(*decide(["a1", "b2"], (), "b2", "accepted", **said))
    accepted by Ann on 2026-11-02: as agreed
    """
    found = {one.id: one for one in decisions}
    day, end = as_day(when), None if until is None else as_day(until)
    if end is not None and end < day:
        what = f"A waiver until {end} has ended before it was made, on {day}."
        raise SchemaError(what, fix="name a day to come")
    for one in ids_of(known, ids):
        try:
            made = Decision(id=one, verdict=verdict, by=by, when=day, why=why, until=end)
        except ValueError as error:
            what = f"The decision cannot be kept: {error}."
            raise SchemaError(what, where=f"rule {one}", fix="say who decided and why") from None
        found[one] = made
    return in_order(found.values())


def withdraw(decisions: Sequence[Decision], ids: str | Iterable[str]) -> tuple[Decision, ...]:
    """The decisions without those about some rules."""
    gone = set(ids_of([one.id for one in decisions], ids))
    return tuple(one for one in decisions if one.id not in gone)


def ids_of(known: Sequence[str], ids: str | Iterable[str]) -> list[str]:
    """The ids, one or several, each of which must be known."""
    named = [ids] if isinstance(ids, str) else list(ids)
    there = set(known)
    for one in named:
        if one not in there:
            raise unknown("id of a rule", one, known)
    return named


def by_id(decisions: Iterable[Decision]) -> Mapping[str, Decision]:
    """The decisions, to be looked up by the id of their rule."""
    return {one.id: one for one in decisions}


def ids_redecided(before: Iterable[Decision], after: Iterable[Decision]) -> list[str]:
    """The ids of rules about which something else is decided than before, in order.

    >>> said = {"by": "Ann", "why": "as agreed", "when": "2026-11-02"}
    >>> ids_redecided((), decide(["a1", "b2"], (), "b2", "accepted", **said))
    ['b2']
    """
    old, new = by_id(before), by_id(after)
    return [one for one in sorted({*old, *new}) if old.get(one) != new.get(one)]
