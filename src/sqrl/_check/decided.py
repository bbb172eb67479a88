"""What a check makes of people's decisions: rules left out, rules waived, waivers that ended."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqrl._kernels.arrays import Floats
from sqrl._rules.decisions import Decision, by_id
from sqrl._rules.ruleset import RuleSet

MOST_TOLD = 5  # waivers that ended, each in a note


@dataclass(frozen=True, slots=True)
class Waived:
    """A rule that is waived on the day of a check, and the p-value it would have had."""

    decision: Decision
    p_value: float

    @property
    def text(self) -> str:
        """Until when, by whom and why."""
        one = self.decision
        return f"waived until {one.until} by {one.by}: {one.why}"


def waivers_on(rules: RuleSet, day: str) -> Mapping[str, Decision]:
    """The waivers that count on a day, by the ids of their rules."""
    return by_id(one for one in rules.decisions if one.verdict == "waived" and one.lasts(day))


def waive_rules(rules: RuleSet, day: str, p_value: Floats) -> dict[int, Waived]:
    """The rules that are waived on a day, by place; their p-values are taken out of the others'.

    A rule without a p-value is in no group, in no Benjamini-Hochberg and in no finding: that is
    what a waiver asks for.

    >>> import numpy as np
    >>> rules = RuleSet.from_texts(["x <= 9", "y <= 9"])
    >>> rules = rules.waive(rules.ids()[0], until="2999-12-31", by="Ann", why="new form")
    >>> p = np.array([0.001, 0.5])
    >>> waive_rules(rules, "2999-12-31", p)[0].p_value, p.tolist()
    (0.001, [nan, 0.5])
    >>> waive_rules(rules, "3000-01-01", np.array([0.001, 0.5]))
    {}
    """
    known = waivers_on(rules, day)
    found = {}
    for place, one in enumerate(rules.ids() if known else ()):
        if one in known:
            found[place] = Waived(known[one], float(p_value[place]))
    p_value[list(found)] = float("nan")
    return found


def decision_notes(given: RuleSet, checked: RuleSet, day: str) -> list[str]:
    """What a reader should know of decisions: how many rules were left out, which waivers ended."""
    notes = []
    left_out = len(given) - len(checked)
    if left_out:
        were = "rejected rule was" if left_out == 1 else "rejected rules were"
        notes.append(f"{left_out:,} {were} not checked")
    ended = [one for one in given.decisions if not one.lasts(day)]
    texts: Mapping[str, str] = {}
    if ended:
        wanted = {one.id for one in ended}
        places = {one: place for place, one in enumerate(given.ids()) if one in wanted}
        texts = {one: given[place].short_text for one, place in places.items()}
        ended = [one for one in ended if one.id in texts]
    for one in ended[:MOST_TOLD]:
        notes.append(f"the waiver of rule {one.id} ended on {one.until}: {texts[one.id]}")
    if len(ended) > MOST_TOLD:
        notes.append(f"{len(ended) - MOST_TOLD:,} more waivers have ended")
    return notes
