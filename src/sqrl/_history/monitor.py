"""Monitor: rules watched over a stream of batches, in constant memory."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from sqrl._check.check import check
from sqrl._data.extractors import Extractor
from sqrl._history.detector import Detector
from sqrl._history.monitor_file import load_monitor, save_monitor
from sqrl._history.promise import Promise
from sqrl._history.record import record_of
from sqrl._history.timeline import WindowDecision
from sqrl._history.window_times import day_of, spell_at
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError, unknown


class Monitor:
    """Rules watched over a stream: alarms no more often than promised while nothing changes.

    Each batch is a window. `false_alarms` says how many there may be on average, such as "1/year",
    and `every` how often a batch comes: hour, day, week, month or year. What is remembered is what
    all rows so far say of each rule and how much speaks for a change, no rows. A history of the
    same windows raises the same alarms.

    >>> rules = RuleSet.from_texts(["x <= 9"], coverage=[0.98], support=[999])
    >>> monitor = Monitor(rules, false_alarms="1/year", every="day")
    >>> monitor.update({"x": [3.0] * 500}, at="2026-11-16").alarm is None
    True
    >>> monitor.update({"x": [3.0] * 400 + [99.0] * 100}, at="2026-11-17").alarm.cause
    'x: 100 of 500 rows above 9, where 98 % of rows were; up to 99; 99 in 100 rows'
    """

    def __init__(
        self,
        rules: RuleSet,
        *,
        false_alarms: str = "1/year",
        every: str = "day",
        prediction: str | None = None,
        extractors: Sequence[Extractor] = (),
    ) -> None:
        self.rules, self.prediction, self.extractors = rules, prediction, tuple(extractors)
        self.last: str | None = None
        self.waived: dict[str, str] = {}
        self._detector = Detector(Promise(false_alarms=false_alarms, every=every))

    @property
    def promise(self) -> Promise:
        """How many false alarms there may be."""
        return self._detector.promise

    def __repr__(self) -> str:
        n, promise = self._detector.n_windows, self.promise
        return (
            f"{type(self).__name__}: {len(self.rules):,} rules, {n:,} {promise.every}s seen, "
            f"{promise.false_alarms} false alarms"
        )

    def update(self, batch: Any, at: str | date | None = None) -> WindowDecision:
        """What is decided after the rows of one more window, which was at a date or moment, or now.

        Windows come in order of time, each once. `.alarm` of the result is the alarm that this
        window raised, or None. Of rows that cannot be checked an error is raised, and nothing is
        remembered.
        """
        when = self._next() if at is None else spell_at(at)
        if self.last is not None and when <= self.last:
            raise DataError(
                f"The window of {when} is not after the last one, of {self.last}.",
                fix="give windows in order of time, each once",
            )
        found = check(
            *(self.rules, batch),
            prediction=self.prediction,
            extractors=self.extractors,
            today=day_of(when),
        )
        decided = self._detector.step(record_of(found, at=when), waived=self.waived)
        self.last = when
        return decided

    def _next(self) -> str:
        """Now, or a second after the last window if that is later."""
        now = datetime.now(UTC).replace(microsecond=0)
        if self.last is not None and self.last >= spell_at(now):
            now = datetime.fromisoformat(self.last).replace(tzinfo=UTC) + timedelta(seconds=1)
        return spell_at(now)

    def accept(self, at: str | date) -> None:
        """Take what the rules of an alarm found since for how rows are from now on.

        `at` is the window that raised the alarm.
        """
        alarms, when = [alarm.at for alarm in self._detector.past.alarms], spell_at(at)
        if when not in alarms:
            raise unknown("alarm", when, known=alarms, where="Monitor.accept")
        self._detector.accept([when])

    def waive(self, rule: str, *, until: str | date) -> None:
        """Let a rule, by its id, raise no alarm in windows up to and on the day `until`.

        If the change is still there after that day, it alarms. Rules that are waived in the rules
        file (`RuleSet.waive`) need no other waiver here.
        """
        known = self.rules.ids()
        if rule not in known:
            raise unknown("rule", rule, known=known, where="Monitor.waive")
        self.waived[rule] = spell_at(until)

    def save(self, path: str | Path) -> None:
        """Write all that is remembered to a JSON file, whole or not at all."""
        save_monitor(
            Path(path),
            self._detector,
            prediction=self.prediction,
            waived=self.waived,
            last=self.last,
        )

    @classmethod
    def load(
        cls, path: str | Path, rules: RuleSet, *, extractors: Sequence[Extractor] = ()
    ) -> "Monitor":
        """The monitor that was saved, to go on with these rules.

        A rule that was learned anew since, with other bounds, starts anew.
        """
        saved = load_monitor(Path(path))
        monitor = cls(
            rules,
            false_alarms=saved.promise.false_alarms,
            every=saved.promise.every,
            prediction=saved.prediction,
            extractors=extractors,
        )
        monitor.last, monitor.waived = saved.last, dict(saved.waived)
        monitor._detector = saved.detector()
        return monitor
