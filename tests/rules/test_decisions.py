"""Decisions of people: kept with rules, by id, in both kinds of files, and in small differences."""

import difflib
import json

import pytest

import sqrl
from sqrl._rules.decisions import MOST_DECISIONS, Decision, decide, in_order
from sqrl._rules.edit_json import drop_member, members, put_member
from sqrl._rules.save_edits import save_edits
from sqrl.errors import RulesFileError, SchemaError, UnknownNameError

SAID = {"by": "Ann", "why": "seen by eye"}


@pytest.fixture
def rules():
    texts = ["0 <= x <= 9", "kind = a => y <= 4", "1 <= mean(x) <= 5 over 64"]
    return sqrl.RuleSet.from_texts(texts, coverage=[0.98] * 3, support=[900] * 3)


@pytest.fixture
def decided(rules):
    first, second, third = rules.ids()
    rules = rules.accept(first, **SAID).reject([second], **SAID)
    return rules.waive(third, until="2999-12-31", by="Bo", why="sensor 7, issue 12")


def test_a_decision_makes_new_rules_and_leaves_the_old_ones(rules, decided):
    """Rule sets do not change."""
    assert rules.decisions == ()
    assert {one.id: one.verdict for one in decided.decisions} == dict(
        zip(rules.ids(), ["accepted", "rejected", "waived"], strict=True)
    )
    assert [one.id for one in decided.decisions] == sorted(rules.ids())


def test_a_rule_has_one_decision_the_last(rules, decided):
    """Whoever waives an accepted rule has changed the decision; what it was is in the history."""
    first = rules.ids()[0]
    again = decided.waive(first, until="2999-01-01", by="Bo", why="not now")

    assert len(again.decisions) == 3
    assert next(one for one in again.decisions if one.id == first).verdict == "waived"
    assert len(again.withdraw(first).decisions) == 2


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_decisions_are_read_back_from_both_kinds_of_files(decided, tmp_path, suffix):
    """And a part of the rules keeps them."""
    path = tmp_path / f"rules{suffix}"
    decided.save(path)

    assert sqrl.load_rules(path).decisions == decided.decisions
    assert sqrl.load_rules(path)[:1].decisions == decided.decisions


def test_a_file_without_decisions_is_as_it_was(rules, tmp_path):
    """Older files read, and rules that nobody decided about are written as ever."""
    rules.save(tmp_path / "rules.json")

    assert "decisions" not in json.loads((tmp_path / "rules.json").read_text())
    assert sqrl.load_rules(tmp_path / "rules.json").decisions == ()


def test_rules_of_two_sets_keep_the_decisions_of_both(rules):
    """Of one rule that both decide about the first counts."""
    other = sqrl.RuleSet.from_texts(["z <= 3"])
    both = rules.accept(rules.ids()[0], **SAID) + other.reject(other.ids(), **SAID)

    assert {one.verdict for one in both.decisions} == {"accepted", "rejected"}


def test_rejected_rules_are_not_in_force(rules, decided):
    """The others keep their ids, whatever is left out."""
    left = decided.in_force()

    assert left.ids() == [rules.ids()[0], rules.ids()[2]]
    assert rules.in_force() is rules


def test_an_unknown_id_is_answered_with_the_nearest(rules):
    """A typo decides nothing."""
    one = rules.ids()[0]
    with pytest.raises(UnknownNameError) as caught:
        rules.accept(one[:-1], **SAID)

    assert (
        str(caught.value) == f"Unknown id of a rule {one[:-1]!r}.\n  fix:   did you mean {one!r}?"
    )


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"by": ""}, "'by' of a decision is one line of 1 to 200 letters"),
        ({"why": " "}, "'why' of a decision is one line of 1 to 2,000 letters"),
        ({"why": "a\nb"}, "'why' of a decision is one line of 1 to 2,000 letters"),
        ({"why": "x" * 2001}, "'why' of a decision is one line of 1 to 2,000 letters"),
        ({"by": "\x1b[2J"}, "'by' of a decision is one line of 1 to 200 letters"),
    ],
)
def test_who_and_why_are_needed_and_bounded(rules, changed, what):
    """A decision that nobody answers for is none."""
    with pytest.raises(SchemaError) as caught:
        rules.accept(rules.ids()[0], **SAID | changed)

    assert str(caught.value) == (
        f"The decision cannot be kept: {what}.\n"
        f"  where: rule {rules.ids()[0]}\n"
        "  fix:   say who decided and why"
    )


@pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", "31.12.2026", "20261231"])
def test_a_day_is_an_iso_date(rules, day):
    """So that days compare as texts, and nobody has to guess."""
    with pytest.raises(SchemaError) as caught:
        rules.waive(rules.ids()[0], until=day, **SAID)

    assert str(caught.value) == f"{day!r} is not a day.\n  fix:   write a date such as 2026-12-31"


