"""explain(): which broken rules predict errors."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest, fisher_exact

import sqrl
from kitti_matching import detected_boxes, labelled_boxes
from real_data import folder
from sqrl import RuleSet
from sqrl._explain.explain import explain, wilson
from sqrl.boxes import evaluate_boxes
from sqrl.errors import DataError, UnknownNameError

RULES = RuleSet.from_texts(
    ["kind = a => 0 <= x <= 9", "kind = b => 0 <= x <= 9", "kind = a => 0 <= z <= 9"],
    coverage=[0.98] * 3,
)


def made(n=400, seed=0):
    """Predictions that are wrong exactly where x is above 9; z says nothing."""
    rng = np.random.default_rng(seed)
    said = rng.choice(["a", "b"], n)
    bad = rng.random(n) < 0.2
    other = np.where(said == "a", "b", "a")
    return {
        "said": said.tolist(),
        "kind": np.where(bad, other, said).tolist(),
        "x": np.where(bad, rng.uniform(10, 20, n), rng.uniform(0, 9, n)),
        "z": rng.uniform(-0.5, 10, n),
        "sure": rng.random(n),
        "is_wrong": bad,
    }


def test_a_rule_that_is_broken_by_the_wrong_predictions_alone_foretells_them():
    """Precision 1, and an AUC of 1 on rows held out."""
    data = made()
    found = explain(RULES, data, prediction="said", truth="kind", score="sure")
    told = {one.name: one.auc for one in found.error_prediction}
    first, second, third = found.rules

    assert found.n_wrong == sum(data["is_wrong"])
    assert told["broken rules"] == 1.0
    assert told["broken rules and score"] > 0.99
    assert told["score alone"] == pytest.approx(0.5, abs=0.1)
    assert {first.rule, second.rule} == {0, 1}
    assert first.precision == second.precision == 1.0
    assert first.significant
    assert second.significant
    assert first.weight > 1
    assert not third.significant
    assert abs(third.weight) < 0.5 < first.weight


def test_the_figures_of_a_rule_are_those_counted_by_hand():
    """Base rate among the rows that the rule speaks of; Fisher's test; Wilson's interval."""
    data = made()
    found = {one.rule: one for one in explain(RULES, data, prediction="said", truth="kind").rules}
    wrong, is_a = np.array(data["is_wrong"]), np.array(data["said"]) == "a"
    breaks = is_a & ((data["z"] < 0) | (data["z"] > 9))
    one = found[2]
    table = [
        [(breaks & wrong).sum(), (breaks & ~wrong).sum()],
        [(is_a & ~breaks & wrong).sum(), (is_a & ~breaks & ~wrong).sum()],
    ]
    ends = binomtest(one.wrong, one.broken).proportion_ci(method="wilson")

    assert (one.broken, one.wrong) == (breaks.sum(), (breaks & wrong).sum())
    assert one.base_rate == pytest.approx(wrong[is_a].mean())
    assert one.lift == pytest.approx(one.precision / one.base_rate)
    assert one.p_value == pytest.approx(fisher_exact(table, alternative="greater").pvalue)
    assert (one.low, one.high) == (pytest.approx(ends.low), pytest.approx(ends.high))


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (3, 7), (99, 100), (0, 50)])
def test_the_interval_is_wilsons(hits, of):
    """As scipy has it."""
    low, high = wilson(np.array([hits]), np.array([of]))
    ends = binomtest(hits, of).proportion_ci(method="wilson")

    assert (low[0], high[0]) == (pytest.approx(ends.low), pytest.approx(ends.high))


def test_a_fluke_of_few_rows_does_not_lead_the_list():
    """Two of two wrong is less sure than ninety of a hundred."""
    n = 1000
    x, z = np.zeros(n), np.zeros(n)
    wrong = np.zeros(n, bool)
    wrong[:90], x[:100] = True, 99.0
    wrong[500:502], z[500:502] = True, 99.0
    rules = RuleSet.from_texts(["x <= 9", "z <= 9"])
    found = explain(rules, {"y": ["a"] * n, "x": x, "z": z}, prediction="y", error=wrong)

    assert [one.precision for one in found.rules] == [0.9, 1.0]
    assert found.rules[0].significant


def test_a_rule_about_a_class_that_is_always_wrong_foretells_nothing():
    """The breaking must tell, not the class: the base rate is that of the rows it speaks of."""
    n = 300
    said = np.repeat(["a", "b"], n // 2)
    x = np.tile([1.0, 1.0, 99.0], n // 3)
    found = explain(
        RULES[:2], {"said": said.tolist(), "x": x}, prediction="said", error=said == "b"
    )
    of_b = next(one for one in found.rules if one.rule == 1)

    assert (of_b.precision, of_b.base_rate, of_b.lift) == (1.0, 1.0, 1.0)
    assert found.n_significant == 0


def test_shuffled_truth_is_not_foretold():
    """Nothing but the target of the model has seen the truth."""
    data = made(2000)
    data["kind"] = np.random.default_rng(3).permutation(data["kind"]).tolist()
    found = explain(RULES, data, prediction="said", truth="kind", score="sure")

    for one in found.error_prediction:
        assert one.auc == pytest.approx(0.5, abs=0.05)
    assert found.n_significant == 0


def test_the_truth_is_taken_out_before_rules_are_checked():
    """A rule about the truth itself cannot be checked, and violations know the prediction alone."""
    data = made()
    found = explain(RULES, data, prediction="said", truth="kind")
    peeking = RuleSet.from_texts(["kind = a => y2 <= 0"])
    numbers = {"kind": ["a", "b"] * 4, "y2": [0, 1] * 4}

    table = found.violations.table
    assert table["kind"].values.tolist() == table["said"].values.tolist()
    with pytest.raises(UnknownNameError, match="'y2'"):
        explain(peeking, numbers, prediction="kind", error="y2")
    with pytest.raises(UnknownNameError, match="'y2'"):
        explain(peeking, {**numbers, "y2": ["a", "b"] * 4}, prediction="kind", truth="y2")


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_an_error_column_or_array_serves_as_well_as_the_truth(frame):
    """For detectors it is overlap that says what is wrong, not another column."""
    data = made()
    by_truth = explain(RULES, frame(data), prediction="said", folds=2, truth="kind").to_dict()
    by_column = explain(RULES, frame(data), prediction="said", folds=2, error="is_wrong").to_dict()
    array = np.array(data["is_wrong"], int)
    by_array = explain(RULES, frame(data), prediction="said", folds=2, error=array).to_dict()

    assert by_truth == by_column == by_array


def test_rows_with_something_missing_are_left_out_and_counted():
    """Truth, prediction or score."""
    data = made()
    kinds, said = list(data["kind"]), list(data["said"])
    kinds[0] = said[1] = None
    sure = np.array(data["sure"])
    sure[2] = np.nan
    data |= {"kind": kinds, "said": said, "sure": sure}
    found = explain(RULES, data, prediction="said", truth="kind", score="sure")

    assert (found.n_rows, found.n_left_out) == (400, 3)
    assert found.n_wrong == sum(data["is_wrong"][3:])
    assert found.summary().endswith("; 3 rows with something missing left out")


@pytest.mark.parametrize(
    ("wrong", "note", "folds"),
    [
        ([False] * 40, "No prediction is wrong: there is nothing to predict.", 0),
        ([True] * 40, "Every prediction is wrong: there is nothing to tell apart.", 0),
        ([True] + [False] * 39, "Only one prediction is wrong: too few to cross-validate.", 0),
        ([True] * 39 + [False], "Only one prediction is right: too few to cross-validate.", 0),
        ([True] * 3 + [False] * 37, "Only 3 predictions are wrong: 3 folds instead of 5.", 3),
        ([None] * 40, "No row has both a prediction and a truth: nothing can be explained.", 0),
        ([True, False] * 20, None, 5),
    ],
)
def test_too_few_errors_or_right_predictions_are_said_so(wrong, note, folds):
    """What cannot be said is left out, and why is told."""
    data = made(40)
    found = explain(RULES, data, prediction="said", error=pd.array(wrong, dtype="boolean"))

    assert (found.note, found.folds) == (note, folds)
    assert "\n".join(found.lines())
    assert json.dumps(found.to_dict())


@pytest.mark.parametrize("score", [None, "sure"])
def test_no_broken_rules_leave_nothing_to_explain_with(score):
    """The score's own prediction is still there."""
    data = made() | {"x": np.zeros(400), "z": np.zeros(400)}
    found = explain(RULES, data, prediction="said", truth="kind", score=score)
    told = {one.name: one.auc for one in found.error_prediction}

    assert found.rules == found.doubts == ()
    assert told["broken rules"] == told["number of broken rules alone"] == 0.5
    assert "No prediction breaks a rule about single rows" in found.lines()


