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

    with pytest.warns(sqrl.errors.AdaptWarning, match="means are others in these rows"):
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


def mean_rules(x, y, classes=("a", "b", "c"), spread=1e-6):
    """Rules that state the rate of each class and the mean of x within it."""
    rates = [f"rate(y = {name}) <= 1 over 9" for name in classes]
    means = [f"y = {name} => mean(x) <= 99 over 9" for name in classes]
    centres = [float((y == name).mean()) for name in classes]
    centres += [float(np.nanmean(x[y == name])) for name in classes]
    return RuleSet.from_texts([*rates, *means], centre=centres, spread=[spread] * len(centres))


def test_means_within_classes_are_the_score_equations_of_a_logistic_regression():
    """Of the same rows they give what labels give: the maximum of the likelihood, and the truth."""
    from scipy.optimize import minimize

    draw = np.random.default_rng(0)
    x = draw.normal(3, 2, 1500)
    logits = np.column_stack([0 * x, 0.8 * x - 2, -0.5 * x + 1])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    codes = (p.cumsum(axis=1) < draw.random((1500, 1))).sum(axis=1)
    y = np.array(["a", "b", "c"])[codes]

    def minus_likelihood(flat):  # by labels, row by row
        z = np.outer(x, np.append(0, flat[:2])) + np.append(0, flat[2:])
        return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(1500), codes]).sum()

    best = minimize(minus_likelihood, np.zeros(4)).x
    z = np.outer(x, np.append(0, best[:2])) + np.append(0, best[2:])
    by_labels = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    stated = read_stated(mean_rules(x, y))
    terms = stated.held(as_table({"x": x.tolist()}), {})
    found = fit_additive(stated, terms, strength=1e-9).predict(terms)

    assert stated.means.expressions[0].name == "x"
    assert np.abs(found - by_labels).max() < 2e-3
    by_hand = [(found[:, c] @ x) / found[:, c].sum() for c in range(3)]
    assert np.allclose(by_hand, [x[y == name].mean() for name in "abc"], atol=2e-3)


def test_rows_that_lack_a_number_say_nothing_by_it():
    """The mean is of rows that have the number; one without gets what is known but for it."""
    draw = np.random.default_rng(1)
    x = draw.normal(0, 1, 4000)
    y = np.where(draw.random(4000) < 1 / (1 + np.exp(-2 * x)), "b", "a")
    x[draw.random(4000) < 0.3] = np.nan
    model = RuleClassifier(mean_rules(x, y, "ab"), strength=1e-6).fit({"x": x.tolist()})
    found = model.predict_proba({"x": [-1.0, None, 1.0]})[:, 1]

    assert found[0] < 0.2
    assert found[1] == pytest.approx(0.5, abs=0.05)
    assert found[2] > 0.8
    (text, effects), *_ = model.effects_
    assert text == "x"
    assert effects[1] - effects[0] == pytest.approx(2, abs=0.3)


def test_a_shift_of_all_rows_is_no_effect_of_a_class():
    """Means are seen from that of all classes together, not from that of the rows here."""
    draw = np.random.default_rng(2)
    x = draw.normal(0, 1, 3000)
    y = np.where(draw.random(3000) < 1 / (1 + np.exp(-x)), "b", "a")
    rules = mean_rules(x, y, "ab")
    here = RuleClassifier(rules, strength=1e-6).fit({"x": x.tolist()})
    with pytest.warns(sqrl.errors.AdaptWarning):  # of what cannot be met
        moved = RuleClassifier(rules, strength=1e-6).fit({"x": (x + 5).tolist()})

    assert np.allclose(here.effects_[0][1], moved.effects_[0][1], atol=1e-3)


def test_what_did_best_where_rules_were_learned_is_used(learned):
    """The file's strength and scale, unless another strength is given; and files keep them."""
    rows, _ = made_rows(800, 7)
    by = learned.schema.train
    model = RuleClassifier(learned).fit(rows)
    with pytest.warns(sqrl.errors.AdaptWarning, match="cannot be met"):  # held back by too much
        other = RuleClassifier(learned, strength=5.0).fit(rows)

    assert (model.model_.strength, model.model_.scale) == (by.strength, by.scale)
    assert np.abs(other.model_.effects).max() < np.abs(model.model_.effects).max()
