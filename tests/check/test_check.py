"""check() from rules and rows to Violations: totals, places, classes, notes and real data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import real_data
import sqrl
import strategies
from sqrl._language import parse
from sqrl._language.forms import read_form

ROWS = {
    "type": ["Car", "Car", "Van", "Car", None, "Van"],
    "width": [3.0, 12.0, 99.0, None, 50.0, 5.0],
}


def rules_of(*texts, **columns):
    """Rules from sentences."""
    return sqrl.RuleSet.from_texts(texts, **columns)


def test_rows_that_break_rules_are_found():
    """Held, broken and not applicable; which rows, and by how much."""
    rules = rules_of(
        "type = Car => 0 <= width <= 9", "type = Van => width <= 50", "0 <= width <= 60"
    )
    found = sqrl.check(rules, ROWS)

    assert found.applicable.tolist() == [2, 2, 5]
    assert found.broken.tolist() == [1, 1, 1]
    assert found.pair_rule.tolist() == [0, 1, 2]
    assert found.pair_row.tolist() == [1, 2, 2]
    assert found.pair_excess.tolist() == pytest.approx([3 / 9, np.inf, 39 / 60])
    assert found.rows_of(0)[0].tolist() == [1]
    assert found.rules_of(2).tolist() == [1, 2]
    assert found.row_counts().tolist() == [0, 1, 2, 0, 0, 0]
    assert (found.total, found.n_broken, found.per_sample()) == (3, 3, 0.5)
    assert found.share().tolist() == pytest.approx([0.5, 0.5, 0.2])


def test_a_graded_violation_grows_from_zero_to_one():
    """A third of a width too far is a quarter, a width a half, no width at all everything."""
    rules = rules_of("0 <= x <= 9", "x <= 1000")
    degree = sqrl.check(rules, {"x": [4.0, 12.0, 18.0, 1e5]}).row_degree()

    assert degree.tolist() == pytest.approx([0, 0.25, 0.5, 1], abs=1e-6)


def test_effects_are_in_widths():
    """How far outside on average; unknown where a rule has no width or is not broken."""
    rules = rules_of("0 <= x <= 9", "x <= 10", "0 <= x <= 99", "0 <= mean(x) <= 2 over 2")
    effect = sqrl.check(rules, {"x": [4.0, 12.0, 18.0, 4.0]}).effect()

    np.testing.assert_allclose(effect[:3], [(3 / 9 + 1) / 2, np.nan, np.nan])
    assert effect[3] > 0


def test_predictions_take_the_place_of_the_label():
    """Rules learned on labels speak of what a model said, wherever they name the label."""
    table = ROWS | {"said": ["Van", "Car", "Van", "Car", "Car", "Car"]}
    rules = rules_of("type = Car => 0 <= width <= 9", "width > 40 => type = Car")
    found = sqrl.check(rules, table, prediction="said")

    assert found.applicable.tolist() == [3, 2]
    assert found.rows_of(0)[0].tolist() == [1, 4]
    assert found.rows_of(1)[0].tolist() == [2]
    assert (found.label, found.prediction) == ("type", "said")
    assert found.table["type"].distinct() == ("Car", "Van")


def test_the_label_need_not_be_there_where_a_prediction_is():
    """At deployment there are no labels."""
    table = {"said": ["Car", "Van"], "width": [12.0, 12.0]}

    assert sqrl.check(rules_of("type = Car => width <= 9"), table, prediction="said").total == 1


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["type = Car => width <= 9", "type = Van => width <= 9"], "type"),
        (["kind = a => width <= 9", "width > 3 => type = Car"], "type"),
        (["0 <= f1(kind = a => type = Car) <= 1 over 2"], "type"),
        (["kind = a => width <= 9", "type = Car => width <= 9"], None),
        (["width <= 9"], None),
    ],
)
def test_the_label_is_what_heads_name_else_what_conditions_name(texts, label):
    """Without a schema the label is found where there is one column it can be."""
    from sqrl._rules.label import label_of

    assert label_of(rules_of(*texts)) == label


def test_violations_are_counted_by_class():
    """By the value of the label that a rule speaks of, in its condition or its head."""
    rules = rules_of(
        "type = Car => 0 <= width <= 9",
        "type = Car => 0 <= width <= 99",
        "width > 20 => type = Van",
        "width <= 60",
    )
    rows = sqrl.check(
        sqrl.RuleSet(rules.table, rules.nodes, sqrl.Schema(label="type", rules=("? <= width",))),
        ROWS,
    ).per_class()

    assert rows.to_pylist() == [
        {"class": "Car", "n_rules": 2, "applicable": 4, "violations": 1, "share": 0.25}
        | {"significant": 0},
        {"class": "Van", "n_rules": 1, "applicable": 1, "violations": 0, "share": 0.0}
        | {"significant": 0},
        {"class": None, "n_rules": 1, "applicable": 5, "violations": 1, "share": 0.2}
        | {"significant": 0},
    ]


def test_mini_batches_are_samples_of_their_own():
    """Rules of mini-batches count mini-batches; an average sample is a row, or one of these."""
    rules = rules_of("0 <= x <= 6", "0 <= mean(x) <= 1 over 4", "0 <= mean(x) <= 9 over 4")
    found = sqrl.check(rules, {"x": [2.0] * 7 + [7.0]})

    assert found.applicable.tolist() == [8, 2, 2]
    assert found.broken.tolist() == [1, 2, 0]
    assert found.per_sample() == 1 / 8 + 1
    assert sorted(found.batch_values) == [1, 2]
    assert found.to_dict()["n_batches"] == {"4": 2}


def test_mini_batches_can_be_drawn_as_in_the_paper():
    """As many as are asked for, with a seed; without, they are disjoint."""
    rules, table = rules_of("0 <= mean(x) <= 1 over 4"), {"x": np.arange(20.0)}
    drawn = [sqrl.check(rules, table, batches=9, seed=seed).batch_values[0] for seed in (0, 0, 1)]

    assert drawn[0].size == 9
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    assert np.unique(sqrl.check(rules, table).batches[4]).size == 20


CHUNKED = (
    "type = Car => 0 <= x <= 1",
    "0 <= x <= 1 if z <= 0 else x <= 2",
    "0 <= x <= 1 if z <= 0 and w <= 0 else x <= 2",
    "x > 1 => type = Car",
    "0.2 <= f1(x > 0 => type = Car) <= 0.4 over 16",
    "type = Car => 0 <= mean(x) <= 0.2 over 16",
    "rate(x > 0) <= 0.5 over 8",
)


def many_rows(n_rows=500, seed=0):
    """Rows of two types with missing values."""
    rng = np.random.default_rng(seed)
    table = {name: rng.normal(size=n_rows) for name in "xzw"}
    table["x"][rng.random(n_rows) < 0.1] = np.nan
    types = np.array(["Car", "Van", None], object)[rng.integers(0, 3, n_rows)]
    p = rng.random(n_rows)
    return table | {"type": types.tolist(), "p": p, "q": 1 - p}


@pytest.mark.parametrize("rows_at_once", [1, 7, 64, 499, 500])
def test_results_do_not_depend_on_how_many_rows_are_held_at_once(monkeypatch, rows_at_once):
    """Chunks bound the memory and change nothing."""
    given = many_rows(), {"probabilities": {"Car": "p", "Van": "q"}}
    whole = sqrl.check(rules_of(*CHUNKED), given[0], **given[1])
    for module in ("_scan.held_rows", "_check.mini_batches"):
        monkeypatch.setattr(f"sqrl.{module}.CHUNK_ROWS", rows_at_once)
    parts = sqrl.check(rules_of(*CHUNKED), given[0], **given[1])

    for name in ("applicable", "broken", "expected", "p_value", "significant"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    for name in ("pair_rule", "pair_row", "pair_excess"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    np.testing.assert_allclose(parts.weighted_broken, whole.weighted_broken)
    for index, values in whole.batch_values.items():
        np.testing.assert_allclose(parts.batch_values[index], values)


def test_learned_rules_have_the_same_p_values_in_chunks(monkeypatch):
    """Evidence of parts adds up to that of the whole."""
    schema = {"rules": ["? <= mean(x) <= ? over 16", "? <= rate(x > 0) <= ? over 16"]}
    rules = sqrl.learn(many_rows(2000), schema | {"coverage": 0.9, "batches": {"valid": 100}})
    whole = sqrl.check(rules, many_rows(1000, seed=1))
    monkeypatch.setattr("sqrl._scan.held_rows.CHUNK_ROWS", 100)
    parts = sqrl.check(rules, many_rows(1000, seed=1))

    assert len(rules) == 2
    assert not np.isnan(whole.p_value).any()
    np.testing.assert_allclose(parts.p_value, whole.p_value)
    np.testing.assert_allclose(parts.expected, whole.expected)


@given(rows=strategies.table_rows(max_size=10), seed=st.integers(0, 3))
def test_check_agrees_with_the_definition_row_by_row(rows, seed):
    """The whole way from sentences to pairs and mini-batches, for a rule of each form."""
    texts = [
        "0 <= x <= 1",
        "kind = Car => x <= 0.5",
        "0 <= x <= 1 if y <= 0 else 1 <= x",
        "x <= 1 if y <= 0 and bit <= 0 else x <= 2 if y <= 0 else -1 <= x <= 0",
        "flag and x > 0 => kind = Car",
        "0 <= mean(x) <= 1 over 3",
        "flag => 0.4 <= f1(x > 0 => kind = Car) <= 1 over 3",
        "rate(x > 0 and flag) <= 0.3 over 3",
    ]
    found = sqrl.check(rules_of(*texts), strategies.columns_of(rows), seed=seed)
    forms = [read_form(parse(text)) for text in texts]
    for index, form in enumerate(forms[:5]):
        outcomes = [naive.outcome(form, row) for row in rows]
        assert found.applicable[index] == len(rows) - outcomes.count("n/a")
        assert found.rows_of(index)[0].tolist() == [
            row for row, outcome in enumerate(outcomes) if outcome == "broken"
        ]
    for index, form in enumerate(forms[5:], start=5):
        outcomes = [
            naive.batch_outcome(form, [rows[i] for i in batch]) for batch in found.batches[3]
        ]
        assert found.applicable[index] == len(outcomes) - outcomes.count("n/a")
        assert found.broken[index] == outcomes.count("broken")


def test_no_rows_break_nothing():
    """An empty table is checked and found clean; the command line refuses it."""
    table = {name: [] for name in ("x", "z", "w", "type")}
    found = sqrl.check(rules_of(*CHUNKED), table)

    assert found.applicable.tolist() == found.broken.tolist() == [0] * len(CHUNKED)
    assert (found.total, found.per_sample(), bool(found)) == (0, 0.0, False)
    assert found.row_degree().size == 0
    assert found.notes == ()


def test_no_rules_find_nothing():
    """An empty rule set is kept by everything."""
    found = sqrl.check(rules_of(), ROWS)

    assert (len(found), found.total, found.per_sample()) == (0, 0, 0.0)
    assert found.to_dict()["rules"] == []
    assert found.per_class().num_rows == 0


def test_rules_that_apply_to_nothing_are_told():
    """Silence is not the same as being kept."""
    found = sqrl.check(rules_of("type = Tram => width <= 9", "width <= 999"), ROWS)

    assert np.isnan(found.share()[0])
    assert "1 of 2 rules applied to no sample" in found.notes


def test_mini_batches_that_do_not_fit_are_told():
    """Disjoint mini-batches may not fit once; the rules are then not checked."""
    found = sqrl.check(rules_of("0 <= mean(width) <= 1 over 4096"), ROWS)

    assert found.applicable.tolist() == [0]
    assert found.notes[0] == "6 rows do not fill a mini-batch of 4,096: 1 rules were not checked"


def test_values_of_the_label_that_no_rule_speaks_of_are_told():
    """A class never seen in training is not silently passed over, nor is a missing one."""
    table = {"type": ["Car", "Bus", None, "Bus"], "width": [1.0, 2.0, 3.0, 4.0]}
    found = sqrl.check(rules_of("type = Car => width <= 9"), table)

    assert found.notes == (
        "1 of 4 rows have no value in 'type'",
        "2 of 4 rows have a value in 'type' of which no rule speaks: Bus",
    )


def test_only_what_rules_need_must_be_there():
    """A statistic that no rule names may lack its columns."""
    schema = sqrl.Schema(rules=("? <= x <= ?",), statistics={"area": "width * height"})
    rules = rules_of("0 <= x <= 1")
    found = sqrl.check(sqrl.RuleSet(rules.table, rules.nodes, schema), {"x": [2.0]})

    assert found.total == 1


def test_results_cannot_be_changed():
    """Arrays are for reading."""
    found = sqrl.check(rules_of("0 <= x <= 1"), {"x": [2.0]})

    with pytest.raises(ValueError, match="read-only"):
        found.broken[0] = 0
    with pytest.raises(AttributeError):
        found.level = 0.5


def test_a_level_is_a_share():
    """Five percent is 0.05."""
    with pytest.raises(sqrl.SqrlError, match="The level is 5"):
        sqrl.check(rules_of("0 <= x <= 1"), {"x": [2.0]}, level=5)


def test_progress_is_reported():
    """Whoever watches hears of rows and of mini-batches."""
    heard = []
    sqrl.check(rules_of(*CHUNKED), many_rows(), track=lambda *news: heard.append(news))

    assert heard == [("rows", 500, 500), ("mini-batches", 1, 2), ("mini-batches", 2, 2)]


def test_the_result_as_plain_data_has_the_fields_that_others_rely_on():
    """The names are fixed; nothing in it is infinite or not a number."""
    rules = rules_of("x <= 1", "0 <= x <= 1", coverage=[0.9, None], support=[100, None])
    plain = sqrl.check(rules, {"x": [2.0, 3.0, 0.5]}).to_dict()

    assert {"n_rules", "n_samples", "violations", "violations_per_sample", "rules"} <= set(plain)
    assert (plain["n_rules"], plain["n_samples"], plain["violations"]) == (2, 3, 4)
    assert [*plain["rules"][0]][:7] == [
        "text",
        "id",
        "applicable",
        "violations",
        "expected",
        "p_value",
        "significant",
    ]
    assert plain["rules"][0]["expected"] == pytest.approx(3 * 10.9 / 101)
    assert plain["rules"][1]["expected"] is plain["rules"][1]["p_value"] is None
    assert plain["rules"][0]["effect"] is None


def test_results_as_frames():
    """A row for each rule in whatever the reader likes."""
    found = sqrl.check(rules_of("0 <= x <= 1"), {"x": [2.0, 0.5]})

    assert found.to_pandas()["violations"].tolist() == [1]
    assert found.to_polars()["applicable"].to_list() == [2]
    assert found.to_arrow()["text"].to_pylist() == ["0 <= x <= 1"]


def test_a_notebook_shows_the_worst_rules_escaped():
    """What data and people wrote cannot become markup."""
    table = {"<script>alert(1)</script>": [2.0, 0.5]}
    page = sqrl.check(rules_of("0 <= `<script>alert(1)</script>` <= 1"), table)._repr_html_()

    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_worst_rules_come_first():
    """Significant ones by p-value, then the share broken."""
    rules = rules_of("x <= 3", "x <= 1", "x <= 2", coverage=[0.9] * 3, support=[1000] * 3)
    found = sqrl.check(rules, {"x": np.arange(40) / 10}, level=0.05)

    assert found.significant.tolist() == [True, True, True]
    assert found.worst().tolist() == [1, 2, 0]
    assert found.worst(1).tolist() == [1]
    assert repr(found) == (
        "Violations: 57 violations of 3 rules, 1.43 a sample; 3 broken beyond chance"
    )


# Real data


@pytest.fixture(scope="module")
def kitti_rules():
    """Rules from the true boxes of KITTI's train frames."""
    return sqrl.learn(real_data.kitti_boxes("train"), "detection")


