"""Rules learned anew with what people decided about the old ones: decisions and edited bounds."""

from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as replace_parts

from sqrl._check.check import check
from sqrl._rules.decisions import Decision
from sqrl._rules.diff import Moved, diff_rules
from sqrl._rules.edited import put_edited
from sqrl._rules.ruleset import RuleSet


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """Newly learned rules with old decisions, and what a person should look at again.

    `moved` are accepted rules whose bounds are others now, those that moved most first; `edited`
    the ids of rules that keep bounds which a person edited; `gone` the decisions about rules that
    were not learned again, which are kept for the day they are.
    """

    rules: RuleSet
    moved: tuple[Moved, ...]
    edited: tuple[str, ...]
    gone: tuple[Decision, ...]


def carry_decisions(old: RuleSet, new: RuleSet, data: Any = None) -> Carried:
    """The new rules with the decisions about the old ones, and with bounds that were edited.

    Two rules are the same where their ids are. Of rows in `data`, if given, it is counted how many
    break edited bounds, so that checks can tell what chance would do.

    >>> old = RuleSet.from_texts(["3 <= GCS <= 15", "0 <= HR <= 200"])
    >>> old = old.accept(old.ids(), by="Ann", why="seen by eye")
    >>> carried = carry_decisions(old, RuleSet.from_texts(["3 <= GCS <= 14"]))
    >>> carried.moved[0].before, carried.moved[0].after, len(carried.gone)
    ('3 <= GCS <= 15', '3 <= GCS <= 14', 1)
    """
    new = new.with_ids()
    there = {one: place for place, one in enumerate(new.ids())}
    edited = [
        (place, there[one])
        for place, (one, learned) in enumerate(
            zip(old.ids(), old.table["learned"].to_pylist(), strict=True)
        )
        if learned is not None and one in there
    ]
    kept = _with_edited(old, new, edited, data) if edited else new
    accepted = {one.id for one in old.decisions if one.verdict == "accepted"}
    moved = diff_rules(old, kept).moved if accepted else ()
    return Carried(
        rules=replace(kept, decisions=old.decisions),
        moved=tuple(one for one in moved if one.id in accepted),
        edited=tuple(new.ids()[place] for _, place in edited),
        gone=tuple(one for one in old.decisions if one.id not in there),
    )


def _with_edited(old: RuleSet, new: RuleSet, edited: list[tuple[int, int]], data: Any) -> RuleSet:
    """The new rules, some of them with the bounds of old ones."""
    made = new
    for was, now in edited:
        form = replace_parts(new.form(now), pieces=old.form(was).pieces)
        made = put_edited(made, now, form, new[now].text)
    if data is None:
        return made
    places = [now for _, now in edited]
    found = check(replace(made[places], decisions=()), data)
    for index, place in enumerate(places):
        counted = int(found.applicable[index]), int(found.broken[index])
        if made.form(place).bounds_rows:
            made = put_edited(made, place, made.form(place), new[place].text, counted)
    return made
