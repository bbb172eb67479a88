"""The additive model: the rates that rules state, and what labels would have given."""

import numpy as np
import pytest

import sqrl
from sqrl import RuleClassifier, RuleRegressor, RuleSet
from sqrl._data.table import as_table
from sqrl._train.additive import fit_additive
from sqrl._train.stated import read_stated


def made_rows(n, seed, flip=False):
    draw = np.random.default_rng(seed)
    age, weight = draw.uniform(20, 80, n), draw.normal(75, 12, n)
    smokes = draw.choice(["yes", "no"], n, p=[0.3, 0.7])
    logit = (age - 50) / 12 + 0.8 * (smokes == "yes") + (weight - 75) / 20
    sick = (draw.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    sick = 1 - sick if flip else sick
    columns = {"age": age, "weight": weight, "smokes": smokes}
    return {k: v.tolist() for k, v in columns.items()}, sick


@pytest.fixture(scope="module")
def learned():
    rows, sick = made_rows(4000, 0)
    return sqrl.learn({**rows, "sick": sick.tolist()}, "supervise", label="sick")


def auc(labels, scores):
    order = np.argsort(scores)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    n = labels.sum()
    return (ranks[labels == 1].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))


def test_rules_alone_train_nearly_as_well_as_all_labels(learned):
    """AUC on new rows: that of logistic regression with all labels, less a percent at most."""
    from sklearn.linear_model import LogisticRegression

    rows, sick = made_rows(3000, 1)
    test, truth = made_rows(3000, 2)
    model = RuleClassifier(learned).fit(rows)
    inputs = [
        np.column_stack([one["age"], one["weight"], np.array(one["smokes"]) == "yes"])
        for one in (rows, test)
    ]
    best = LogisticRegression(max_iter=500).fit(inputs[0], sick).predict_proba(inputs[1])[:, 1]
    found = model.predict_proba(test)

    assert auc(truth, found[:, 1]) >= 0.99 * auc(truth, best)
    assert abs(found[:, 1].mean() - truth.mean()) < 0.03
    assert model.classes_.tolist() == [0, 1]
    assert set(model.predict(test).tolist()) == {0, 1}
    assert not model.misfit_.warning


def test_the_stated_rates_are_met_without_strength():
    """With no strength and sure rates the fit has them: its own equations."""
    texts = [
        "precision(x = 1 => y = b) <= 1 over 9",
        "precision(x = 2 => y = b) <= 1 over 9",
        "precision(z = 1 => y = b) <= 1 over 9",
    ]
    draw = np.random.default_rng(0)
    rows = {"x": draw.choice([1, 2, 3], 3000).tolist(), "z": draw.choice([0, 1], 3000).tolist()}
    x, z = np.array(rows["x"]), np.array(rows["z"])
    truth = 1 / (1 + np.exp(-(1.0 * (x == 1) - 0.5 * (x == 2) + 0.7 * z)))
    centres = [truth[x == 1].mean(), truth[x == 2].mean(), truth[z == 1].mean(), truth.mean()]
    rules = RuleSet.from_texts(
        [*texts, "rate(y = b) <= 1 over 9"], centre=centres, spread=[1e-5] * 4
    )
    stated = read_stated(rules, ["a", "b"])
    held = stated.held(as_table(rows), {})
    found = fit_additive(stated, held, strength=1e-8).predict(held)[:, 1]

    assert np.allclose(
        [found[x == 1].mean(), found[x == 2].mean(), found[z == 1].mean()], centres[:3], atol=2e-3
    )
    assert np.abs(found - truth).max() < 0.01  # additive truth is found, though never seen


def test_unsure_rates_count_less():
    """A rate with a wide spread moves the model less than the same with a narrow one."""
    rows = {"x": [0, 1] * 500}

    def effect(spread):
        texts = ["rate(y = 1) <= 1 over 9", "precision(x = 1 => y = 1) <= 1 over 9"]
        rules = RuleSet.from_texts(texts, centre=[0.5, 0.9], spread=[0.01, spread])
        model = RuleClassifier(rules, strength=0.01).fit(rows)
        return model.predict_proba({"x": [1]})[0, 1]

    assert 0.5 < effect(1.0) < effect(0.3) < effect(0.01)