def detections():
    """What a real detector said of KITTI's val frames."""
    path = real_data.folder("kitti") / "detections_rgb_val.csv.gz"
    return sqrl.read_table(path)


def test_a_detectors_boxes_break_more_rules_than_true_ones(kitti_rules):
    """True boxes of other drives break rules about as often as stated; detections far more."""
    true = sqrl.check(kitti_rules, real_data.kitti_boxes("val"))
    said = sqrl.check(kitti_rules, detections(), prediction="type")
    shares = [
        sum(row["violations"] for row in rows) / sum(row["applicable"] for row in rows)
        for rows in (common_classes(true), common_classes(said))
    ]

    assert len(kitti_rules) == 252
    assert shares[0] == pytest.approx(0.02, abs=0.004)
    assert shares[1] > 2 * shares[0]
    assert said.per_sample() > 1.5 * true.per_sample()
    for before, after in zip(common_classes(true), common_classes(said), strict=True):
        assert after["share"] > 1.4 * before["share"]
    assert not said.significant.any()  # what predictions of held-out boxes would break is not known
    assert any("learn" in note and "prediction" in note for note in said.notes)


def common_classes(found):
    """What became of the classes that the detector knows."""
    known = {"Car", "Cyclist", "Pedestrian"}
    return [row for row in found.per_class().to_pylist() if row["class"] in known]


