"""Sentences: what is read is printed and read again as the same, and rules can be checked."""

from pathlib import Path
from typing import Any

from draw import Draw, arrow_table

import sqrl
from sqrl._language import parse, to_text
from sqrl._language.forms import read_form, sentence_of
from sqrl.errors import SqrlError
from targets import expect


def make(draw: Draw) -> dict[str, Any]:
    """A sentence, whole or damaged, and a table."""
    text = draw.sentence(hole=draw.chance(0.3))
    if draw.chance(0.5):
        text = draw.damaged_text(text)
    table = draw.table(least=1) if draw.chance(0.4) else None
    return {"text": text, "table": table}


def run(case: dict[str, Any], folder: Path) -> None:  # noqa: ARG001
    """Read, print and read again; check a rule, learn a template."""
    sentence = parse(case["text"])
    printed = to_text(sentence)
    expect(parse(printed) == sentence, f"{printed!r} is another sentence than {case['text']!r}")
    form = read_form(sentence)
    again = sentence_of(form)
    expect(read_form(again) == form, f"the form of {printed!r} is not that of its sentence")
    if case["table"] is None:
        return
    table = arrow_table(case["table"])
    try:
        rules = sqrl.RuleSet.from_texts([case["text"]])
    except SqrlError:
        sqrl.learn(table, {"rules": [case["text"]], "validate": False, "coverage": 0.8})
        return
    found = sqrl.check(rules, table)
    expect(int(found.broken[0]) <= int(found.applicable[0]), "more broken than applicable")
    found.findings()
