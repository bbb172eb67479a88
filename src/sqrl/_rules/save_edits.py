"""Decisions and edited bounds saved into a rules file, of which nothing else changes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from sqrl._data.write_file import write_atomically
from sqrl._rules.edit_json import drop_member, elements, members, put_member
from sqrl._rules.edited import OF_BOUNDS
from sqrl._rules.files import save_rules
from sqrl._rules.ruleset import RuleSet

# Of a rule whose bounds were edited, in the order of the file; the others stay as they are.
EDITED = ("lower", "upper", "learned", *OF_BOUNDS)
KEPT = ("text", "lower", "upper")  # stand in every rule, also where they are null


def save_edits(rules: RuleSet, path: str | Path, *, edited: Iterable[str] = ()) -> None:
    """Save the decisions of rules that were loaded from a file, and the bounds of those `edited`.

    The rest of a JSON file stays as it is, to the letter; a Parquet file is written anew.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        save_rules(rules, path)
        return
    text = _with_decisions(path.read_bytes().decode(), rules)  # line ends stay as they are
    wanted = set(edited)
    if wanted:
        starts = elements(text, members(text)["rules"].value)
        for place in reversed(range(len(rules))):  # from behind: what stands before stays in place
            if rules.ids()[place] in wanted:
                text = _with_rule(text, starts[place], rules, place)
    write_atomically(path, text.encode())


def _with_decisions(text: str, rules: RuleSet) -> str:
    if not rules.decisions:
        return drop_member(text, 0, "decisions")
    there = members(text)
    after = next(name for name in ("provenance", "schema", "version") if name in there)
    return put_member(text, 0, "decisions", list(rules.decisions), after=after)


def _with_rule(text: str, start: int, rules: RuleSet, place: int) -> str:
    """The text with what an edit changes of the rule that begins at a place."""
    plain: dict[str, Any] = msgspec.to_builtins(rules[place])
    text = put_member(text, start, "text", plain["text"], after="text")
    before = "text"
    for name in EDITED:
        if name in plain or name in KEPT:
            text = put_member(text, start, name, plain.get(name), after=before)
            before = name
        else:
            text = drop_member(text, start, name)
    return text
