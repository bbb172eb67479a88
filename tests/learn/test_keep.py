"""Learning anew keeps what people decided: decisions by id, bounds they edited."""

import json
from pathlib import Path

import numpy as np
import pytest

import sqrl as library
from sqrl._rules.edited import UNKNOWN, with_bounds
from sqrl._rules.save_edits import save_edits
from sqrl.errors import SchemaError

SCHEMA = {"let": {"A": ["x", "y"]}, "rules": ["? <= A <= ?", "? <= mean(x) <= ? over 64"]}
SAID = {"by": "Ann", "why": "seen by eye"}


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(shift, 1, n), "y": rng.normal(0, 1, n)}


@pytest.fixture(scope="module")
def old():
    rules = library.learn(rows(1000, 0), SCHEMA)
    return rules.accept(rules.ids()[0], **SAID).reject(rules.ids()[1], **SAID)


@pytest.fixture(scope="module")
def new():
    return library.learn(rows(1000, 1, shift=1.0), SCHEMA)


def test_decisions_go_over_by_id_and_accepted_rules_that_moved_are_named(old, new):
    """With the old and the new sentence, and how far the bounds moved in old widths."""
    carried = library.carry_decisions(old, new)
    (moved,) = carried.moved
    was, now = old[0], new[0]
    far = max(abs(was.lower - now.lower), abs(was.upper - now.upper)) / (was.upper - was.lower)

    assert carried.rules.decisions == old.decisions
    assert carried.rules.texts() == new.texts()
    assert (moved.before, moved.after, moved.id) == (was.text, now.text, old.ids()[0])
    assert moved.by_widths == pytest.approx(far)
    assert carried.edited == carried.gone == ()


def test_a_decision_about_a_rule_that_is_gone_waits_for_it(old, new):
    """A rejected rule that is not learned today must not be back tomorrow."""
    part = new[[0]]
    carried = library.carry_decisions(old, part)
    again = library.carry_decisions(carried.rules, new)

    assert [one.verdict for one in carried.gone] == ["rejected"]
    assert again.rules.decisions == old.decisions
    assert again.gone == ()


def test_edited_bounds_are_kept_and_compared_with_the_rows_they_are_counted_on(old, new):
    """Of bounds that a person set, data says how often they are broken: Fisher's exact test."""
    from sqrl._check.null_tests import share_test

    edited = with_bounds(old, old.ids()[0], lower=-1.0, upper=1.5)
    data, later = rows(1000, 1), rows(400, 2, shift=2.0)
    carried = library.carry_decisions(edited, new, data)
    rule = carried.rules[0]
    broken = int(((data["x"] < -1.0) | (data["x"] > 1.5)).sum())
    found = library.check(carried.rules, later)

    assert rule.text == "-1 <= x <= 1.5"
    assert rule.learned == new[0].text
    assert rule.evidence == [1000.0, float(broken)]
    assert carried.edited == (old.ids()[0],)
    outside = float(((later["x"] < -1.0) | (later["x"] > 1.5)).sum())
    assert found.p_value[0] == share_test((1000.0, float(broken)), (400.0, outside))[1]
    assert found.findings()


def test_narrower_bounds_that_nobody_counted_have_no_p_value(old):
    """They are no quantile of anything; wider ones keep the learned test, which is cautious."""
    later, one = rows(400, 2), old.ids()[0]
    narrower = library.check(with_bounds(old, one, lower=-0.1, upper=0.1), later)
    wider = library.check(with_bounds(old, one, lower=-9.0, upper=9.0), later)
    learned = library.check(old, later)

    assert np.isnan(narrower.p_value[0])
    assert not narrower.significant[0]
    assert wider.p_value[0] >= learned.p_value[0]


def test_bounds_edited_in_an_editor_are_seen_by_the_numbers_beside_them(old, tmp_path):
    """`lower` and `upper` stand beside the text since it was learned."""
    path = tmp_path / "rules.json"
    old.save(path)
    upper = old[0].upper
    path.write_text(path.read_text().replace(f'<= {upper}"', '<= 7"'))
    edited = library.load_rules(path)
    edited.save(tmp_path / "again.json")

    assert edited[0].upper == 7
    assert edited[0].learned == old[0].text
    assert edited[1].learned is None
    assert library.load_rules(tmp_path / "again.json")[0].learned == old[0].text


def test_a_rule_without_numbers_beside_it_was_written_and_not_edited(old, tmp_path):
    """A file that a person wrote, or another program."""
    path = tmp_path / "rules.json"
    old.save(path)
    content = json.loads(path.read_text())
    content["rules"][0] |= {"lower": None, "upper": None}
    path.write_text(json.dumps(content))

    assert library.load_rules(path)[0].learned is None
    assert library.load_rules(path)[0].coverage == old[0].coverage


