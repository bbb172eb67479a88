"""What a check makes of decisions: rejected rules are left out, waived ones fail nothing."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import sqrl as library
from made_scans import scanned
from sqrl._check.findings.groups import make_groups, simes
from sqrl.report import write_report

SCHEMA = {
    "let": {"A": ["x", "y"]},
    "rules": [
        "? <= A <= ?",
        {"rule": "? <= A <= ?", "coverage": 1},
        "distance(A/10) <= ? over 256",
        "? <= mean(A) <= ? over 256",
    ],
}


def rows(n, seed, *, shift=0.0):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(shift, 1, n), "y": rng.normal(0, 1, n)}


@pytest.fixture(scope="module")
def rules():
    return library.learn(rows(3000, 0), SCHEMA)


@pytest.fixture(scope="module")
def moved():
    return rows(1500, 1, shift=2.0)


def of_column(rules, name):
    """The ids of the rules about a column."""
    return [one for one, text in zip(rules.ids(), rules.texts(), strict=True) if name in text]


SAID = {"by": "Ann", "why": "new sensor"}


def test_rejected_rules_are_not_checked_and_counted(rules, moved):
    """What is left gives what it gives by itself."""
    gone = of_column(rules, "x")
    found = library.check(rules.reject(gone, **SAID), moved)
    alone = library.check(rules[[one not in gone for one in rules.ids()]], moved)

    assert found.notes == (f"{len(gone)} rejected rules were not checked",)
    assert found.rules.texts() == alone.rules.texts()
    assert found.p_value.tolist() == alone.p_value.tolist()
    assert not found.findings()


def test_waived_rules_are_counted_and_make_no_finding(rules, moved):
    """Counts and p-values are those of a check without the waiver; nothing fails."""
    plain = library.check(rules, moved)
    found = library.check(rules.waive(of_column(rules, "x"), until="2999-12-31", **SAID), moved)
    waived = list(found.waived)

    assert [finding.columns for finding in plain.findings()] == [("x",)]
    assert found.findings() == ()
    assert found.broken.tolist() == plain.broken.tolist()
    assert found.shown_p_value.tolist() == plain.p_value.tolist()
    assert np.isnan(found.p_value[waived]).all()
    assert not found.significant.any()
    assert found.waived[waived[0]].text == "waived until 2999-12-31 by Ann: new sensor"


def test_a_group_goes_by_the_rules_that_are_not_waived(rules, moved):
    """Waiving one rule of a changed column leaves the finding to the others."""
    one, *others = of_column(rules, "x")
    found = library.check(rules.waive(one, until="2999-12-31", **SAID), moved)
    group = next(group for group in make_groups(found) if group.columns == ("x",))
    places = [place for place in group.rules if found.rules.ids()[place] in others]

    assert [finding.columns for finding in found.findings()] == [("x",)]
    assert group.p_value == simes(found.p_value[places])
    assert not set(found.findings()[0].rules) & set(found.waived)


def test_a_waiver_lasts_through_its_last_day_and_then_ends_with_a_note(rules, moved):
    """The day after, the rule counts as ever, and the output says why it fails again."""
    waived = rules.waive(of_column(rules, "x"), until="2999-12-31", **SAID)
    on_day, after = (library.check(waived, moved, today=d) for d in ("2999-12-31", "3000-01-01"))

    assert on_day.findings() == ()
    assert not [note for note in on_day.notes if "ended" in note]
    assert [finding.columns for finding in after.findings()] == [("x",)]
    assert sum("ended on 2999-12-31: " in note for note in after.notes) == len(
        of_column(rules, "x")
    )
    assert after.waived == {}


def test_a_column_that_is_gone_is_no_finding_where_all_its_rules_are_waived(rules):
    """As long as one rule of the column is not waived, the plain fact is told."""
    some = {"y": rows(1500, 1)["y"]}
    names = of_column(rules, "x")
    all_waived = rules.waive(names, until="2999-12-31", **SAID)
    but_one = rules.waive(names[1:], until="2999-12-31", **SAID)

    assert library.check(all_waived, some).findings() == ()
    assert [one.kind for one in library.check(but_one, some).findings()] == ["gone"]


def test_rows_are_not_judged_by_waived_rules(rules, moved):
    """A row that breaks nothing but waived rules has a score of 0."""
    plain = library.check(rules, moved).row_scores()
    found = library.check(rules.waive(of_column(rules, "x"), until="2999-12-31", **SAID), moved)
    alone = library.check(rules[[one in of_column(rules, "y") for one in rules.ids()]], moved)

    assert found.row_scores().tolist() == alone.row_scores().tolist()
    assert (found.row_scores() < plain).any()


def test_scanned_rows_give_the_same(rules, moved):
    """Decisions are not about where rows are."""
    some = rules.waive(of_column(rules, "x"), until="2999-12-31", **SAID)
    some = some.reject(of_column(rules, "y")[0], **SAID)
    scan = scanned(pa.table(moved), ends=(700,), rows_at_once=300)
    one, other = library.check(some, moved), library.check(some, scan)

    assert one.to_dict()["rules"] == other.to_dict()["rules"]
    assert other.findings() == ()


def test_what_else_rests_on_rules_leaves_rejected_ones_out(rules, moved):
    """Repair does not mend by them, and SQL does not ask about them."""
    from sqrl.export import to_dbt, to_pandera, to_sql

    gone = of_column(rules, "x")
    rejected = rules.reject(gone, **SAID)[:4]
    kept = rules[:4][[one not in gone for one in rules[:4].ids()]]
    mended = library.repair(rejected, moved, columns=["x", "y"])

    assert mended.before.rules.texts() == kept.texts()
    assert mended.table["x"].to_pylist() == moved["x"].tolist()
    assert to_sql(rejected, table="t") == to_sql(kept, table="t")
    assert to_dbt(rejected, table="t") == to_dbt(kept, table="t")
    assert to_pandera(rejected) == to_pandera(kept)


@pytest.fixture
def files(sqrl, rules, moved):
    rules.save("rules.json")
    lines = [f"{a},{b}" for a, b in zip(moved["x"], moved["y"], strict=True)]
    Path("moved.csv").write_text("\n".join(["x,y", *lines, ""]))
    return sqrl


def test_the_command_line_waives_and_the_check_passes(files, rules):
    """From a failing check to a waived one: one command, and the screen says until when."""
    names = of_column(rules, "x")
    before = files("check", "rules.json", "moved.csv")
    given = [word for one in names for word in ("--waive", one)]
    said = ("--until", "2999-12-31", "--by", "Ann", "--why", "new sensor")
    done = files("review", "rules.json", *given, *said)
    after = files("check", "rules.json", "moved.csv", "--junit", "out.xml")
    suite = ElementTree.parse("out.xml").getroot().find("testsuite")

    assert (before.code, done.code, after.code) == (1, 0, 0)
    assert done.err == "wrote rules.json\n"
    assert "Waived, and so no findings:" in after.out
    assert after.out.count("2999-12-31") == len(names)
    assert [line for line in after.out.splitlines() if len(line) > 80] == []
    skipped = [one.get("message") for one in suite.findall("*/skipped")]
    assert skipped == ["waived until 2999-12-31 by Ann: new sensor"] * len(names)
    assert suite.get("skipped") == str(len(names))


def test_fail_on_any_leaves_waived_rules_out(files, rules):
    """Even where one violation is too many."""
    every = [word for one in rules.ids() for word in ("--waive", one)]
    said = ("--until", "2999-12-31", "--by", "Ann", "--why", "new sensor")
    assert files("check", "rules.json", "moved.csv", "--fail-on", "any").code == 1
    files("review", "rules.json", *every, *said)
    outcome = files("check", "rules.json", "moved.csv", "--fail-on", "any", "--format", "json")
    found = json.loads(outcome.out)

    assert outcome.code == 0
    assert {rule["waived_until"] for rule in found["rules"]} == {"2999-12-31"}
    assert found["broken"] > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--accept", "{id}", "--by", "Ann"), "Invalid value for '--why': say why."),
        (("--accept", "{id}", "--why", "w"), "Invalid value for '--by': say who decides."),
        (
            ("--waive", "{id}", "--by", "A", "--why", "w"),
            "Invalid value for '--until': a waiver needs its last day, such as 2026-12-31.",
        ),
        (
            ("--accept", "{id}", "--until", "2999-01-01", "--by", "A", "--why", "w"),
            "Invalid value for '--until': is for --waive.",
        ),
        (
            ("--accept", "{id}", "--reject", "{id}", "--by", "A", "--why", "w"),
            "Invalid value for 'ID': rule '{id}' is named twice.",
        ),
        (
            ("--accept", "{id}", "--by", "A", "--why", "w", "--against", "rules.json"),
            "Invalid value: decide, or give one of --data and --against.",
        ),
        (
            ("--data", "new.csv", "--against", "rules.json"),
            "Invalid value: decide, or give one of --data and --against.",
        ),
    ],
)
def test_a_decision_that_lacks_something_changes_nothing(files, rules, given, said):
    """Status 2, and the file as it was."""
    one, before = rules.ids()[0], Path("rules.json").read_bytes()
    outcome = files("review", "rules.json", *(word.format(id=one) for word in given))

    assert outcome.code == 2
    assert said.format(id=one) in outcome.err
    assert Path("rules.json").read_bytes() == before


def test_what_has_been_decided_is_listed(files, rules):
    """Waivers first, with a word where one has ended; JSON has the decisions."""
    one, other = rules.ids()[:2]
    files("review", "rules.json", "--accept", one, "--by", "Ann", "--why", "as agreed")
    text = Path("rules.json").read_text()
    files(
        "review",
        "rules.json",
        "--waive",
        other,
        "--until",
        "2999-12-31",
        *("--by", "Bo"),
        *("--why", "w"),
    )
    Path("rules.json").write_text(
        Path("rules.json").read_text().replace("2999-12-31", "2001-12-31")
    )
    outcome = files("review", "rules.json")
    listed = json.loads(files("review", "rules.json", "--format", "json").out)

    assert outcome.out.splitlines()[0] == (
        f"{len(rules)} rules: 1 accepted, 0 rejected, 1 waived, {len(rules) - 2} not decided"
    )
    assert "and has ended" in outcome.out
    assert [decision["id"] for decision in listed] == sorted([one, other])
    assert "accepted" in text


def test_reports_tell_of_waivers(rules, moved, tmp_path):
    """The page has the reason beside the rule, Markdown a line for each."""
    names = of_column(rules, "x")
    found = library.check(rules.waive(names, until="2999-12-31", **SAID), moved)
    for name in ("report.md", "report.html"):
        write_report(found, tmp_path / name)
        text = (tmp_path / name).read_text()

        assert text.count("by Ann: new sensor") + text.count("by Ann\\: new sensor") == len(names)
