"""The schema for training: facts that tell of the label, few and different."""

import numpy as np
import pytest

import sqrl
from sqrl._data.table import as_table
from sqrl._learn.supervise import propose_supervision


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(0)
    n = 3000
    age, copy = draw.uniform(20, 80, n), None
    copy = age + draw.normal(0, 0.1, n)
    city = draw.choice(["Rome", "Oslo", "Lima", "Nowhere"], n, p=[0.5, 0.3, 0.199, 0.001])
    logit = (age - 50) / 10 + (city == "Rome")
    sick = draw.random(n) < 1 / (1 + np.exp(-logit))
    return {
        "age": age.tolist(),
        "copy": copy.tolist(),
        "city": city.tolist(),
        "noise": draw.normal(size=n).tolist(),
        "sick": sick.astype(int).tolist(),
    }


def test_facts_cover_what_tells_of_the_label_and_not_noise(people):
    """A column that tells nothing is left out; rare values are not facts of their own."""
    facts = propose_supervision(as_table(people), label="sick", means=False).let["F"]

    assert any("age" in one for one in facts)
    assert "city = Rome" in facts
    assert not any("noise" in one for one in facts)
    assert not any("Nowhere" in one and "not" not in one for one in facts)


def test_a_copy_of_a_column_comes_last(people):
    """With room for one number, its copy stays out: it adds nothing."""
    facts = propose_supervision(as_table(people), label="sick", most=12, means=False).let["F"]
    n_of = {name: sum(name in one for one in facts) for name in ("age", "copy")}

    assert min(n_of.values()) == 0
    assert max(n_of.values()) > 3
    assert "city = Rome" in facts


def test_every_row_has_at_most_one_fact_of_a_column(people):
    """Buckets of a number are disjoint and cover it."""
    table = as_table(people)
    schema = propose_supervision(table, label="sick", means=False)
    rules = sqrl.learn(people, schema)
    buckets = [i for i, rule in enumerate(rules) if "age" in rule.text]
    held = np.array([rules.condition_holds(i, people) for i in buckets])

    assert (held.sum(axis=0) == 1).all()
    assert len(rules) <= 300


def test_a_number_label_has_means(people):
    """Of a number the rules state its mean within facts."""
    rules = sqrl.learn(
        {name: people[name] for name in ("age", "copy", "city")}, "supervise", label="copy"
    )

    assert any("mean(copy)" in rule.text and "age" in rule.text for rule in rules)


def test_without_a_label_it_is_said():
    """Rules for training are about a label."""
    with pytest.raises(sqrl.SqrlError, match="about a label, and none is named"):
        sqrl.learn({"x": [1.0, 2.0] * 20}, "supervise")


def test_min_support_leaves_small_groups_out(people):
    """No number of the file rests on fewer rows than asked for."""
    rules = sqrl.learn(people, "supervise", label="sick", min_support=150)
    sizes = [rule.rows for rule in rules if "precision" in rule.text]

    assert rules.smallest_group is not None
    assert rules.smallest_group >= 150
    assert min(sizes) >= 150


def test_numbers_are_told_by_means_within_classes(people):
    """Of a number its means in each class, of a category rates; and what did best is kept."""
    rules = sqrl.learn(people, "supervise", label="sick")
    texts = [rule.text for rule in rules]
    centres = {rule.text: rule.centre for rule in rules}
    (one,) = [
        text for text in texts if text.startswith("sick = 1 =>") and "max(20.6, min(age" in text
    ]
    age, sick = np.array(people["age"]), np.array(people["sick"])
    low, high = (float(part) for part in one.split("max(")[1].split(")")[0].split(", min(age,"))

    assert any("precision(city = Rome => sick = 1)" in text for text in texts)
    assert centres[one] == pytest.approx(age[sick == 1].clip(low, high).mean(), rel=1e-12)
    assert rules.schema.train.strength > 0
    assert len(rules) <= 300


def test_few_rows_of_a_class_in_a_mini_batch_are_told_by_rates(people):
    """With `min_support` no bound is the mean of fewer rows: then numbers are in buckets."""
    many = propose_supervision(as_table(people), label="sick", min_support=20)
    few = propose_supervision(as_table(people), label="sick", min_support=400)

    assert "X" in many.let
    assert "X" not in few.let


def test_at_most_as_many_rules_as_asked_for(people):
    """Means count too: one for each class."""
    for most in (8, 30):
        rules = sqrl.learn(people, propose_supervision(as_table(people), label="sick", most=most))
        assert 2 < len(rules) <= most


@pytest.fixture(scope="module")
def together():
    """Whether the machine fails depends on two switches that are both on or both off."""
    draw = np.random.default_rng(1)
    n = 2400
    one, other = draw.choice(["on", "off"], n), draw.choice(["on", "off"], n)
    load = draw.normal(size=n)
    fails = draw.random(n) < np.where(one == other, 0.85, 0.15)
    return {"one": one, "other": other, "load": load, "fails": np.where(fails, "yes", "no")}


def test_columns_that_act_together_are_told_in_pairs(together):
    """What no column says by itself is stated of both, and models trained by it know it."""
    columns = ("one", "other", "load")
    behind = {name: values[:1200] for name, values in together.items()}
    here = {name: together[name][1200:] for name in columns}
    right = {}
    for pairs in (False, None):
        schema = propose_supervision(behind, label="fails", pairs=pairs)
        model = sqrl.RuleClassifier(sqrl.learn(behind, schema)).fit(here)
        right[pairs] = float((model.predict(here) == together["fails"][1200:]).mean())
        facts = schema.let.get("F", [])
        assert any(" and " in one for one in facts) == (pairs is None)

    assert right[False] < 0.6
    assert right[None] > 0.8


def test_columns_that_add_up_are_not(people):
    """Where effects add up there is nothing to say of pairs: the schema is as without them."""
    table = as_table(people)
    alone = propose_supervision(table, label="sick", pairs=False)

    assert propose_supervision(table, label="sick") == alone


def test_pairs_rest_on_as_many_rows_as_asked_for(together):
    """`min_support` and the number of rules hold for pairs, too."""
    rules = sqrl.learn(together, "supervise", label="fails", min_support=50)
    few = propose_supervision(together, label="fails", most=4)

    assert any(" and " in rule.text for rule in rules)
    assert rules.smallest_group >= 50
    assert len(sqrl.learn(together, few)) <= 4


def test_pairs_are_stated_of_numbers_only_where_asked_for(together):
    """A label that is a number has no trial: pairs are stated with `pairs=True` alone."""
    hours = np.where(together["one"] == together["other"], 5.0, 9.0) + together["load"]
    table = {"one": together["one"], "other": together["other"], "hours": hours}

    usual = propose_supervision(table, label="hours").let.get("F", [])
    asked = propose_supervision(table, label="hours", pairs=True).let["F"]

    assert not any(" and " in one for one in usual)
    assert any(" and " in one for one in asked)
