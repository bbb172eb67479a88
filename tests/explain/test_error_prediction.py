"""How well broken rules predict errors, on rows held out."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

from sqrl._explain.error_prediction import (
    ErrorPrediction,
    auc,
    fit_weights,
    join,
    need_sklearn,
    predict_errors,
)
from sqrl.errors import MissingExtraError


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2))
def test_the_auc_is_scikit_learns(rows):
    """Ties count half."""
    wrong = np.array([row[0] for row in rows])
    score = np.array([row[1] for row in rows], float)
    if wrong.all() or not wrong.any():
        return

    assert auc(wrong, score) == pytest.approx(roc_auc_score(wrong, score))


def made(n=600, seed=0):
    """Errors that the first of three rules predicts, and a score that says something."""
    rng = np.random.default_rng(seed)
    broken = rng.random((n, 3)) < 0.3
    wrong = np.where(broken[:, 0], rng.random(n) < 0.8, rng.random(n) < 0.2)
    score = rng.normal(size=n) - wrong
    return csr_matrix(broken.astype(float)), wrong, score


def test_the_rule_that_tells_gets_the_weight():
    """And the score beside it makes the prediction better."""
    broken, wrong, score = made()
    found = {one.name: one.auc for one in predict_errors(broken, wrong, score, folds=5, seed=0)}
    weights = fit_weights(broken, wrong, seed=0)

    assert weights[0] > 1.5
    assert abs(weights[1:]).max() < 0.6
    assert found["broken rules"] > found["number of broken rules alone"]
    assert found["broken rules and score"] > max(found["broken rules"], found["score alone"])


def test_a_score_of_either_sense_serves():
    """Whether a high score means sure or unsure is found on the rows fitted."""
    broken, wrong, score = made()
    ways = [predict_errors(broken, wrong, sign * score, folds=4, seed=0)[0] for sign in (1, -1)]

    assert ways[0].by_fold == pytest.approx(ways[1].by_fold)
    assert ways[0].auc > 0.7


def test_a_class_that_is_often_wrong_is_not_taken_for_a_rule_that_tells():
    """Broken rules of one class alone predict errors; beside the class they add nothing."""
    rng = np.random.default_rng(0)
    kind = rng.random(2000) < 0.5
    wrong = rng.random(2000) < np.where(kind, 0.8, 0.2)
    broken = csr_matrix((kind & (rng.random(2000) < 0.5))[:, None].astype(float))
    classes = csr_matrix(np.column_stack([kind, ~kind]).astype(float))
    found = {
        one.name: one.auc for one in predict_errors(broken, wrong, None, classes, folds=5, seed=0)
    }

    assert list(found)[-2:] == ["predicted class", "broken rules and class"]
    assert found["broken rules"] > 0.6
    assert found["broken rules and class"] == pytest.approx(found["predicted class"], abs=0.01)


def test_the_same_seed_gives_the_same_figures():
    """Folds and models are drawn with it."""
    broken, wrong, score = made()
    found = [predict_errors(broken, wrong, score, folds=3, seed=seed) for seed in (7, 7, 8)]

    assert found[0] == found[1]
    assert found[0] != found[2]


def test_errors_that_nothing_foretells_give_an_auc_of_a_half():
    """No fold's own errors enter what is tested on it."""
    broken, wrong, score = made(2000)
    shuffled = np.random.default_rng(5).permutation(wrong)

    for one in predict_errors(broken, shuffled, score, folds=5, seed=0):
        assert one.auc == pytest.approx(0.5, abs=0.05)


def test_folds_are_as_many_as_the_rarer_outcome_allows():
    """Each fold has a wrong and a right row."""
    broken = made(60)[0]
    few = np.zeros(60, bool)
    few[:3] = True

    assert len(predict_errors(broken, few, None, folds=5, seed=0)[0].by_fold) == 3
    for none in (np.zeros(60, bool), np.ones(60, bool), np.arange(60) == 0):
        assert predict_errors(broken, none, None, folds=5, seed=0) == ()


def test_no_broken_rules_foretell_nothing():
    """A constant has an AUC of a half."""
    wrong = np.arange(40) % 2 == 0
    for shape in ((40, 0), (40, 2)):
        found = predict_errors(csr_matrix(shape), wrong, None, folds=4, seed=0)

        assert [one.auc for one in found] == [0.5, 0.5]
        assert fit_weights(csr_matrix(shape), wrong, seed=0).tolist() == [0.0] * shape[1]


def test_a_constant_score_does_no_harm():
    """Nothing is divided by zero."""
    assert join(csr_matrix((5, 0)), np.full(5, 0.3)).toarray().tolist() == [[0.0, 0.0]] * 5


def test_the_mean_and_spread_are_over_folds():
    """The sample standard deviation; none for one fold."""
    one = ErrorPrediction("x", (0.6, 0.8))

    assert one.auc == pytest.approx(0.7)
    assert one.spread == pytest.approx(np.std([0.6, 0.8], ddof=1))
    assert ErrorPrediction("x", (0.6,)).spread == 0.0
    assert one.to_dict()["by_fold"] == [0.6, 0.8]


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError) as caught:
        need_sklearn()

    assert str(caught.value) == (
        "This needs scikit-learn, which is not installed.\n"
        '  fix:   pip install "sqrl-rules[explain]"'
    )
