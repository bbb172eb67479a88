"""Whether a window fails: by what all windows say together, and by facts that need no test."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqrl._check.findings.findings import Finding
from sqrl._check.violations import Violations
from sqrl._history.history import History
from sqrl._history.memo import LastWindows, go_on
from sqrl._history.past_alarms import waived_rules
from sqrl._history.record import CheckRecord
from sqrl._history.settings import Settings
from sqrl._history.timeline import Alarm, WindowDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowResult:
    """What a history says of one window: the alarms it raised, and the plain facts of its check.

    A fact such as a column that is gone is no matter of chance: it fails in every window that has
    it, unless all rules behind it are waived. A finding of the window alone fails nothing.
    """

    at: str
    windows: LastWindows
    settings: Settings
    facts: tuple[Finding, ...]
    n_tested: int  # findings that are no facts

    @property
    def decision(self) -> WindowDecision:
        """What was decided after this window."""
        return self.windows.decisions[self.at]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms that this window raised."""
        return () if self.decision.alarm is None else (self.decision.alarm,)

    @property
    def texts(self) -> Mapping[str, str]:
        """The sentences of the rules that are checked now, by their ids."""
        return dict(zip(self.windows.last.ids, self.windows.last.texts, strict=True))

    @property
    def fails(self) -> bool:
        """Whether somebody should look."""
        return bool(self.alarms or self.facts)

    @property
    def rules(self) -> set[str]:
        """The ids of the rules that alarms of this window name."""
        return {rule for alarm in self.alarms for rule in alarm.rules}


def result_of(history: History, found: Violations, record: CheckRecord) -> WindowResult:
    """What a history says of a window of it, which this check has just become."""
    settings = history.settings
    return WindowResult(
        at=record.at,
        windows=go_on(history.store, settings, record.at),
        settings=settings,
        facts=_facts(found, waived_rules(record, settings.waived())),
        n_tested=sum(finding.p_value is not None for finding in found.findings()),
    )


def _facts(found: Violations, waived: set[str]) -> tuple[Finding, ...]:
    ids = found.rules.ids()

    def is_waived(fact: Finding) -> bool:
        return bool(fact.rules) and all(ids[rule] in waived for rule in fact.rules)

    facts = (finding for finding in found.findings() if finding.p_value is None)
    return tuple(fact for fact in facts if not is_waived(fact))
