"""Predictions in the label's place are tested against predictions of held-out rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqrl
from made_scans import QUICK, bits, bits_of_check, layouts, scanned
from sqrl._check.evidence import Evidence
from sqrl._data.table import as_table, to_arrow
from sqrl._rows.rows import Rows
from sqrl._rules.label import names_label, put_prediction

SCHEMA = {
    "label": "sick",
    "let": {"Y": "values(sick)", "L": "literals(age/3, dose/2)"},
    "rules": [
        "sick = Y => ? <= age <= ?",
        "? <= dose <= ?",
        "? <= f1(L => sick = Y) <= ? over 128",
        "? <= rate(sick = Y) <= ? over 128",
        "sick = Y => ? <= mean(age) <= ? over 128",
        "distance(sick) <= ? over 128",
        "distance(dose/4) <= ? over 128",
    ],
    "coverage": 0.9,
}


def people(n_rows, seed, *, model="good"):
    """People of whom the old are mostly sick, and what a model says of them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n_rows)
    sick = rng.random(n_rows) < 1 / (1 + np.exp(-(age - 50) / 6))
    noise = {"good": 1.0, "worse": 25.0, "shuffled": 1.0, "constant": 0.0}[model]
    said = age + noise * rng.normal(0, 1, n_rows) > (50 if noise else 500)
    if model == "shuffled":
        said = rng.permutation(said)
    words = np.array(["no", "yes"])
    dose = rng.gamma(2, 3, n_rows)
    return {"age": age, "dose": dose, "sick": words[sick * 1], "said": words[said * 1]}


@pytest.fixture(scope="module")
def rules():
    return sqrl.learn(people(6000, 0), SCHEMA, prediction="said")


def test_evidence_is_that_of_rows_with_the_prediction_in_the_labels_place():
    """The same numbers as of a table that has the prediction as its label."""
    data = people(3000, 0)
    learned = sqrl.learn(people(6000, 1), SCHEMA, valid=data, prediction="said")
    table = put_prediction(as_table(data), "sick", "said")
    named = [i for i in range(len(learned)) if names_label(learned, i, "sick")]
    expected = Evidence("valid", [learned.form(i) for i in named]).answer(Rows(table, {}))

    assert [learned[i].prediction_evidence for i in named] == expected
    assert 0 < len(named) < len(learned)
    others = set(range(len(learned))) - set(named)
    assert all(learned[i].prediction_evidence is None for i in others)


def test_a_good_model_raises_no_alarm_and_others_do(rules):
    """Its predictions are not distributed as labels are, but as its predictions were."""
    alarms = [
        sqrl.check(rules, people(1000, 10 + seed), prediction="said", level=0.01).n_significant > 0
        for seed in range(25)
    ]

    assert sum(alarms) <= 1
    for model in ("worse", "shuffled", "constant"):
        found = sqrl.check(rules, people(1000, 3, model=model), prediction="said", level=0.01)
        assert found.n_significant > 0, model


def test_labels_are_tested_as_before(rules):
    """Evidence of predictions changes nothing where the label is checked."""
    plain = sqrl.learn(people(6000, 0), SCHEMA)
    new = people(1000, 1)

    assert bits_of_check(sqrl.check(rules, new)) == bits_of_check(sqrl.check(plain, new))


def test_without_predictions_rules_of_the_label_are_not_tested():
    """They are counted, and the note says how to have them tested; the others are tested."""
    plain = sqrl.learn(people(6000, 0), SCHEMA)
    named = np.array([names_label(plain, i, "sick") for i in range(len(plain))])
    found = sqrl.check(plain, people(1000, 1, model="constant"), prediction="said")

    assert np.isnan(found.p_value[named]).all()
    assert not np.isnan(found.p_value[~named]).any()
    assert found.broken[named].sum() > 0
    assert found.notes[-1] == (
        f"{named.sum()} rules name 'sick', and predictions are not tested against them: learn "
        "with --prediction to do so"
    )


def test_one_rule_that_is_not_tested_is_said_in_the_singular():
    """A note is a sentence."""
    plain = sqrl.RuleSet.from_texts(["sick = yes => age <= 90"])
    found = sqrl.check(plain, people(20, 1), prediction="said")

    assert found.notes[-1] == (
        "1 rule names 'sick', and predictions are not tested against it: learn with --prediction "
        "to do so"
    )


@settings(QUICK, max_examples=2)
@given(layout=layouts(), seed=st.integers(0, 9))
def test_scans_learn_and_check_predictions_with_the_same_bits(layout, seed):
    """Evidence of predictions, scores and p-values, wherever the rows are."""
    train, new = (to_arrow(as_table(people(n, seed))) for n in (700, 300))
    options = {"schema": SCHEMA, "prediction": "said", "seed": seed}
    in_memory = sqrl.learn(train, **options)
    by_scan = sqrl.learn(scanned(train, **layout), **options)

    assert bits(in_memory) == bits(by_scan)
    assert in_memory.held_out.predictions is not None
    found = [
        sqrl.check(in_memory, data, prediction="said") for data in (new, scanned(new, **layout))
    ]
    assert bits_of_check(found[0]) == bits_of_check(found[1])
