"""Shares of cells before and after, read both ways, and of predictions where these stand in."""

import numpy as np
import pytest

import sqrl
from sqrl._check.findings.cell_shares import CellShares, cell_shares
from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Name

WORDS, CUTS = CellAxis(words=("a", "b")), CellAxis(cuts=(3.0,))
BEFORE = np.array([[300.0, 100.0, 0.0], [100.0, 500.0, 0.0]])  # strata of x, cells of c
AFTER = np.array([[30.0, 30.0, 0.0], [10.0, 130.0, 0.0]])


@pytest.fixture
def shares():
    """A category given a number that is cut in two."""
    return CellShares(Name("c"), WORDS, Name("x"), CUTS, BEFORE, AFTER)


def test_a_table_turned_has_the_number_given_the_category(shares):
    """Each value of c is a stratum, with the rows that it had."""
    turned = shares.turned()

    assert (turned.item, turned.axis, turned.given, turned.strata) == (
        *(Name("x"), CUTS),
        *(Name("c"), WORDS),
    )
    assert turned.before.tolist() == [[300.0, 100.0], [100.0, 500.0], [0.0, 0.0]]
    assert turned.after.tolist() == [[30.0, 10.0], [30.0, 130.0], [0.0, 0.0]]


def test_distances_of_a_table_turned_are_computed_by_hand(shares):
    """Of a: 3/4 as before. Of b: 30 of 160 instead of 1 of 6 below the cut."""
    turned = shares.turned()
    apart = (30 / 160 - 1 / 6) * 160 / 200

    assert turned.distance() == pytest.approx(apart)
    assert shares.distance() == pytest.approx((0.25 * 60 + (1 / 6 - 1 / 14) * 140) / 200)
    assert turned.moved() == 0.0
    assert shares.moved() == pytest.approx(shares.distance() - shares.noise())


def test_the_p_value_is_that_of_the_test_of_shares(shares):
    """The number is ordered, so that its rank sum counts; the category is not."""
    turned = shares.turned()
    cases = [
        SharesCase(BEFORE, AFTER, False, True),
        SharesCase(BEFORE.T, AFTER.T, True, False),
    ]

    assert [shares.p_value(), turned.p_value()] == shares_tests(cases).tolist()
    assert shares.p_value() < 1e-3 < turned.p_value()


def test_predictions_are_compared_with_predictions():
    """What stood before is what the model said of held-out rows, not their labels."""
    rng = np.random.default_rng(0)
    rows = {"y": rng.choice(["no", "yes"], 2000, p=[0.5, 0.5]).astype(object)}
    rows["said"] = np.where(rng.random(2000) < 0.4, "no", rows["y"])
    schema = {"label": "y", "rules": ["distance(y) <= ? over 64"]}
    rules = sqrl.learn(rows, schema, prediction="said")
    of_labels = cell_shares(sqrl.check(rules, rows), 0)
    of_predictions = cell_shares(sqrl.check(rules, rows, prediction="said"), 0)

    assert of_labels is not None
    assert of_predictions is not None
    assert of_labels.before.tolist() == [list(rules.form(0).reference.counts)]
    assert of_predictions.before.tolist() == [rules[0].prediction_evidence]
    assert of_predictions.before[0].argmax() == 0
    assert of_predictions.before[0, 0] > 0.6 * of_predictions.before.sum()
