"""The documentation says what the program does."""

import re
from pathlib import Path

import pytest

import sqrl
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._language.kinds import KINDS
from sqrl._language.statistics import BUILT_IN, batch_statistic
from sqrl._rows.quantiles import BoundOptions
from sqrl._rules.schema import Schema, Select, Validate
from sqrl.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_every_command_of_the_readme_exists():
    """What the README types, the program takes."""
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    used = set(re.findall(r"^sqrl (\w+)", README, flags=re.MULTILINE))

    assert used
    assert used <= names


def test_every_statistic_is_documented():
    """A statistic that nobody can find is not there."""
    text = (ROOT / "docs" / "language.md").read_text()
    spoken = {
        "counts": "`body => head`",
        "share": "a formula",
        "values": "an expression",
        "cells": "columns and expressions",
    }
    lines = {}
    for name in BUILT_IN:
        known = batch_statistic(name)
        reason = known.reasons.get("p_value")
        tested = f"no: {reason}" if reason else "yes"
        lines.setdefault((spoken[known.of], tested), []).append(f"`{name}`")
        others = set(known.reasons) - {"p_value"}
        assert all(known.reasons[where] in text for where in others)

    assert lines
    for (of, tested), names in lines.items():
        assert f"| {' '.join(names)} | {of} | {tested} |" in text


def test_every_kind_of_rule_is_documented():
    """As the table of kinds has it, with the reasons why something is not computed somewhere."""
    text = (ROOT / "docs" / "language.md").read_text()
    for name, kind in KINDS.items():
        where = set(kind.refused) - {"rows", "batches"}  # one of them, by what the rule is about
        reasons = "; ".join(f"{one}: {kind.refused[one]} " for one in sorted(where))
        examples = f"`{kind.example}` | `{kind.template}`"

        assert f"| `{name}` | {kind.says} | {examples} | {reasons}|" in text


def test_every_schema_key_is_documented():
    """Keys and their nested keys."""
    text = (ROOT / "docs" / "schema.md").read_text()
    for struct in (Schema, BoundOptions, Validate, Select):
        for key in struct.__struct_fields__:
            assert re.search(rf"\b{key}\b", text), key


def test_every_sentence_of_the_language_page_is_understood():
    """The examples of the page are rules and templates that parse."""
    text = (ROOT / "docs" / "language.md").read_text()
    table = text.split("## Formulas")[0]
    rules = re.findall(r"^\| [\w -]+ \| `([^`]+)`", table, flags=re.MULTILINE)

    assert len(rules) >= 8
    assert all(form.pieces or form.head for form in map(read_form, map(parse, rules)))
    assert sqrl.RuleSet.from_texts([rule for rule in rules if "distance(" not in rule])


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_a_page_for_developers_names_exists(page):
    """Who is sent to a file finds it: at the root, or in the package."""
    text = (ROOT / page).read_text()
    quoted = re.findall(r"`([^`\s]+)`", text)
    paths = [name for name in quoted if "/" in name or name.endswith((".py", ".md", ".toml"))]
    absent = [
        path
        for path in paths
        if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "sqrl"))
    ]

    assert len(paths) > 40
    assert absent == []


@pytest.mark.parametrize("page", [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"], ids=str)
def test_pages_have_a_title(page):
    """Every page says what it is."""
    assert page.read_text().startswith("# ")


def test_the_schema_of_the_schema_page_is_one(tmp_path):
    """The example at the top loads."""
    text = (ROOT / "docs" / "schema.md").read_text()
    example = re.search(r"```yaml\n(.*?)```", text, flags=re.DOTALL).group(1)
    (tmp_path / "schema.yaml").write_text(example)

    assert sqrl.load_schema(tmp_path / "schema.yaml").label == "type"


def test_every_finding_names_a_commit_and_tests_that_are_there():
    """A record of what was mended is worth as much as what runs it again."""
    page = (ROOT / "docs" / "reliability.md").read_text()
    part = page.split("## What was found, and mended")[1].split("\n## ")[0]
    lines = re.findall(r"^\| (.+) \| ([0-9a-f]{7}) \| (.+) \|$", part, flags=re.MULTILINE)
    homes = {name: f"tests/hardening/test_{name}.py" for name in ("inputs", "outputs")}

    assert len(lines) == part.count("\n| ") - 1  # but for the header
    for _, _, tests in lines:
        for test in re.findall(r"`([^`]+)`", tests):
            home, _, name = test.partition("::")
            path = ROOT / homes.get(home, re.sub("^corpus/", "fuzz/corpus/", home))
            assert path.is_file(), test
            assert not name or f"def {name}(" in path.read_text(), test
