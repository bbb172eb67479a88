"""sqrl check, compare and explain as a person meets them: screens, files and exit statuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sqrl as library

SCHEMA = """
label: type
let: {Y: values(type), L: literals(width/3)}
rules:
  - type = Y => ? <= width <= ?
  - type = Y => ? <= height <= ? by width/2
  - ? <= f1(L => type = Y) <= ? over 100
coverage: 0.9
"""


def boxes(path, n_rows, seed, *, wrong=0.0, wider=1.0):
    """Boxes of two types, the model's guess, and how sure it was."""
    rng = np.random.default_rng(seed)
    is_car = rng.random(n_rows) < 0.7
    width = np.where(is_car, rng.normal(20, 2, n_rows), rng.normal(30, 3, n_rows)) * wider
    height = width * rng.normal(0.7, 0.05, n_rows)
    said = is_car ^ (rng.random(n_rows) < wrong)
    sure = np.clip(rng.normal(0.8, 0.1, n_rows), 0.5, 1.0)
    names = np.array(["Van", "Car"])
    columns = [names[is_car * 1], width.round(3), height.round(3), names[said * 1], sure.round(3)]
    columns.append(np.where(said, sure, 1 - sure).round(3))
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    Path(path).write_text("\n".join(["type,width,height,said,sure,p_car", *lines, ""]))


@pytest.fixture
def road(sqrl):
    """Rules in rules.json; good.csv is like the train rows, bad.csv has wrong guesses."""
    boxes("train.csv", 1500, 0)
    boxes("good.csv", 1000, 1)
    boxes("bad.csv", 1000, 2, wrong=0.2)
    Path("schema.yaml").write_text(SCHEMA)
    library.learn("train.csv", "schema.yaml", prediction="said").save("rules.json")
    return sqrl


def assert_fits(text):
    """No line is wider than the terminal."""
    assert [line for line in text.splitlines() if len(line) > 80] == []


# check


def test_the_screen_of_a_clean_check(road, golden):
    """No finding, a few rules broken as chance has it, and status 0."""
    outcome = road("check", "rules.json", "good.csv", "--top", 3)

    assert (outcome.code, outcome.err) == (0, "")
    assert_fits(outcome.out)
    golden("check_clean.txt", outcome.out)


def test_the_screen_of_broken_rules(road, golden):
    """What has changed first, then the rules that show it, and status 1."""
    outcome = road("check", "rules.json", "bad.csv", "--prediction", "said", "--top", 4)

    assert (outcome.code, outcome.err) == (1, "")
    assert_fits(outcome.out)
    golden("check_broken.txt", outcome.out)


def test_the_screen_with_probabilities(road, golden):
    """Both counts, and which of them to believe."""
    outcome = road(
        *("check", "rules.json", "bad.csv", "--prediction", "said", "--top", 3),
        *("--probabilities", "Car=p_car"),
    )

    assert_fits(outcome.out)
    golden("check_probabilities.txt", outcome.out)


def test_json_has_the_fields_that_others_rely_on(road):
    """The result of the library, as JSON."""
    outcome = road("check", "rules.json", "bad.csv", "--prediction", "said", "--format", "json")
    found = json.loads(outcome.out)
    same = library.check(library.load_rules("rules.json"), "bad.csv", prediction="said")

    assert outcome.code == 1
    assert found == json.loads(json.dumps(same.to_dict()))
    assert {"n_rules", "n_samples", "violations", "violations_per_sample", "rules"} <= set(found)
    for rule in found["rules"]:
        assert {"text", "applicable", "violations", "expected", "p_value", "significant"} <= set(
            rule
        )


@pytest.mark.parametrize(
    ("data", "fail_on", "code"),
    [
        ("good.csv", "significant", 0),
        ("good.csv", "any", 1),
        ("good.csv", "never", 0),
        ("bad.csv", "significant", 1),
        ("bad.csv", "any", 1),
        ("bad.csv", "never", 0),
    ],
)
def test_fail_on_decides_the_exit_status(road, data, fail_on, code):
    """By default rules broken beyond chance make the status 1."""
    given = ("check", "rules.json", data, "--prediction", "said")

    assert road(*given, "--fail-on", fail_on).code == code
    if fail_on == "significant":
        assert road(*given).code == code


@pytest.mark.parametrize("fail_on", ["never", "significant"])
@pytest.mark.parametrize(
    ("content", "what", "fix"),
    [
        ("", "The file is empty.", "add a header and rows"),
        ("type,width,height\n", "The table has no rows.", "give data to check"),
    ],
)
def test_a_file_without_rows_is_bad_input_whatever_fails(road, content, what, fix, fail_on):
    """A night without data must not pass, and is told apart from a night with broken data."""
    Path("none.csv").write_text(content)
    outcome = road("check", "rules.json", "none.csv", "--fail-on", fail_on)

    assert outcome.code == 2
    assert outcome.err == f"sqrl: {what}\n  where: none.csv\n  fix:   {fix}\n"


