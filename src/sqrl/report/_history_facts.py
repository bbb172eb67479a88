"""What is told of a history: alarms and what became of them, rules by their evidence.

Evidence is shown as a share of what an alarm takes, on a logarithmic scale: at 1 there is one.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sqrl._history.settings import Settings
from sqrl._history.timeline import Alarm, Timeline
from sqrl._history.window_result import WindowResult
from sqrl._kernels.arrays import Floats, Int64s
from sqrl.report._wording import plain, plains

AlarmStatus = Literal["new", "open", "accepted", "over"]
DIGITS = 5


class Alarms:
    """All alarms of a history, with what is needed to say what became of each.

    `last` is the last window, `open_since` the first of the last windows that are all not in the
    baseline, or None: alarms of those are open.
    """

    def __init__(
        self,
        alarms: Sequence[Alarm],
        texts: Mapping[str, str],
        *,
        last: str,
        open_since: str | None,
        accepted: Collection[str],
    ) -> None:
        self.alarms, self.texts = alarms, texts
        self.last, self.open_since, self.accepted = last, open_since, accepted

    @classmethod
    def of_timeline(cls, timeline: Timeline, settings: Settings) -> "Alarms":
        """The alarms of all windows."""
        n_open = int(np.flatnonzero([True, *timeline.in_baseline])[-1])
        return cls(
            timeline.alarms,
            timeline.texts,
            last=timeline.at[-1] if timeline.at else "",
            open_since=timeline.at[n_open] if n_open < len(timeline.at) else None,
            accepted=settings.accepted,
        )

    @classmethod
    def of_window(cls, window: WindowResult) -> "Alarms":
        """The alarms of all windows, as they are known after a check."""
        return cls(
            window.windows.alarms,
            window.texts,
            last=window.windows.last.at,
            open_since=window.windows.open_since,
            accepted=window.settings.accepted,
        )

    def status(self, alarm: Alarm) -> AlarmStatus:
        """What became of an alarm: raised just now, still open, accepted by a person, or over."""
        if alarm.at in self.accepted:
            return "accepted"
        if alarm.at == self.last:
            return "new"
        is_open = self.open_since is not None and alarm.at >= self.open_since
        return "open" if is_open else "over"

    def to_dict(self, alarm: Alarm) -> dict[str, Any]:
        """An alarm as plain data."""
        return {
            "at": alarm.at,
            "status": self.status(alarm),
            "cause": alarm.cause,
            "started": alarm.started,
            "started_low": alarm.started_low,
            "started_high": alarm.started_high,
            "log_evidence": plain(alarm.log_evidence),
            "rules": [{"id": rule, "text": self.texts.get(rule, "")} for rule in alarm.rules],
        }


def evidence_share(log_evidence: Floats, threshold: float) -> Floats:
    """The evidence of rules as a share of what an alarm takes, never below 0."""
    return np.maximum(log_evidence, 0.0) / threshold


def by_evidence(timeline: Timeline) -> Int64s:
    """The places of the rules, those with the most evidence in the last window first."""
    if not timeline.at:
        return np.arange(len(timeline.ids))
    now = np.nan_to_num(evidence_share(timeline.log_evidence, timeline.threshold), nan=-1.0)
    # Of rules with the same evidence now, such as none, those that ever had more come first.
    return np.lexsort((-now.max(axis=1), -now[:, -1]))


def window_dict(window: WindowResult) -> dict[str, Any]:
    """What a history says of one window, as plain data."""
    settings, decided, alarms = window.settings, window.decision, Alarms.of_window(window)
    return {
        "at": window.at,
        "fails": window.fails,
        "n_windows": window.windows.n_windows,
        "promise": {"false_alarms": settings.false_alarms, "every": settings.every},
        "threshold": plain(decided.threshold),
        "in_baseline": decided.in_baseline,
        "alarms": [alarms.to_dict(alarm) for alarm in window.alarms],
        "facts": [fact.text for fact in window.facts],
        "waived": [decided.ids[place] for place in np.flatnonzero(decided.is_waived)],
    }


def history_dict(timeline: Timeline, settings: Settings) -> dict[str, Any]:
    """A history as plain data: columns over windows, for each rule and for all."""
    alarms = Alarms.of_timeline(timeline, settings)
    return {
        "n_windows": len(timeline.at),
        "n_rules": len(timeline.ids),
        "promise": {"false_alarms": settings.false_alarms, "every": settings.every},
        "threshold": plain(timeline.threshold),
        "at": list(timeline.at),
        "in_baseline": timeline.in_baseline.tolist(),
        "alarms": [alarms.to_dict(alarm) for alarm in timeline.alarms],
        "accepted": list(settings.accepted),
        "waivers": [
            {"rule": one.rule, "until": one.until, "why": one.why} for one in settings.waivers
        ],
        "rules": [_rule_dict(timeline, place) for place in by_evidence(timeline).tolist()],
    }


def _rule_dict(timeline: Timeline, place: int) -> dict[str, Any]:
    rule = timeline.ids[place]
    return {
        "id": rule,
        "text": timeline.texts[rule],
        "share": plains(timeline.share[place], DIGITS),
        "low": plains(timeline.low[place], DIGITS),
        "high": plains(timeline.high[place], DIGITS),
        "log_evidence": plains(timeline.log_evidence[place], DIGITS),
        "waived": timeline.is_waived[place].tolist(),
    }
