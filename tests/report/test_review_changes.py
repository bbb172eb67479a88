"""What changed between two rules files: appeared, vanished, moved, decided, for a pull request."""

import json

import pytest

import sqrl as library
from sqrl._rules.edited import with_bounds
from sqrl.report._review_changes import change_markdown, review_changes

SAID = {"by": "Ann", "why": "seen | by *eye*"}


@pytest.fixture
def base():
    rules = library.RuleSet.from_texts(["0 <= x <= 10", "0 <= y <= 4", "z <= 3", "0 <= w <= 1"])
    return rules.accept(rules.ids()[0], by="Bo", why="first look")


@pytest.fixture
def newer(base):
    texts = ["0 <= x <= 15", "0 <= y <= 4", "0 <= w <= 1", "v <= 2"]
    rules = library.RuleSet.from_texts(texts)
    rules = library.carry_decisions(base, rules).rules
    rules = rules.reject(rules.ids()[1], **SAID)
    return with_bounds(rules, rules.ids()[2], lower=0, upper=2)


def test_what_changed_is_counted_and_said(base, newer):
    """Appeared, vanished, moved by how much, and what was decided, by id."""
    changes = review_changes(base, newer).to_dict()

    assert review_changes(base, newer).summary() == (
        "1 appeared, 1 vanished, 2 moved, 1 unchanged; 1 decision changed"
    )
    assert [one["text"] for one in changes["appeared"]] == ["v <= 2"]
    assert [one["text"] for one in changes["vanished"]] == ["z <= 3"]
    assert {one["before"]: one["by_widths"] for one in changes["moved"]} == {
        "0 <= x <= 10": 0.5,
        "0 <= w <= 1": 1.0,
    }
    assert [one["edited"] for one in changes["moved"]] == [True, False]
    assert [one["accepted"] for one in changes["moved"]] == [False, True]
    (decided,) = changes["decisions"]
    assert decided["id"] == base.ids()[1]
    assert (decided["before"], decided["after"].verdict) == (None, "rejected")


def test_nothing_changed_is_said_as_well(base):
    """A file against itself."""
    assert review_changes(base, base).summary() == (
        "0 appeared, 0 vanished, 0 moved, 4 unchanged; 0 decisions changed"
    )
    assert change_markdown(review_changes(base, base)) == (
        "## Rules changed\n\n0 appeared, 0 vanished, 0 moved, 4 unchanged; 0 decisions changed\n"
    )


def test_a_withdrawn_decision_is_a_change(base):
    """It says what was decided before."""
    (changed,) = review_changes(base, base.withdraw(base.ids()[0])).decisions

    assert str(changed).startswith("nothing; was accepted by Bo on ")


def test_markdown_is_a_table_that_no_word_can_leave(base, newer):
    """What people wrote is text, not markup."""
    text = change_markdown(review_changes(base, newer))

    assert "| `0 <= x <= 10` | `0 <= x <= 15` |" in text
    assert "by 0\\.5 widths" in text or "by 0.5 widths" in text
    assert "seen \\| by \\*eye\\*" in text
    assert text.count("<details>") == text.count("</details>") == 2


def test_the_command_line_shows_changes_in_three_formats(sqrl, base, newer):
    """A table, JSON, or Markdown; status 0, for a change is no fault."""
    base.save("base.json"), newer.save("rules.json")
    given = ("review", "rules.json", "--against", "base.json")
    table, plain, markdown = (
        sqrl(*given, "--format", name) for name in ("table", "json", "markdown")
    )

    assert [one.code for one in (table, plain, markdown)] == [0, 0, 0]
    assert (
        table.out.splitlines()[0]
        == "1 appeared, 1 vanished, 2 moved, 1 unchanged; 1 decision changed"
    )
    assert "by 0.5 widths, accepted: look again" in table.out
    assert len(json.loads(plain.out)["moved"]) == 2
    assert markdown.out == change_markdown(review_changes(base, newer))
    assert "markdown is for --against." in sqrl("review", "rules.json", "--format", "markdown").err