def test_random_halves_of_real_boxes_raise_few_alarms():
    """Without a shift in real data, with its ties and tails: alarms at the stated level."""
    boxes = real_data.kitti_boxes("train")
    car = np.array([kind == "Car" for kind in boxes["type"]])
    columns = {name: boxes[name][car] for name in ("left", "top", "right", "bottom")}
    schema = {
        "statistics": {"width": "right - left", "height": "bottom - top"},
        "let": {"A": ["width", "height", "left", "bottom"]},
        "rules": ["? <= A <= ?", "? <= width <= ? by height/4"],
        "validate": False,
    }
    runs, alarms = 100, 0
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(int(car.sum()))
        halves = [
            {name: values[part] for name, values in columns.items()}
            for part in np.array_split(order, 2)
        ]
        alarms += sqrl.check(sqrl.learn(halves[0], schema), halves[1]).n_significant > 0

    assert alarms / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_every_row_is_held_broken_or_not_applicable():
    """Outcomes of a rule, row by row or mini-batch by mini-batch, agree with its counts."""
    rules = sqrl.RuleSet.from_texts(
        ["kind = a => 0 <= x <= 9", "x > 5 => kind = b", "0 <= mean(x) <= 6 over 2"]
    )
    data = {"kind": ["a", "a", "b", "a"], "x": [3.0, 12.0, 99.0, None]}
    found = sqrl.check(rules, data)

    assert found.outcomes(0).tolist() == ["held", "broken", "n/a", "n/a"]
    assert found.outcomes(1).tolist() == ["n/a", "broken", "held", "n/a"]
    for index in range(3):
        outcomes = found.outcomes(index).tolist()
        assert outcomes.count("broken") == found.broken[index]
        assert len(outcomes) - outcomes.count("n/a") == found.applicable[index]
    assert found.sentences(1)
    assert found.slices().num_rows >= 0