def test_zero_rows_are_no_error():
    """An empty day is not a crash."""
    empty = {"said": pd.Series([], dtype=str), "kind": pd.Series([], dtype=str), "x": [], "z": []}
    found = explain(RULES, empty, prediction="said", truth="kind")

    assert (found.n_rows, found.n_wrong, found.base_rate) == (0, 0, 0.0)


def test_right_predictions_that_break_rules_are_listed_worst_first():
    """What the metric calls right, but the rules do not."""
    data = {"y": ["a"] * 6, "x": [1.0, 90.0, 1.0, 30.0, 5.0, 99.0], "z": [1.0] * 6}
    found = explain(
        RULES[[0, 2]], data, prediction="y", error=[False, False, False, False, True, True]
    )

    assert [(doubt.row, doubt.n_broken) for doubt in found.doubts] == [(1, 1), (3, 1)]
    assert found.doubts[0].degree == pytest.approx(9 / 10)
    assert found.doubts[0].sentence == (
        "x 90 is above 9, the most that 99 % of rows with kind = a have"
    )


def test_only_the_rules_broken_most_often_enter_the_model():
    """The others keep their precision, with a weight of 0."""
    found = explain(RULES, made(), prediction="said", truth="kind", most_rules=1)
    often = max(found.rules, key=lambda one: one.broken)

    assert len(found.rules) == 3
    assert all(one.weight == 0 for one in found.rules if one is not often)


