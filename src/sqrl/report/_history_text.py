"""A history as text that fits a terminal: windows, alarms, and the rules with the most evidence."""

from collections.abc import Iterator

import numpy as np

from sqrl._history.history import summary_of
from sqrl._history.past_alarms import lasts
from sqrl._history.settings import Settings
from sqrl._history.timeline import Alarm, Timeline
from sqrl._history.window_result import WindowResult
from sqrl._kernels.arrays import Floats
from sqrl._language.short import INDENT, sentence_lines, short_text, wrapped
from sqrl.errors import SqrlError
from sqrl.report._history_facts import Alarms, by_evidence, evidence_share
from sqrl.report._wording import counted, percent

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*%#"  # for terminals without the letters above
MOST_WINDOWS = 24  # in a row of blocks
FEW = 3  # rules of an alarm that are named
SAID = {
    "new": "new in the last window",
    "open": "still open",
    "accepted": "accepted",
    "over": "over",
}


def history_lines(
    timeline: Timeline,
    settings: Settings,
    *,
    name: str,
    top: int = 10,
    width: int = 80,
    blocks: str = BLOCKS,
) -> Iterator[str]:
    """The whole history: what is promised, alarms, decisions, rules by their evidence."""
    yield from wrapped(f"{name}: {summary_of(timeline)}", width)
    yield from wrapped(promise_text(settings), width)
    if not timeline.at:
        return
    alarms = Alarms.of_timeline(timeline, settings)
    for alarm in timeline.alarms:
        yield ""
        yield from _alarm_lines(alarms, alarm, width)
    yield from _decision_lines(timeline, settings, width)
    yield from _rule_lines(timeline, top, width, blocks)


def window_lines(window: WindowResult, *, name: str, width: int = 80) -> Iterator[str]:
    """What a history says of the window that was just checked."""
    yield ""
    others, alarms = window.windows.n_windows - 1, Alarms.of_window(window)
    before = "its first window" if not others else f"beside {counted(others, 'other window')}"
    yield from wrapped(f"History {name}: window {window.at}, {before}.", width)
    for alarm in window.alarms:
        yield from _alarm_lines(alarms, alarm, width, "raised by this window")
    if window.alarms:
        yield from wrapped(promise_text(window.settings), width)
        return
    earlier = [alarm for alarm in alarms.alarms if alarm.at < window.at]
    still_open = [alarm for alarm in earlier if alarms.status(alarm) == "open"]
    for alarm in still_open[-FEW:]:
        yield from _alarm_lines(alarms, alarm, width)
    is_odd = window.n_tested and not still_open
    alone = ", for one window by itself does not decide" if is_odd else ""
    facts = " What needs no test, above, fails by itself." if window.facts else ""
    yield from wrapped(f"No new alarm{alone}.{facts} {_most_evidence(window)}", width)


def promise_text(settings: Settings) -> str:
    """What is promised of alarms.

    >>> promise_text(Settings())
    'Promised: on average at most 1 false alarm a year, if a check is made every day.'
    """
    number, _, unit = settings.false_alarms.partition("/")
    alarms = "alarm" if number.strip() == "1" else "alarms"
    return (
        f"Promised: on average at most {number.strip()} false {alarms} a {unit.strip()}, if a check"
        f" is made every {settings.every}."
    )


def _most_evidence(window: WindowResult) -> str:
    """Which rule is nearest to an alarm in a window."""
    decided = window.decision
    now = evidence_share(decided.log_evidence, decided.threshold)
    if np.isnan(now).all():
        return "No rule of this window can be followed over time."
    place = int(np.nanargmax(now))
    if now[place] < 0.005:
        return "There is no evidence of a change."
    rule = decided.ids[place]
    sentence = short_or_same(window.texts.get(rule, ""))
    waived = ", which is waived" if decided.is_waived[place] else ""
    return (
        f"The most evidence is {now[place]:.2f} of what an alarm takes, of {rule}{waived}: "
        f"{sentence}"
    )