def test_of_a_rule_in_buckets_it_is_known_that_it_was_edited(tmp_path):
    """Not what it was: its least and greatest bound alone stand beside it."""
    text = "1 <= y <= 5 if x <= 3 else 2 <= y <= 9"
    rules = library.RuleSet.from_texts([text], coverage=[0.9], supports=[[50, 60]])
    path = tmp_path / "rules.json"
    rules.save(path)
    path.write_text(path.read_text().replace("2 <= y <= 9", "2 <= y <= 8"))

    assert library.load_rules(path)[0].learned == UNKNOWN
    assert library.load_rules(path)[0].coverage is None
    assert library.load_rules(path).ids() == rules.ids()


def test_an_edit_changes_the_lines_of_one_rule(old, tmp_path):
    """The text, its bounds, what was learned; what was measured of the old bounds is gone."""
    path = tmp_path / "rules.json"
    old.save(path)
    before = json.loads(path.read_text())
    loaded = library.load_rules(path)
    edited = with_bounds(loaded, old.ids()[1], lower=-1, upper=None, counted=(1000, 8))
    save_edits(edited, path, edited=[old.ids()[1]])
    after = json.loads(path.read_text())
    rule = after["rules"][1]

    assert rule["text"] == "-1 <= y"
    assert (rule["lower"], rule["upper"], rule["learned"]) == (-1, None, old[1].text)
    assert rule["evidence"] == [1000, 8]
    assert {"coverage", "tail"} & rule.keys() == set()
    after["rules"][1] = before["rules"][1]
    assert after == before
    assert library.load_rules(path)[1] == edited[1]
    edited.save(tmp_path / "whole.json")
    assert library.load_rules(tmp_path / "whole.json").texts() == edited.texts()


def test_all_that_was_measured_of_the_old_bounds_leaves_the_file(tmp_path):
    """What predictions and units said of them too: a check would compare with it."""
    counts = [[900.0, 3.0]]
    measured = ("evidence", "prediction_evidence", "unit_evidence", "prediction_unit_evidence")
    known = {"coverage": [0.98], "support": [900], "tail": [[5, 5]]}
    rules = library.RuleSet.from_texts(["x <= 9"], **known, **dict.fromkeys(measured, counts))
    path = tmp_path / "rules.json"
    rules.save(path)
    before = path.read_bytes()
    loaded = library.load_rules(path)
    edited = with_bounds(loaded, rules.ids()[0], lower=None, upper=5)
    save_edits(edited, path, edited=rules.ids())

    assert library.load_rules(path)[0] == edited[0]
    assert {"coverage", "tail", *measured} & json.loads(path.read_text())["rules"][
        0
    ].keys() == set()
    save_edits(loaded, path, edited=rules.ids())
    assert json.loads(path.read_bytes()) == json.loads(before)


@pytest.mark.parametrize(
    ("text", "bounds", "said"),
    [
        ("1 <= x <= 2", (3, 2), "The lower bound 3 is above the upper bound 2."),
        ("1 <= x <= 2", (None, None), "A rule needs a bound."),
        ("1 <= y if x <= 3 else 2 <= y", (1, 2), "This rule has a bound for each bucket."),
        ("country = NO => currency = NOK", (1, 2), "This rule has no bounds."),
    ],
)
def test_bounds_that_make_no_rule_are_refused(text, bounds, said):
    """With the sentence they were meant for."""
    rules = library.RuleSet.from_texts([text])
    with pytest.raises(SchemaError) as caught:
        with_bounds(rules, rules.ids()[0], lower=bounds[0], upper=bounds[1])

    assert caught.value.what == said
    assert caught.value.where == text


def test_the_command_line_keeps_decisions(sqrl, old):
    """And says which accepted rules are to be looked at again."""
    data = rows(1000, 1, shift=1.0)
    lines = [f"{a},{b}" for a, b in zip(data["x"], data["y"], strict=True)]
    Path("train.csv").write_text("\n".join(["x,y", *lines, ""]))
    Path("schema.yaml").write_text(
        "let: {A: [x, y]}\nrules:\n  - ? <= A <= ?\n  - ? <= mean(x) <= ? over 64\n"
    )
    old.save("old.json")
    given = ("learn", "train.csv", "--schema", "schema.yaml", "--keep", "old.json")
    outcome = sqrl(*given, "-o", "rules.json", "-q")
    tail = outcome.out.splitlines()[-5:]

    assert outcome.code == 0
    assert tail[0] == "kept 2 decisions and the bounds of 0 edited rules"
    assert tail[1] == "1 accepted rule moved; look at it again:"
    assert tail[3].startswith("     now: ")
    assert tail[4].endswith(f"widths, id {old.ids()[0]}")
    assert library.load_rules("rules.json").decisions == old.decisions
    assert sqrl("learn", "train.csv", "--keep", "none.json").code == 2
