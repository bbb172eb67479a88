"""History: checks over time in a folder, with the evidence and the alarms of all of them."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from sqrl._data.given_path import given_path
from sqrl._data.html_table import html_table
from sqrl._history.detector import replay
from sqrl._history.promise import Promise
from sqrl._history.record import CheckRecord, record_of
from sqrl._history.settings import Settings, Waiver
from sqrl._history.store import Store
from sqrl._history.timeline import Alarm, Timeline
from sqrl._history.window_file import COLUMNS
from sqrl._history.window_times import When, spell_at
from sqrl._rules.decisions import today
from sqrl.errors import DataError, HistoryError, UnknownNameError, nearest, unknown

if TYPE_CHECKING:
    from sqrl._check.violations import Violations


class History:
    """Checks of one table over time, in a folder, and the alarms that they raise together.

    The folder is made by the first `add`. `false_alarms` and `every` are the promise: at most so
    many false alarms, such as "1/year", if a check is made every "day"; where they are not given,
    those of the folder hold, and otherwise these. A promise that is given is kept in the folder by
    the next `add`.

    >>> import sqrl, tempfile
    >>> rules = sqrl.RuleSet.from_texts(["0 <= x <= 9"], coverage=[0.98], support=[5000])
    >>> folder = tempfile.TemporaryDirectory()
    >>> history = History(f"{folder.name}/history", false_alarms="1/year", every="day")
    >>> _ = history.add(sqrl.check(rules, {"x": [3.0, 5.0, 12.0]}), at="2026-11-16")
    >>> history
    <History: 1 window, 2026-11-16; 1 rule, no alarms>
    >>> folder.cleanup()
    """

    def __init__(
        self, path: str | Path, *, false_alarms: str | None = None, every: str | None = None
    ) -> None:
        self.path = given_path(path, HistoryError)
        self.store = Store(self.path)
        asked = {"false_alarms": false_alarms, "every": every}
        self._asked = {name: value for name, value in asked.items() if value is not None}
        _ = self.promise  # raises where it makes no sense

    @property
    def settings(self) -> Settings:
        """The promise, accepted windows and waivers, as they are in the folder now."""
        return msgspec.structs.replace(self.store.settings(), **self._asked)

    @property
    def promise(self) -> Promise:
        """How many false alarms there may be, and how often a check is made."""
        return self.settings.promise

    def add(
        self, found: "Violations", *, at: When | None = None, fingerprint: str = ""
    ) -> CheckRecord:
        """The window that a check becomes: of `at`, or of today in UTC; one of that time goes.

        It is written whole or not at all. `fingerprint` may tell which data it was made from.
        """
        record = record_of(found, at=today() if at is None else spell_at(at))
        self.keep_promise()
        self.store.put(record, fingerprint=fingerprint)
        return record

    def keep_promise(self) -> None:
        """Write the promise that was given into the folder, where one was."""
        if self._asked:
            self.store.change(lambda now: msgspec.structs.replace(now, **self._asked))

    def records(self) -> list[CheckRecord]:
        """What each check said, in the order of time."""
        return self.store.records()

    def timeline(self) -> Timeline:
        """Shares and evidence of every rule in every window, and the alarms."""
        settings = self.settings
        return replay(
            self.records(),
            settings.promise,
            accepted=settings.accepted,
            waived=settings.waived(),
        )

    def alarms(self) -> tuple[Alarm, ...]:
        """The alarms so far, in the order of time; the last may be new in the last window."""
        return self.timeline().alarms

    def accept(self, at: When) -> None:
        """Take what rules show since the alarm that the window `at` raised for how rows are now."""
        spelt = spell_at(at)
        raised = [alarm.at for alarm in self.alarms()]
        if spelt not in raised:
            fix = nearest(spelt, raised) if raised else "there is no alarm, and nothing to accept"
            raise UnknownNameError(
                f"The window {spelt} raised no alarm.", where=str(self.path), fix=fix
            )
        self.store.change(
            lambda now: msgspec.structs.replace(now, accepted=tuple(sorted({*now.accepted, spelt})))
        )

    def waive(self, rule: str, *, until: When, why: str) -> None:
        """Let a rule, by its id, raise no alarm in windows up to and on the day `until`.

        A waiver of the same rule that was made before is replaced. `why` is for those who read it.
        If the change is still there after that day, it alarms. Rules that are waived in the rules
        file (`RuleSet.waive`) need no other waiver here.
        """
        if not why.strip():
            what = "A waiver without a reason is a rule that nobody understands later."
            raise DataError(what, where=str(self.path), fix="say why, in a few words")
        made = Waiver(rule=self._id_of(rule), until=spell_at(until), why=why.strip())

        def add(now: Settings) -> Settings:
            others = (waiver for waiver in now.waivers if waiver.rule != made.rule)
            return msgspec.structs.replace(now, waivers=(*others, made))

        self.store.change(add)

    def _id_of(self, rule: str) -> str:
        """The id of a rule that is given by it or by its sentence."""
        texts = {
            id_: text
            for record in self.records()
            for id_, text in zip(record.ids, record.texts, strict=True)
        }
        if rule in texts:
            return rule
        by_text = {text: id_ for id_, text in texts.items()}
        if rule in by_text:
            return by_text[rule]
        raise unknown("rule", rule, texts, where=str(self.path))

    def to_arrow(self) -> pa.Table:
        """A row for each rule and window: time, sentence, counts, p-value and evidence."""
        tables = [table.replace_schema_metadata(None) for table in self.store.tables()]
        return pa.concat_tables(tables) if tables else COLUMNS.empty_table()

    def plot(self, rule: str, *, ax: Any = None) -> Any:
        """Matplotlib axes: how often a rule, by its id, was broken over time, and its alarms."""
        from sqrl.report._history_plot import plot_history

        return plot_history(self.timeline(), self._id_of(rule), ax)

    def summary(self) -> str:
        """The history in one sentence."""
        return summary_of(self.timeline())

    def __len__(self) -> int:
        return len(self.store.windows())

    def __bool__(self) -> bool:
        return True  # an empty history is one, too

    def __repr__(self) -> str:
        return f"<History: {self.summary()}>"

    def _repr_html_(self) -> str:
        timeline = self.timeline()
        rows = [
            (escape(alarm.cause), escape(alarm.at), escape(alarm.started), f"{len(alarm.rules):,}")
            for alarm in timeline.alarms
        ]
        table = html_table(("alarm", "raised", "began about", "rules"), rows) if rows else ""
        return f"<p>{escape(summary_of(timeline))}</p>{table}"


def summary_of(timeline: Timeline) -> str:
    """A history in one sentence."""
    n_windows, n_rules, n_alarms = len(timeline.at), len(timeline.ids), len(timeline.alarms)
    if not n_windows:
        return "no windows yet"
    ends = dict.fromkeys([timeline.at[0], timeline.at[-1]])
    windows = f"{n_windows:,} window{'s' if n_windows > 1 else ''}, {' to '.join(ends)}"
    rules = f"{n_rules:,} rule{'s' if n_rules != 1 else ''}"
    alarms = f"{n_alarms or 'no'} alarm{'s' if n_alarms != 1 else ''}"
    return f"{windows}; {rules}, {alarms}"