def test_recall_says_what_precision_says():
    """Either statistic of the same counts gives the same model."""
    rows = {"x": [0] * 600 + [1] * 400}
    base = "rate(y = 1) <= 1 over 9"
    made = []
    for name, centre in (("precision", 0.8), ("recall", 0.32 / 0.5), ("f1", 0.64 / 0.9)):
        rules = RuleSet.from_texts(
            [base, f"{name}(x = 1 => y = 1) <= 1 over 9"], centre=[0.5, centre], spread=[1e-4, 1e-4]
        )
        made.append(RuleClassifier(rules, strength=1e-6).fit(rows).predict_proba({"x": [1]})[0, 1])

    assert np.allclose(made, 0.8, atol=0.01)


def test_labels_of_some_rows_help_where_rules_are_few(learned):
    """Labels are added to what rules state; None and nan are rows without."""
    rows, sick = made_rows(2000, 3)
    test, truth = made_rows(3000, 4)
    poor = learned[
        np.array([i for i, r in enumerate(learned) if "smokes" in r.text or "rate" in r.text])
    ]
    labels = [int(one) if place % 4 == 0 else None for place, one in enumerate(sick)]
    without = RuleClassifier(poor).fit(rows).predict_proba(test)[:, 1]
    with_labels = RuleClassifier(poor).fit(rows, labels).predict_proba(test)[:, 1]

    assert auc(truth, with_labels) >= auc(truth, without) - 0.005
    with pytest.raises(sqrl.SqrlError, match="y has the class '7'"):
        RuleClassifier(poor).fit(rows, [7] * 2000)


def test_no_label_of_the_rows_is_looked_at(learned):
    """A column of the label's name in X changes nothing."""
    rows, sick = made_rows(500, 5)
    one = RuleClassifier(learned).fit(rows).predict_proba(rows)
    other = RuleClassifier(learned).fit({**rows, "sick": sick.tolist()}).predict_proba(rows)

    assert np.array_equal(one, other)


def test_another_population_is_warned_of(learned):
    """Facts that hold for other shares of the rows: rates need not fit."""
    rows, _ = made_rows(1500, 6)
    rows["age"] = [age + 25 for age in rows["age"]]

    with pytest.warns(sqrl.errors.AdaptWarning, match="facts hold for another share"):
        RuleClassifier(learned).fit(rows)


def test_means_train_a_regression():
    """Of a number the means within facts are enough for most of its variance."""
    draw = np.random.default_rng(0)

    def rows_of(n):
        x, g = draw.uniform(0, 10, n), draw.choice(["a", "b"], n)
        return {"x": x.tolist(), "g": g.tolist()}, 3 * x + 5 * (g == "a") + draw.normal(0, 1, n)

    behind, price = rows_of(2000)
    rules = sqrl.learn({**behind, "price": price.tolist()}, "supervise", label="price")
    rows, _ = rows_of(1000)
    test, truth = rows_of(1000)
    model = RuleRegressor(rules).fit(rows)

    assert model.score(test, truth) > 0.93
    with pytest.raises(sqrl.SqrlError, match="means of a number"):
        RuleClassifier(rules).fit(rows)


def test_messages_say_what_to_do(learned):
    """Arrays have no names; rules without a rate state nothing; no rows are none."""
    with pytest.raises(sqrl.SqrlError, match="columns by name"):
        RuleClassifier(learned).fit(np.zeros((3, 2)))
    with pytest.raises(sqrl.SqrlError, match="X has no rows"):
        RuleClassifier(learned).fit({"age": [], "weight": [], "smokes": []})
    rules = RuleSet.from_texts(["type = Car => width <= 9"])
    with pytest.raises(sqrl.SqrlError, match="to train by"):
        RuleClassifier(rules).fit({"width": [1.0]})