def test_of_many_rows_some_are_drawn_for_the_models(monkeypatch):
    """The precisions are of all rows; errors are rare and all of them are kept."""
    monkeypatch.setattr("sqrl._explain.explain.MOST_ROWS", 200)
    data = made()
    found = explain(RULES, data, prediction="said", truth="kind", score="sure")
    n_wrong = sum(data["is_wrong"])

    assert found.note == (
        f"The models are of {100 + n_wrong} rows, drawn from the wrong and the right ones alike."
    )
    assert found.error_prediction[2].auc == 1.0
    assert sum(one.wrong for one in found.rules if one.rule < 2) == n_wrong


def test_rules_without_a_label_are_checked_as_they_are():
    """Odd inputs may predict errors too."""
    data = made()
    found = explain(RuleSet.from_texts(["x <= 9"]), data, prediction="said", truth="kind")

    assert found.rules[0].precision == 1.0


def test_classes_that_are_numbers_in_one_column_and_text_in_the_other_are_compared():
    """1 and "1" are the same class."""
    rules = RuleSet.from_texts(["y = 1 => x <= 9"])
    data = {"x": [1.0, 2.0, 3.0], "said": [0, 1, 1], "y": ["0", "1", "0"]}

    assert explain(rules, data, prediction="said", truth="y").n_wrong == 1
    flags = {"x": [1.0, 2.0, 3.0], "said": [False, True, True], "y": ["false", "true", "false"]}
    assert explain(rules[[]], flags, prediction="said", truth="y").n_wrong == 1
    one = {"x": [1.0], "said": ["1"], "y": ["2"]}
    assert explain(rules, one, prediction="said", truth="y").n_wrong == 1


