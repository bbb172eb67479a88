"""RuleDetector does what scikit-learn asks of an outlier detector."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import sqrl
from sqrl._learn.detector import RuleDetector


@parametrize_with_checks([RuleDetector(), RuleDetector(contamination=0.1)])
def test_scikit_learns_own_checks_pass(estimator, check):
    """Whatever scikit-learn asks of an estimator and of an outlier detector."""
    check(estimator)


def test_a_row_far_outside_is_an_outlier_and_one_inside_is_not():
    """The scores are minus those of the worst violation: 0 for a row that keeps every rule."""
    x = np.linspace(0, 1, 201)
    detector = RuleDetector().fit(x[:, None])
    lower, upper = detector.rules_[0].lower, detector.rules_[0].upper
    far = (2.0 - upper) / (upper - lower)

    assert (lower, upper) == (pytest.approx(0.01), pytest.approx(0.99))
    worst = np.log(202) + np.log(1 + far)  # none of 201 rows is as far outside
    assert detector.score_samples([[0.5], [2.0]]) == pytest.approx([0.0, -worst])
    assert detector.predict([[0.5], [2.0]]).tolist() == [1, -1]


def test_scores_are_those_of_a_check():
    """The detector, `found.rows()` and the command rank rows in the same way."""
    rows = np.random.default_rng(0).normal(size=(300, 3))
    detector = RuleDetector().fit(rows)
    found = sqrl.check(detector.rules_, {f"x{place}": rows[:, place] for place in range(3)})

    assert (detector.score_samples(rows) == -found.row_scores()).all()
    assert (detector.decision_function(rows) == -found.row_scores() - detector.offset_).all()


def test_what_is_odd_only_given_another_feature_is_found():
    """Each value is common, together they are not."""
    x = np.linspace(0, 1, 400)
    detector = RuleDetector().fit(np.column_stack([x, x]))

    assert detector.predict([[0.1, 0.1], [0.1, 0.9]]).tolist() == [1, -1]
    assert len(detector.rules_) == 4


def test_the_rules_speak_of_a_dataframes_columns():
    """Names of any kind, among them those that a template could mistake for holes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=["F0", "heart rate", "if"])
    detector = RuleDetector().fit(frame)

    assert detector.feature_names_in_.tolist() == ["F0", "heart rate", "if"]
    assert detector.n_features_in_ == 3
    assert " <= `heart rate` <= " in detector.rules_[1].text
    assert len(detector.rules_) == 3 + 6


def test_missing_values_break_no_rule():
    """Not applicable is neither held nor broken."""
    rng = np.random.default_rng(0)
    detector = RuleDetector().fit(
        np.where(rng.random((300, 2)) < 0.1, np.nan, rng.random((300, 2)))
    )

    assert detector.score_samples([[np.nan, np.nan]]).tolist() == [0.0]
    assert detector.predict([[np.nan, 5.0]]).tolist() == [-1]


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_contamination_is_the_share_of_outliers_among_the_rows_fitted(share):
    """As far as rows that break nothing allow."""
    rows = np.random.default_rng(0).normal(size=(1000, 8))
    detector = RuleDetector(contamination=share, coverage=0.9).fit(rows)

    assert (detector.predict(rows) == -1).mean() == pytest.approx(share, abs=0.01)


def test_a_schema_of_ones_own_is_used():
    """A mapping, as in YAML."""
    rows = np.random.default_rng(0).normal(size=(200, 2))
    schema = {"rules": ["x0 - x1 <= ?"], "coverage": 0.9, "validate": False}
    detector = RuleDetector(schema).fit(rows)

    assert [rule.form.pieces[0].lower for rule in detector.rules_] == [None]
    assert (detector.predict(rows) == -1).mean() == pytest.approx(0.1, abs=0.01)


def test_many_features_are_bounded_by_themselves_alone():
    """Pairs of a hundred features would be ten thousand rules."""
    rows = np.random.default_rng(0).normal(size=(100, 31))

    assert len(RuleDetector().fit(rows).rules_) == 31


@pytest.mark.parametrize("contamination", [0.0, 0.6, -1])
def test_a_contamination_that_makes_no_sense_is_refused(contamination):
    """The message says what does."""
    with pytest.raises(ValueError, match="contamination is") as caught:
        RuleDetector(contamination=contamination).fit([[1.0], [2.0]])

    assert caught.value.fix == 'use "auto", or a share above 0 and at most 0.5'


def test_without_scikit_learn_the_extra_is_named():
    """The error says what to install."""
    code = "import sys; sys.modules['sklearn'] = None; import sqrl._learn.detector"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert 'fix:   pip install "sqrl-rules[explain]"' in done.stderr
