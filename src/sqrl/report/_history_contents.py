"""Everything that the page of a history shows, as plain data."""

from typing import Any

import numpy as np

from sqrl._history.history import History, summary_of
from sqrl._history.timeline import Timeline
from sqrl._kernels.arrays import Floats
from sqrl._version import __version__
from sqrl.report._history_facts import DIGITS, Alarms, by_evidence, evidence_share
from sqrl.report._history_text import promise_text, short_or_same
from sqrl.report._wording import plains

MOST_DRAWN = 2_000  # rules with a drawing, those with the most evidence


def history_contents(history: History, *, title: str | None = None) -> dict[str, Any]:
    """The page's data: windows, alarms, decisions, and for each rule columns over windows."""
    timeline, settings = history.timeline(), history.settings
    order = by_evidence(timeline)[:MOST_DRAWN]
    share = evidence_share(timeline.log_evidence, timeline.threshold)
    alarms = Alarms.of_timeline(timeline, settings)
    return {
        "title": title or f"Checks over time: {history.path.name}",
        "version": __version__,
        "summary": summary_of(timeline),
        "promise": promise_text(settings),
        "n_rules": len(timeline.ids),
        "at": list(timeline.at),
        "baseline": timeline.in_baseline.astype(int).tolist(),
        "accepted": [at for at in settings.accepted if at in timeline.at],
        "alarms": [alarms.to_dict(alarm) for alarm in timeline.alarms],
        "waivers": [
            {
                "rule": one.rule,
                "text": short_or_same(timeline.texts.get(one.rule, "")),
                "until": one.until,
                "why": one.why,
            }
            for one in settings.waivers
        ],
        "most": plains(_most(share), 4),
        "rules": [_rule(timeline, share, place) for place in order.tolist()],
    }


def _most(share: Floats) -> Floats:
    """The most evidence that any rule has in each window."""
    return np.asarray(np.nan_to_num(share, nan=0.0).max(axis=0, initial=0.0))


def _rule(timeline: Timeline, share: Floats, place: int) -> dict[str, Any]:
    """One rule: sentence, shares, band and evidence in each window, null where not known."""
    rule = timeline.ids[place]
    text = timeline.texts[rule]
    short = short_or_same(text)
    return {
        "id": rule,
        "text": short,
        "full": None if short == text else text,
        "share": plains(timeline.share[place], DIGITS),
        "low": plains(timeline.low[place], DIGITS),
        "high": plains(timeline.high[place], DIGITS),
        "evidence": plains(share[place], 4),
        "waived": np.flatnonzero(timeline.is_waived[place]).tolist(),
        "alarms": [alarm.at for alarm in timeline.alarms if rule in alarm.rules],
    }