BASE = {
    "x": [1.0, 2.0],
    "z": [1.0, 2.0],
    "said": ["a", "b"],
    "kind": ["a", "b"],
    "n": [1.0, 2.0],
    "upper": ["A", "B"],
}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "It is not said which predictions are wrong."),
        ({"truth": "kind", "error": [1, 0]}, "It is said twice which predictions are wrong."),
        ({"truth": "said"}, "Column 'said' cannot be both the prediction and the truth."),
        ({"truth": "n"}, "Columns 'said' and 'n' have no value in common."),
        ({"truth": "upper"}, "Columns 'said' and 'upper' have no value in common."),
        ({"error": "n"}, "Column 'n' does not say which predictions are wrong."),
        ({"error": "kind"}, "Column 'kind' does not say which predictions are wrong."),
        ({"error": [True]}, "There are 1 errors for 2 rows."),
        ({"truth": "kind", "score": "kind"}, "Column 'kind' does not hold scores."),
        ({"truth": "kind", "folds": 1}, "folds is 1."),
        ({"truth": "kind", "most_rules": 0}, "most_rules is 0."),
        ({"truth": "dates"}, "Column 'dates' holds neither numbers nor categories."),
    ],
)
def test_what_cannot_be_explained_is_refused(options, what):
    """With what is wrong, and how to mend it."""
    data = BASE | {"dates": np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")}
    with pytest.raises(DataError) as caught:
        explain(RULES, data, prediction="said", **options)

    assert caught.value.what == what
    assert caught.value.fix


def test_an_unknown_column_is_answered_with_the_nearest_one():
    """As everywhere."""
    for options in ({"truth": "kin"}, {"error": "kin"}, {"truth": "kind", "score": "z1"}):
        with pytest.raises(UnknownNameError):
            explain(RULES, BASE, prediction="said", **options)


def test_the_text_fits_its_width_and_says_what_matters():
    """A person reads it in a terminal."""
    found = explain(RULES, made(), prediction="said", truth="kind", score="sure")
    lines = found.lines(width=60)

    assert max(map(len, lines)) <= 60
    assert lines[0] == found.summary()
    assert "  broken rules                   1.000 ± 0.000" in lines
    assert "100 % of the" in "\n".join(lines)
    assert repr(found).startswith("Explanation: ")
    assert json.loads(json.dumps(found.to_dict()))["n_wrong"] == found.n_wrong
    assert found.to_dict()["foresight"] == found.to_dict()["error_prediction"]
    assert found.foresight == found.error_prediction


def test_nothing_from_the_data_runs_in_a_page():
    """Names and categories are escaped."""
    evil = "<script>alert(1)</script>"
    rules = RuleSet.from_texts([f'kind = "{evil}" => `{evil}` <= 9'])
    n = 60
    x = np.where(np.arange(n) % 3 == 0, 99.0, 1.0)
    wrong = (np.arange(n) % 3 == 0) & (np.arange(n) > 5)
    found = explain(rules, {"kind": [evil] * n, evil: x}, prediction="kind", error=wrong)
    page = found._repr_html_()

    assert found.n_significant == 1
    assert found.doubts
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_errors_of_a_real_detector_are_foretold_by_kitti_rules():
    """The must-show of the detection task, on some of the frames."""
    root = folder("kitti")
    train = labelled_boxes(root, "train").table
    rules = sqrl.learn(train, "detection")
    detections = detected_boxes(root)
    detections = detections.take(detections["frame"].values < 1500)
    wrong, _ = evaluate_boxes(detections, labelled_boxes(root, "val"))
    found = explain(
        rules, detections, prediction="type", error=wrong, score="score", folds=3, seed=0
    )
    told = {one.name: one.auc for one in found.error_prediction}
    breaks = found.violations.row_counts() > 0
    score = detections["score"].values
    bins = np.searchsorted(np.quantile(score, [0.2, 0.4, 0.6, 0.8]), score)
    more = [
        wrong[(bins == b) & breaks].mean() - wrong[(bins == b) & ~breaks].mean() for b in range(5)
    ]

    assert told["broken rules"] > 0.62
    assert told["broken rules and score"] > told["score alone"] > 0.9
    assert told["broken rules, class and score"] > told["predicted class and score"]
    assert sum(value > 0 for value in more) >= 4
    assert found.rules[0].significant
    assert found.rules[0].precision > 0.9
