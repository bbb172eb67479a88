"""sqrl check --rows and --fail-on rows, and sqrl learn --prediction, as a person meets them."""

import json
from pathlib import Path

import numpy as np
import pytest

import sqrl as library

SCHEMA = """
label: kind
let: {Y: values(kind)}
rules:
  - ? <= width <= ?
  - kind = Y => ? <= width <= ?
"""


def write(path, n_rows, seed, wide=0):
    """Things of two kinds; the first `wide` of them are a hundred times too wide."""
    rng = np.random.default_rng(seed)
    kind = np.array(["cup", "pot"])[rng.integers(0, 2, n_rows)]
    width = np.where(kind == "cup", 8, 20) + rng.normal(0, 1, n_rows)
    width[:wide] *= 100
    lines = [f"{k},{w:.2f},{k}" for k, w in zip(kind, width, strict=True)]
    Path(path).write_text("\n".join(["kind,width,said", *lines, ""]))


@pytest.fixture
def kitchen(sqrl):
    write("train.csv", 4000, 0)
    write("good.csv", 300, 1)
    write("bad.csv", 300, 2, wide=20)
    Path("schema.yaml").write_text(SCHEMA)
    library.learn("train.csv", "schema.yaml").save("rules.json")
    return sqrl


def test_the_screen_of_rows(kitchen, golden):
    """The rows come after the rules, the worst first, numbered from 1, with reasons."""
    outcome = kitchen("check", "rules.json", "bad.csv", "--rows", "--top", 2)

    golden("check_rows.txt", outcome.out)
    assert [line for line in outcome.out.splitlines() if len(line) > 80] == []


def test_rows_are_listed_only_where_asked_for(kitchen):
    """A check says what has changed; which rows it was is another question."""
    given = ("check", "rules.json", "bad.csv", "--format", "json", "--fail-on", "never")
    plain, asked = (json.loads(kitchen(*given, *more).out) for more in ((), ("--rows",)))

    assert "rows" not in plain
    assert asked["rows"]["significant"] >= 20
    assert asked["rows"]["held_out"] == 800
    assert asked["rows"]["rows"][0].keys() == {
        *("row", "score", "p_value", "significant", "rules", "reasons")
    }
    assert {one["row"] for one in asked["rows"]["rows"][:20]} == set(range(1, 21))


@pytest.mark.parametrize(("data", "code"), [("good.csv", 0), ("bad.csv", 1)])
def test_rows_can_decide_the_exit_status(kitchen, data, code):
    """1 where a row is significant, and rows are shown."""
    outcome = kitchen("check", "rules.json", data, "--fail-on", "rows")

    assert outcome.code == code
    assert "rows break a rule" in outcome.out


def test_rules_that_cannot_tell_rows_apart_cannot_decide(kitchen):
    """A gate that nothing could fail is an error, and says what to do."""
    content = json.loads(Path("rules.json").read_text())
    del content["held_out"]
    Path("old.json").write_text(json.dumps(content))
    shown = kitchen("check", "old.json", "bad.csv", "--rows", "--fail-on", "never")
    outcome = kitchen("check", "old.json", "bad.csv", "--fail-on", "rows")

    assert shown.code == 0
    assert "note: rows have no p-values" in shown.out
    assert outcome.code == 2
    assert outcome.err == (
        "sqrl: No row can fail: rows have no p-values: the rules carry no scores of held-out rows, "
        "as where they were written by hand, edited, joined or learned without held-out rows.\n"
        "  where: bad.csv\n"
        "  fix:   learn them again\n"
    )


@pytest.mark.parametrize("option", [("--rows",), ("--fail-on", "rows")])
def test_rows_that_are_scanned_are_refused_before_any_work(kitchen, option):
    """They are never all in memory."""
    outcome = kitchen("check", "rules.json", "bad.csv", "--engine", "local", *option)

    assert outcome.code == 2
    assert outcome.err == (
        "sqrl: A p-value for each row needs all rows in memory, and these are scanned.\n"
        "  where: bad.csv\n"
        "  fix:   check some of the rows\n"
    )


@pytest.mark.parametrize("schema", [("--schema", "schema.yaml"), ("--label", "kind")])
def test_predictions_of_held_out_rows_are_learned_with(kitchen, schema):
    """What `check --prediction` then tests against; a proposed schema leaves the column alone."""
    learned = kitchen("learn", "train.csv", *schema, "--prediction", "said", "-o", "said.json")
    rules = library.load_rules("said.json")
    outcome = kitchen("check", "said.json", "good.csv", "--prediction", "said")

    assert learned.code == 0
    assert any(rule.prediction_evidence for rule in rules)
    assert "said" not in rules.columns()
    assert "predictions are not tested" not in outcome.out
    untested = kitchen("check", "rules.json", "good.csv", "--prediction", "said").out
    assert "note: 2 rules name 'kind', and predictions are not tested against them" in untested
