"""PastAlarms: what has alarmed already, so that one lasting change is one alarm."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from sqrl._history.record import CheckRecord

MOST = 32  # alarms that are remembered


def lasts(until: str, at: str) -> bool:
    """Whether a waiver counts in a window; the day that it is `until` still belongs to it.

    >>> lasts("2026-11-17", "2026-11-17T23:59:59Z"), lasts("2026-11-17", "2026-11-18")
    (True, False)
    """
    return at[: len(until)] <= until


def waived_rules(record: CheckRecord, waived: Mapping[str, str]) -> set[str]:
    """The rules that raise no alarm in a window: waived in the rules file, or in `waived`."""
    return {*record.waived, *(rule for rule, until in waived.items() if lasts(until, record.at))}


class PastAlarm(Struct, forbid_unknown_fields=True):
    """An alarm: its window by name and number, the first it may have begun with, and its rules."""

    at: str
    window: int
    first: int
    rules: list[str]
    is_accepted: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that needs no test, in a sentence, and the rules that are about it."""

    text: str
    rules: tuple[str, ...]


@dataclass(slots=True, eq=False)
class PastAlarms:
    """The last alarms, and the facts that hold now: the rules behind each."""

    alarms: list[PastAlarm] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)

    def add(self, alarm: PastAlarm) -> None:
        """Remember an alarm."""
        self.alarms = [*self.alarms, alarm][-MOST:]

    def join(self, rule: str, first: int, last: int, open_rules: set[str]) -> bool:
        """Whether a change of a rule belongs to an alarm, which then has the rule too.

        One that is open or accepted, and whose change may have begun when that of the rule did. A
        change that began after the alarm is another one.
        """
        for alarm in reversed(self.alarms):
            is_there = alarm.is_accepted or not open_rules.isdisjoint(alarm.rules)
            if is_there and first <= alarm.window and last >= alarm.first:
                if rule not in alarm.rules:
                    alarm.rules.append(rule)
                return True
        return False

    def new_facts(self, record: CheckRecord, waived: Collection[str]) -> list[Fact]:
        """The facts of a window that the one before did not have.

        Facts without a rule, such as that there are no rows, say nothing of a change, nor do those
        whose rules are all waived.
        """
        pairs = list(zip(record.findings, record.finding_rules, strict=True))[: record.n_facts]
        found = [Fact(text, rules) for text, rules in pairs if not set(rules) <= set(waived)]
        known = [set(rules) for rules in self.facts]
        self.facts = [list(fact.rules) for fact in found]
        return [fact for fact in found if set(fact.rules) not in known]

    def accepted_rules(self, accepted: Collection[str]) -> set[str]:
        """The rules whose last alarm a person has accepted, by the `at` of its window."""
        for alarm in self.alarms:
            alarm.is_accepted |= alarm.at in accepted
        latest = {rule: alarm for alarm in self.alarms for rule in alarm.rules}
        return {rule for rule, alarm in latest.items() if alarm.is_accepted}
