"""What is told of a history: alarms and what became of them, rules by their evidence.

Evidence is shown as a share of what an alarm takes, on a logarithmic scale: at 1 there is one.
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from sqrl._history.store import Settings
from sqrl._history.timeline import Alarm, Timeline
from sqrl._history.window_result import WindowResult
from sqrl._kernels.arrays import Floats, Int64s
from sqrl.report._wording import plain, plains

AlarmStatus = Literal["new", "open", "accepted", "over"]
DIGITS = 5


def evidence_share(timeline: Timeline) -> Floats:
    """The evidence of each rule in each window as a share of what an alarm takes, never below 0."""
    return np.maximum(timeline.log_evidence, 0.0) / timeline.threshold


def status_of(timeline: Timeline, alarm: Alarm, accepted: Iterable[str]) -> AlarmStatus:
    """What became of an alarm: raised just now, still open, accepted by a person, or over."""
    if alarm.at in accepted:
        return "accepted"
    if timeline.is_new(alarm):
        return "new"
    is_last = alarm is timeline.alarms[-1]
    return "open" if is_last and not timeline.in_baseline[-1] else "over"


def by_evidence(timeline: Timeline) -> Int64s:
    """The places of the rules, those with the most evidence in the last window first."""
    if not timeline.at:
        return np.arange(len(timeline.ids))
    now = np.nan_to_num(evidence_share(timeline), nan=-1.0)
    # Of rules with the same evidence now, such as none, those that ever had more come first.
    return np.lexsort((-now.max(axis=1), -now[:, -1]))


def alarm_dict(timeline: Timeline, alarm: Alarm, accepted: Iterable[str]) -> dict[str, Any]:
    """An alarm as plain data."""
    return {
        "at": alarm.at,
        "status": status_of(timeline, alarm, accepted),
        "cause": alarm.cause,
        "started": alarm.started,
        "started_low": alarm.started_low,
        "started_high": alarm.started_high,
        "log_evidence": plain(alarm.log_evidence),
        "rules": [{"id": rule, "text": timeline.texts[rule]} for rule in alarm.rules],
    }


def window_dict(window: WindowResult) -> dict[str, Any]:
    """What a history says of one window, as plain data."""
    timeline, settings = window.timeline, window.settings
    return {
        "at": window.at,
        "fails": window.fails,
        "n_windows": len(timeline.at),
        "promise": {"false_alarms": settings.false_alarms, "every": settings.every},
        "threshold": plain(timeline.threshold),
        "alarms": [alarm_dict(timeline, alarm, settings.accepted) for alarm in window.alarms],
        "facts": [fact.text for fact in window.facts],
    }


def history_dict(timeline: Timeline, settings: Settings) -> dict[str, Any]:
    """A history as plain data: columns over windows, for each rule and for all."""
    return {
        "n_windows": len(timeline.at),
        "n_rules": len(timeline.ids),
        "promise": {"false_alarms": settings.false_alarms, "every": settings.every},
        "threshold": plain(timeline.threshold),
        "at": list(timeline.at),
        "in_baseline": timeline.in_baseline.tolist(),
        "alarms": [alarm_dict(timeline, alarm, settings.accepted) for alarm in timeline.alarms],
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
    }