def test_options_reach_the_check(road):
    """Level, mini-batches, seed, separator and encoding do what they do in Python."""
    Path("semi.csv").write_text(Path("bad.csv").read_text().replace(",", ";"), encoding="utf-16")
    given = ("--level", 0.001, "--batches", 7, "--seed", 3, "--format", "json")
    read = ("--separator", ";", "--encoding", "utf-16")
    found = json.loads(road("check", "rules.json", "semi.csv", *given, *read).out)
    rules = library.load_rules("rules.json")
    same = library.check(rules, "bad.csv", level=0.001, batches=7, seed=3)

    assert found["level"] == 0.001
    assert found["n_batches"] == {"100": 7}
    assert found["rules"] == json.loads(json.dumps(same.to_dict()))["rules"]


def test_of_all_candidates_the_selected_ones_are_checked(road):
    """A Parquet file also holds what was rejected."""
    library.learn("train.csv", "schema.yaml", keep="all").save("rules.parquet")
    given = ("bad.csv", "--prediction", "said", "--format", "json")
    texts = [
        {rule["text"] for rule in json.loads(road("check", file, *given).out)["rules"]}
        for file in ("rules.json", "rules.parquet")
    ]

    assert texts[0] == texts[1]


def test_rows_that_break_rules_are_written(road):
    """CSV and Parquet hold the same: rule and row by number, how far, and the sentence."""
    given = ("check", "rules.json", "bad.csv", "--prediction", "said")
    outcome = road(*given, "--violations", "v.csv")
    road(*given, "--violations", "v.parquet")
    text, table = pyarrow.csv.read_csv("v.csv"), pq.read_table("v.parquet")
    found = library.check(library.load_rules("rules.json"), "bad.csv", prediction="said")

    assert outcome.err == "wrote v.csv\n"
    assert text.column_names == table.column_names == ["rule", "row", "excess", "text"]
    assert table["row"].to_pylist() == text["row"].to_pylist() == (found.pair_row + 1).tolist()
    assert table["rule"].to_pylist() == (found.pair_rule + 1).tolist()
    assert table["text"][0].as_py() == found.rules[int(found.pair_rule[0])].text
    assert table["excess"].to_numpy() == pytest.approx(found.pair_excess)


def test_junit_has_a_case_for_each_rule(road):
    """Rules broken by the criterion are failures; the others pass."""
    given = ("check", "rules.json", "bad.csv", "--prediction", "said", "--junit", "out.xml")
    for fail_on in ("significant", "any", "never"):
        assert road(*given, "--fail-on", fail_on).err == "wrote out.xml\n"
        suite = ElementTree.parse("out.xml").getroot().find("testsuite")
        found = library.check(library.load_rules("rules.json"), "bad.csv", prediction="said")
        failed = {"significant": found.significant, "any": found.broken > 0, "never": []}[fail_on]
        cases = suite.findall("testcase")

        assert suite.get("name") == "bad.csv"
        assert [case.find("system-out").text for case in cases] == found.rules.texts()
        assert int(suite.get("failures")) == sum(failed) == len(suite.findall("*/failure"))
        assert int(suite.get("tests")) == len(cases)


def test_junit_names_a_rule_by_its_id_and_what_it_is_about(road):
    """Rules that are learned anew from other rows keep the names of their cases."""
    named = []
    for seed in (0, 7):
        boxes("train.csv", 1500, seed)
        library.learn("train.csv", "schema.yaml").save("rules.json")
        road("check", "rules.json", "good.csv", "--junit", "out.xml")
        cases = ElementTree.parse("out.xml").getroot().iter("testcase")
        named.append({(case.get("classname"), case.get("name")) for case in cases})
    kept = {name.partition(" ")[2]: name.partition(" ")[0] for _, name in named[0] & named[1]}

    assert kept["type = Van => ? <= width <= ?"] in library.load_rules("rules.json").ids()
    assert {classname for classname, _ in named[0]} == {"sqrl.check"}
    assert not [name for _, name in named[0] if re.search(r"\d\.\d", name)]


def test_junit_has_a_failure_for_each_finding(road):
    """In a suite of its own, so that the cases of rules stay as they were."""
    given = ("check", "rules.json", "bad.csv", "--prediction", "said", "--junit", "out.xml")
    road(*given)
    findings = library.check(
        library.load_rules("rules.json"), "bad.csv", prediction="said"
    ).findings()
    root = ElementTree.parse("out.xml").getroot()
    of_rules, of_findings = root.findall("testsuite")

    assert of_findings.get("name") == "findings of bad.csv"
    told = [case.find("failure").get("message") for case in of_findings.findall("testcase")]
    assert told == [finding.text for finding in findings]
    assert int(root.get("failures")) == int(of_rules.get("failures")) + len(findings)
    road(*given, "--fail-on", "never")
    assert len(ElementTree.parse("out.xml").getroot().findall("testsuite")) == 1


