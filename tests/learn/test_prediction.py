"""learn(.., prediction=): a column that rules are tested with, and never learned from."""

import numpy as np
import pytest

import sqrl
from made_scans import scanned
from sqrl._data.table import as_table, to_arrow
from sqrl.errors import DataError, SchemaError, UnknownNameError


def people(n_rows=400):
    rng = np.random.default_rng(0)
    age = rng.normal(50, 12, n_rows)
    words = np.array(["no", "yes"])
    sick = words[(age + rng.normal(0, 5, n_rows) > 50) * 1]
    return {"age": age, "A": words[(age > 50) * 1], "sick": sick}


@pytest.mark.parametrize("place", ["memory", "scan"])
def test_no_rule_of_a_proposed_schema_speaks_of_the_prediction(place):
    """Not even where the column has the name of a hole."""
    data = people() if place == "memory" else scanned(to_arrow(as_table(people())))
    rules = sqrl.learn(data, label="sick", prediction="A")

    assert "A" not in rules.columns()
    assert rules.held_out.predictions is not None
    assert any(rule.prediction_evidence for rule in rules)


def test_a_prediction_without_a_label_is_refused():
    """There is no place that it could take."""
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(people(), prediction="A")

    assert str(caught.value) == (
        "The prediction 'A' takes the place of a label, and there is none.\n"
        "  fix:   name it (--label), or set 'label:' in the schema"
    )


def test_the_label_is_no_prediction():
    """A typing error, found before any work."""
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(people(), label="sick", prediction="sick")

    assert str(caught.value) == (
        "The prediction 'sick' is the label itself.\n"
        "  fix:   name the column with what a model said"
    )


def test_a_misspelt_prediction_is_answered_with_the_nearest_column():
    """As every column."""
    schema = {"label": "sick", "rules": ["sick = yes => ? <= age <= ?"]}
    for options in ({"schema": schema}, {"label": "sick"}):
        with pytest.raises(UnknownNameError, match=r"Unknown column.* 'agee'") as caught:
            sqrl.learn(people(), **options, prediction="agee")
        assert caught.value.fix == "did you mean 'age'?"


def test_predictions_of_other_classes_are_refused():
    """As in `check`."""
    data = {**people(), "said": ["maybe", "surely"] * 200}
    with pytest.raises(DataError, match="names none of the rules' classes, but maybe, surely"):
        sqrl.learn(data, label="sick", prediction="said")


def test_rules_without_held_out_rows_have_counts_of_train_rows_and_no_scores():
    """There is nothing to rank new rows among."""
    schema = {"rules": ["? <= age <= ?"], "validate": False}
    rules = sqrl.learn(people(), schema)

    assert rules[0].tail[0] == 400
    assert rules.held_out is None
