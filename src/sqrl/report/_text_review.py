"""Decisions about rules as text that fits a terminal."""

from collections import Counter
from collections.abc import Iterator
from math import isnan

from sqrl._language.short import INDENT, sentence_lines, short_text, wrapped
from sqrl._learn.keep import Carried
from sqrl._rules.decisions import Decision, by_id
from sqrl._rules.ruleset import RuleSet
from sqrl.report._wording import counted


def decision_lines(rules: RuleSet, *, day: str, top: int = 10, width: int = 80) -> Iterator[str]:
    """What has been decided about rules, the waivers first, those that ended at their head."""
    known = by_id(rules.decisions)
    ids = rules.ids()
    there = {one: place for place, one in enumerate(ids)}
    counts = Counter(known[one].verdict for one in ids if one in known)
    told = [f"{counts[verdict]:,} {verdict}" for verdict in ("accepted", "rejected", "waived")]
    left = len(ids) - sum(counts.values())
    yield f"{counted(len(rules), 'rule')}: {', '.join(told)}, {left:,} not decided"
    shown = sorted((one for one in rules.decisions if one.id in there), key=_order)
    for one in shown[:top]:
        yield ""
        rule = rules[there[one.id]]
        yield from sentence_lines(rule.short_text, width, mark=INDENT)
        ended = "" if one.lasts(day) else ", and has ended"
        yield from wrapped(f"{one.id}: {one}{ended}", width, INDENT)
    if top and len(shown) > top:
        yield f"{INDENT}... and {len(shown) - top:,} more"
    gone = len(rules.decisions) - len(shown)
    if gone:
        are = "decision is" if gone == 1 else "decisions are"
        yield f"{gone:,} {are} about rules that are not in the file"


def carried_lines(carried: Carried, *, top: int = 10, width: int = 80) -> Iterator[str]:
    """What was kept of older rules, and the accepted rules whose bounds are others now."""
    kept = len(carried.rules.decisions) - len(carried.gone)
    edited = counted(len(carried.edited), "edited rule")
    yield f"kept {counted(kept, 'decision')} and the bounds of {edited}"
    if carried.gone:
        gone = counted(len(carried.gone), "decision")
        yield f"{gone} kept about rules that were not learned this time"
    if carried.moved:
        rules = counted(len(carried.moved), "accepted rule")
        yield f"{rules} moved; look at {'it' if len(carried.moved) == 1 else 'them'} again:"
    for number, one in enumerate(carried.moved[:top], start=1):
        yield from sentence_lines(short_text(one.before), width, mark=f"{number:>3}  ")
        yield from wrapped(f"now: {short_text(one.after)}", width, INDENT)
        far = "" if isnan(one.by_widths) else f"moved by {one.by_widths:.2g} widths, "
        yield f"{INDENT}{far}id {one.id}"
    if top and len(carried.moved) > top:
        yield f"{INDENT}... and {len(carried.moved) - top:,} more"


def _order(one: Decision) -> tuple[str, str]:
    return one.until or "9999-99-99", one.id