def test_a_column_that_is_gone_is_a_finding_and_fails(road):
    """What can be checked is checked; --fail-on never still opens."""
    lines = [line.split(",") for line in Path("good.csv").read_text().splitlines()]
    Path("gone.csv").write_text("\n".join(",".join([*line[:2], *line[3:]]) for line in lines))
    outcome = road("check", "rules.json", "gone.csv")

    assert outcome.code == 1
    assert "  1  column height is gone: 2 rules cannot be checked\n" in outcome.out
    assert road("check", "rules.json", "gone.csv", "--fail-on", "never").code == 0


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("significant", 1), ("any", 1)])
def test_a_closed_pipe_keeps_the_exit_status(fail_on, code):
    """`sqrl check ... | head` in a script that stops at the first error."""
    reader, writer = os.pipe()
    os.close(reader)
    given = ("check", "rules.json", "bad.csv", "--prediction", "said", "--fail-on", fail_on)
    done = subprocess.run(
        [sys.executable, "-m", "sqrl.cli", *given],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (code, b"")


def test_junit_skips_rules_that_applied_to_nothing(road):
    """A rule that was not tested did not pass."""
    Path("cars.csv").write_text("type,width,height\nCar,20,14\n")
    road("check", "rules.json", "cars.csv", "--junit", "out.xml")
    suite = ElementTree.parse("out.xml").getroot().find("testsuite")

    assert int(suite.get("skipped")) == len(suite.findall("*/skipped")) > 0


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_a_report_is_written(road, name):
    """One page that says what the screen says."""
    outcome = road("check", "rules.json", "bad.csv", "--prediction", "said", "--report", name)

    assert outcome.code == 1
    assert outcome.err == f"wrote {name}\n"
    assert "bad.csv" in Path(name).read_text()


def test_a_report_can_draw_what_the_rules_were_learned_from(road):
    """--reference names rows to draw behind the checked ones."""
    given = ("check", "rules.json", "bad.csv", "--report", "report.html")
    road(*given)
    plain = Path("report.html").read_text()
    road(*given, "--reference", "train.csv")

    assert "train.csv" in Path("report.html").read_text()
    assert Path("report.html").read_text() != plain


# compare


def test_the_screen_of_two_models(road, golden):
    """The label itself against a model's guesses on the same rows."""
    outcome = road(
        *("compare", "rules.json", "bad.csv", "bad.csv", "--top", 3),
        *("--prediction", "type", "--prediction-after", "said"),
    )

    assert (outcome.code, outcome.err) == (0, "")
    assert_fits(outcome.out)
    assert "on the same rows" in " ".join(outcome.out.split())
    golden("compare.txt", outcome.out)


def test_two_dates_are_compared(road):
    """Different rows, the same rules; JSON as in Python."""
    boxes("later.csv", 1000, 3, wider=1.1)
    outcome = road("compare", "rules.json", "good.csv", "later.csv", "--format", "json")
    found = json.loads(outcome.out)

    assert outcome.code == 0
    assert not found["paired"]
    assert found["worse"] > 0
    assert found["after"]["violations"] > found["before"]["violations"]


@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("significant", 1), ("any", 1)])
def test_a_comparison_can_fail(road, fail_on, code):
    """A gate for a new model: no rule may be broken more often."""
    given = ("--prediction", "type", "--prediction-after", "said", "--fail-on", fail_on)

    assert road("compare", "rules.json", "bad.csv", "bad.csv", *given).code == code
    back = ("--prediction", "said", "--prediction-after", "said", "--fail-on", fail_on)
    assert road("compare", "rules.json", "bad.csv", "bad.csv", *back).code == 0


def test_a_comparison_can_be_a_page(road):
    """Before and after on one page."""
    outcome = road("compare", "rules.json", "good.csv", "bad.csv", "--report", "report.html")

    assert outcome.err == "wrote report.html\n"
    assert "good.csv" in Path("report.html").read_text()


# explain


def test_errors_are_explained(road):
    """Which broken rules foretell a wrong prediction; JSON as in Python."""
    given = ("rules.json", "bad.csv", "--prediction", "said", "--truth", "type", "--score", "sure")
    outcome = road("explain", *given)
    plain = road("explain", *given, "--format", "json")

    assert (outcome.code, outcome.err) == (0, "")
    assert_fits(outcome.out)
    assert json.loads(plain.out)["n_wrong"] > 100


@pytest.mark.parametrize("command", ["check", "compare", "explain"])
def test_help_fits_the_terminal(sqrl, command):
    """Help is plain text of at most 80 columns."""
    outcome = sqrl(command, "--help")

    assert outcome.code == 0
    assert_fits(outcome.out)