def test_a_waiver_that_has_ended_cannot_be_made():
    """It would do nothing, and say nothing."""
    with pytest.raises(SchemaError) as caught:
        decide(["a"], (), "a", "waived", **SAID, until="2026-01-01", when="2026-01-02")

    assert str(caught.value) == (
        "A waiver until 2026-01-01 has ended before it was made, on 2026-01-02.\n"
        "  fix:   name a day to come"
    )


def made(**changed):
    plain = {"id": "a", "verdict": "accepted", "by": "Ann", "when": "2026-01-02", "why": "w"}
    return plain | changed


@pytest.mark.parametrize(
    ("decisions", "what"),
    [
        (
            [made(verdict="maybe")],
            "The rules file is damaged: Invalid enum value 'maybe' - at `$.decisions[0].verdict`.",
        ),
        (
            [made(until="2026-02-01")],
            "The rules file is damaged: a decision has 'until' where it is a waiver, and only there"
            " - at `$.decisions[0]`.",
        ),
        (
            [made(when="soon")],
            "The rules file is damaged: 'when' of a decision is a date such as 2026-12-31"
            " - at `$.decisions[0]`.",
        ),
        (
            [made(whom="me")],
            "The rules file is damaged: Object contains unknown field `whom`"
            " - at `$.decisions[0]`.",
        ),
        ([made(), made(by="Bo")], "Rule 'a' has two decisions."),
    ],
)
def test_a_decision_that_is_none_is_refused_on_load(rules, tmp_path, decisions, what):
    """A file edited by hand is read with care, and says where it went wrong."""
    path = tmp_path / "rules.json"
    rules.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"decisions": decisions}))
    with pytest.raises(RulesFileError) as caught:
        sqrl.load_rules(path)

    assert caught.value.what == what
    assert str(path) in caught.value.where


def test_decisions_are_not_without_end():
    """A file that somebody else wrote cannot fill the memory with them."""
    one = Decision(**made())
    with pytest.raises(RulesFileError) as caught:
        in_order([one] * (MOST_DECISIONS + 1))

    assert caught.value.what == "There are 100,001 decisions; at most 100,000 are kept."


# Small differences


def changed_lines(before, after):
    """The lines that were taken out and put in."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_a_decision_adds_its_own_lines_and_changes_no_other(rules, tmp_path):
    """In a pull request a decision is seven lines; withdrawn, the file is as it was."""
    path = tmp_path / "rules.json"
    rules.save(path)
    before = path.read_text()
    decided = sqrl.load_rules(path).accept(rules.ids()[1], **SAID)
    save_edits(decided, path)
    after = path.read_text()

    assert [line.strip("+ ,") for line in changed_lines(before, after)] == [
        '"decisions": [',
        "{",
        f'"id": "{rules.ids()[1]}"',
        '"verdict": "accepted"',
        '"by": "Ann"',
        f'"when": "{decided.decisions[0].when}"',
        '"why": "seen by eye"',
        "}",
        "]",
    ]
    assert all(line[0] == "+" for line in changed_lines(before, after))
    decided.save(tmp_path / "same.json")
    assert (tmp_path / "same.json").read_text() == after
    save_edits(sqrl.load_rules(path).withdraw(rules.ids()[1]), path)
    assert path.read_text() == before


def test_a_file_that_somebody_formatted_stays_formatted(rules, tmp_path):
    """Whatever the indent, and with fields that this version does not know."""
    path = tmp_path / "rules.json"
    rules.save(path)
    content = json.loads(path.read_text()) | {"note": ["kept", 1.50]}
    for indent in (None, 4):
        text = json.dumps(content, indent=indent).replace("1.5", "1.50")
        path.write_text(text)
        save_edits(sqrl.load_rules(path).reject(rules.ids()[0], **SAID), path)
        there = members(path.read_text())["decisions"]
        written = path.read_text()

        assert json.loads(written)["note"] == ["kept", 1.5]
        assert "1.50" in written
        assert sqrl.load_rules(path).decisions[0].verdict == "rejected"
        assert drop_member(written, 0, "decisions") == text
        assert json.loads(written[there.value : there.end])[0]["by"] == "Ann"


def test_line_ends_stay_as_they_are(rules, tmp_path):
    """A file from another system is not rewritten as a whole."""
    path = tmp_path / "rules.json"
    rules.save(path)
    before = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(before)
    save_edits(sqrl.load_rules(path).accept(rules.ids()[1], **SAID), path)
    after = path.read_bytes()

    assert after.count(b"\n") == after.count(b"\r\n") == before.count(b"\n") + 9
    save_edits(sqrl.load_rules(path).withdraw(rules.ids()[1]), path)
    assert path.read_bytes() == before


def test_members_are_found_whatever_texts_hold():
    """Braces, commas and quotes within texts end nothing."""
    text = '{"a": "},{\\"b\\": [", "b": {"a": [1, {"b": 2}]}, "c": []}'

    assert list(members(text)) == ["a", "b", "c"]
    assert json.loads(put_member(text, 0, "b", 7, after="a")) == json.loads(text) | {"b": 7}
    assert put_member(text, 0, "b", json.loads(text)["b"], after="a") == text