def _alarm_lines(
    alarms: Alarms, alarm: Alarm, width: int, said: str | None = None
) -> Iterator[str]:
    """An alarm: what it is about, since when, and the rules behind it."""
    status = said or SAID[alarms.status(alarm)]
    yield from wrapped(f"Alarm of {alarm.at}, {status}: {alarm.cause}", width, "", INDENT)
    ends = dict.fromkeys([alarm.started_low, alarm.started_high])
    between = f", {' to '.join(ends)} by the evidence" if len(ends) > 1 else ""
    rules = counted(len(alarm.rules), "rule")
    yield from wrapped(f"began about {alarm.started}{between}; {rules}:", width, INDENT)
    for rule in alarm.rules[:FEW]:
        mark = f"{INDENT}{rule}  "
        yield from sentence_lines(short_or_same(alarms.texts.get(rule, "")), width, mark=mark)
    if len(alarm.rules) > FEW:
        yield f"{INDENT}... and {len(alarm.rules) - FEW:,} more"


def _decision_lines(timeline: Timeline, settings: Settings, width: int) -> Iterator[str]:
    """What people have decided: windows accepted, rules waived."""
    if settings.accepted or settings.waivers:
        yield ""
    if settings.accepted:
        yield from wrapped(f"Accepted: {', '.join(settings.accepted)}", width, "", INDENT)
    for waiver in settings.waivers:
        over = "" if lasts(waiver.until, timeline.at[-1]) else " (over)"
        said = f"Waived until {waiver.until}{over}"
        yield from wrapped(f"{said}: {waiver.rule}, {waiver.why}", width, "", INDENT)


def _rule_lines(timeline: Timeline, top: int, width: int, blocks: str) -> Iterator[str]:
    """The rules with the most evidence, each with its share over the last windows."""
    order = by_evidence(timeline)[:top].tolist()
    if not order:
        return
    n_shown = min(len(timeline.at), MOST_WINDOWS, max(width - 57, 4))
    yield ""
    windows = counted(n_shown, "window") if n_shown == 1 else f"{n_shown} windows"
    yield from wrapped(
        f"Rules by evidence, of which an alarm takes 1; share broken in the last {windows}:", width
    )
    now = np.nan_to_num(evidence_share(timeline.log_evidence[:, -1], timeline.threshold))
    for number, place in enumerate(order, start=1):
        rule = timeline.ids[place]
        shares, usual = timeline.share[place, -n_shown:], timeline.high[place, -n_shown:]
        row = row_of_blocks(shares, _height(shares, usual), blocks)
        mark = ", waived" if timeline.is_waived[place, -1] else ""
        said = f"{rule:<11} {now[place]:>5.2f}  {row}  {_share_now(timeline, place)}{mark}"
        yield f"{number:>3}  {said}"[:width].rstrip()
        yield from sentence_lines(short_or_same(timeline.texts[rule]), width, mark=INDENT)
    if len(timeline.ids) > top:
        yield f"{INDENT}... and {len(timeline.ids) - top:,} more"


def _height(shares: Floats, usual: Floats) -> float:
    """The share that the highest block stands for: the largest, or what is usual if that is more.

    The usual of a window with few rows reaches high, and is not looked at by itself.
    """
    known = usual[~np.isnan(usual)]
    middle = float(np.median(known)) if known.size else 0.0
    return max(middle, float(np.nan_to_num(shares).max(initial=0.0)))


def _share_now(timeline: Timeline, place: int) -> str:
    """How often a rule is broken in the last window, and how often is usual."""
    share, low, high = (
        values[place, -1] for values in (timeline.share, timeline.low, timeline.high)
    )
    if np.isnan(share):
        return "not checked"
    if np.isnan(low) or np.isnan(high):
        return percent(float(share))
    return f"{percent(float(share))}, usual {_number(low)} to {percent(float(high))}"


def _number(share: float) -> str:
    return percent(float(share)).removesuffix(" %")


def row_of_blocks(values: Floats, most: float, blocks: str = BLOCKS) -> str:
    """A letter for each value, higher for a larger one up to `most`; a space where it is not known.

    >>> row_of_blocks(np.array([0.0, 0.05, np.nan, 0.1]), 0.1)
    '▁▅ █'
    """
    steps = np.clip(values / (most or 1.0), 0.0, 1.0) * (len(blocks) - 1)
    return "".join(" " if np.isnan(step) else blocks[round(float(step))] for step in steps)


def short_or_same(text: str) -> str:
    """The sentence with its numbers rounded; as it is where it is none of this sqrl's language."""
    try:
        return short_text(text)
    except SqrlError:
        return text
