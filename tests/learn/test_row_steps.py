"""RuleFlag and RuleFilter as steps of scikit-learn's pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import sqrl
from sqrl.errors import DataError, SchemaError, UnknownNameError

RULES = sqrl.RuleSet.from_texts(
    ["0 <= x <= 9", "kind = a => x <= 5"], coverage=[0.98, 0.98], support=[900, 900]
)
FRAME = pd.DataFrame({"kind": ["a", "b", "a"], "x": [3.0, 12.0, 50.0]}, index=[7, 8, 9])


@parametrize_with_checks([sqrl.RuleFlag(), sqrl.RuleFilter()])
def test_scikit_learns_own_checks_pass(estimator, check):
    """Whatever scikit-learn asks of a transformer."""
    check(estimator)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_frame_stays_a_frame_with_the_number_of_broken_rules(make):
    """Categories as they are; of pandas the index too."""
    frame = make(FRAME)
    step = sqrl.RuleFlag(RULES).fit(frame)
    flagged = step.transform(frame)

    assert type(flagged) is type(frame)
    assert flagged["rules_broken"].to_list() == [0, 1, 2]
    assert list(flagged.columns) == ["kind", "x", "rules_broken"]
    assert step.get_feature_names_out().tolist() == ["kind", "x", "rules_broken"]
    if isinstance(frame, pd.DataFrame):
        assert flagged.index.tolist() == [7, 8, 9]


def test_without_rules_they_are_learned_from_what_it_is_fitted_on():
    """By a schema, else by a proposed one for a frame and intervals for an array."""
    x = np.linspace(0, 1, 200)
    by_schema = sqrl.RuleFlag(schema={"rules": ["? <= x <= ?"]}).fit(pd.DataFrame({"x": x}))
    proposed = sqrl.RuleFlag().fit(pd.DataFrame({"x": x, "kind": ["a", "b"] * 100}))
    of_array = sqrl.RuleFlag().fit(np.column_stack([x, 2 * x]))

    assert [rule.text.count("x") for rule in by_schema.rules_] == [1]
    assert any("kind" in text for text in proposed.rules_.texts())
    assert of_array.transform([[0.5, 9.0]]).tolist() == [[0.5, 9.0, 3.0]]


def test_both_rules_and_a_schema_are_refused():
    """Word for word."""
    with pytest.raises(SchemaError) as raised:
        sqrl.RuleFlag(RULES, schema={"rules": ["? <= x"]}).fit(FRAME)

    assert str(raised.value) == (
        "Both rules and a schema to learn them by are given.\n  fix:   give one of them"
    )


def test_a_column_of_the_flags_name_is_not_overwritten():
    """Nor is it silently one of two."""
    with pytest.raises(DataError) as raised:
        sqrl.RuleFlag(RULES).fit_transform(FRAME.assign(rules_broken=1))

    assert str(raised.value) == (
        "There is already a column named 'rules_broken'.\n"
        "  where: X\n"
        "  fix:   rename it: RuleFlag adds one of this name"
    )


def test_a_pipeline_refuses_rows_that_have_changed_and_not_one_odd_row():
    """Beyond chance by default; by rows where that is asked for."""
    x = np.linspace(0, 1, 400)[:, None]
    usual = x.copy()
    usual[5] = 1.5
    model = make_pipeline(sqrl.RuleFilter(), LinearRegression()).fit(x, x[:, 0])
    strict = make_pipeline(sqrl.RuleFilter(refuse="rows"), LinearRegression())
    strict.set_params(rulefilter__rules=model[0].rules_).fit(x[30:-30], x[30:-30, 0])

    assert model.predict(usual) == pytest.approx(usual[:, 0])
    with pytest.raises(DataError, match="Refused rows that have changed: x0: 400 of 400 rows"):
        model.predict(x + 3)
    with pytest.raises(DataError) as raised:
        strict.predict(np.array([[0.5], [3.0]]))
    assert str(raised.value) == (
        "Refused rows that break rules: row 1.\n"
        "  where: X\n"
        "  fix:   look at step.check(X); drop rows by step.keep(X)"
    )


def test_rows_to_keep_are_those_that_break_nothing():
    """As a mask, for whoever drops the others."""
    step = sqrl.RuleFilter(RULES).fit(FRAME)

    assert step.keep(FRAME).tolist() == [True, False, False]
    assert step.check(FRAME).total == 3


def test_an_unknown_choice_is_answered_with_those_there_are():
    """As everywhere."""
    with pytest.raises(UnknownNameError, match="did you mean 'rows'"):
        sqrl.RuleFilter(RULES, refuse="row").fit(FRAME).transform(FRAME)
