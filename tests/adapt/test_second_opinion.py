"""What rules say of single rows, by themselves and beside what the source says."""

import warnings
from functools import cache

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

import sqrl
from small_model import train_small
from sqrl._adapt.conditions import Body, Conditions, Remembered
from sqrl._adapt.expected import Expected
from sqrl._adapt.second_opinion import form_opinion
from sqrl._language import parse_formula

N_BEFORE = 20_000
BALANCE = np.array([0.7, 0.3])
INSIDE = ((0.2, 0.6), (0.5, 0.3))  # P(condition | class)


def remembered():
    """Two conditions, as often as they hold in each class."""
    known = []
    for place, rates in enumerate(INSIDE):
        heads = N_BEFORE * BALANCE
        both = heads * rates
        by_class = {at: (both[at], heads[at], both.sum(), N_BEFORE) for at in (0, 1)}
        known.append(Remembered(frozenset({f"x{place}"}), both.sum(), N_BEFORE, by_class))
    bodies = tuple(Body((parse_formula(f"x{place} > 0"),)) for place in range(len(INSIDE)))
    return Conditions(bodies, tuple(known), {}, 2)


def rows(n, share, seed):
    """Where conditions hold, the classes, and what a source says that knows more than they do."""
    draw = np.random.default_rng(seed)
    y = (draw.random(n) < share).astype(int)
    truths = draw.random((len(INSIDE), n)) < np.array(INSIDE)[:, y]
    more = draw.normal(size=n) + 2 * y
    odds = np.log(BALANCE[1] / BALANCE[0]) + 2 * more - 2  # of two normals, exactly
    for held, (zero, one) in zip(truths, INSIDE, strict=True):
        odds = odds + np.where(held, np.log(one / zero), np.log((1 - one) / (1 - zero)))
    p = 1 / (1 + np.exp(-odds))
    return truths, y, torch.tensor(np.stack([1 - p, p], axis=1))


def many_conditions(n, draw):
    """Where 100 overlapping conditions of ten columns hold in `n` rows, and the classes."""
    x = draw.normal(size=(n, 10))
    y = draw.random(n) < 1 / (1 + np.exp(1 - x[:, 0] - 0.5 * x[:, 1]))
    held = np.array([x[:, at % 10] > (at // 10 - 4.5) / 3 for at in range(100)])
    return held, y.astype(int)


def believed_and_true_loss(seed):
    """The log loss that an opinion of 1,500 rows believes it has, and that by the classes."""
    draw = np.random.default_rng(seed)
    held, y = many_conditions(4000, draw)
    known = []
    for place, one in enumerate(held):
        heads = np.bincount(y, minlength=2).astype(float)
        both = np.bincount(y[one], minlength=2).astype(float)
        by_class = {at: (both[at], heads[at], both.sum(), 4000.0) for at in (0, 1)}
        known.append(Remembered(frozenset({f"x{place}"}), both.sum(), 4000.0, by_class))
    bodies = tuple(Body((parse_formula(f"x{place} > 0"),)) for place in range(len(held)))
    truths, now = many_conditions(1500, draw)
    balance = np.bincount(y) / 4000
    said = form_opinion(Conditions(bodies, tuple(known), {}, 2), truths, balance).of_truths(truths)
    true = torch.nn.functional.one_hot(torch.tensor(now), 2).double()
    return Expected.of(said, said).loss, Expected.of(said, true).loss


@pytest.mark.parametrize("seed", range(3))
def test_an_opinion_is_as_right_as_it_believes(seed, monkeypatch):
    """Many overlapping conditions fit the chance in the rows, but for a belief about weights."""
    believed, true = believed_and_true_loss(seed)
    monkeypatch.setattr("sqrl._adapt.second_opinion.WEIGHT", 1e3)
    certain, wrong = believed_and_true_loss(seed)

    assert abs(true - believed) < 0.03
    assert wrong - certain > 0.05
    assert true < wrong


def test_a_source_that_has_the_rates_is_told_nothing():
    """Where nothing has changed the nearest predictions are the source's own."""
    truths, _, source = rows(N_BEFORE, 0.3, 0)

    nearest = form_opinion(remembered(), truths, BALANCE).nearest_to(source, truths)

    assert float((nearest - source).abs().mean()) < 0.01
    assert float((nearest - source).mean(0).abs().max()) < 0.01


def test_the_nearest_predictions_have_the_rates_and_the_balance():
    """At another balance the rates within conditions are those of that balance."""
    truths, _, source = rows(20_000, 0.1, 1)
    now = np.array([0.9, 0.1])

    nearest = form_opinion(remembered(), truths, now).nearest_to(source, truths)

    assert float(nearest[:, 1].mean()) == pytest.approx(0.1, abs=1e-3)
    for held, (zero, one) in zip(truths, INSIDE, strict=True):
        rate = one * 0.1 / (one * 0.1 + zero * 0.9)
        assert float(nearest[held, 1].mean()) == pytest.approx(rate, abs=0.01)


def test_they_are_the_nearest_by_hand():
    """Of all predictions with the rates, the least divergence: a general solver finds the same."""
    truths, _, source = rows(40, 0.3, 2)
    opinion = form_opinion(remembered(), truths, BALANCE)
    nearest = opinion.nearest_to(source, truths).numpy()
    q = source[:, 1].numpy()

    def divergence(p):
        p = p.clip(1e-9, 1 - 1e-9)
        return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).sum())

    # What the nearest predictions have, since rates known from few rows are held to less.
    same = [*(held.astype(float) for held in truths), np.ones(40)]
    limits = [{"type": "eq", "fun": lambda p, one=one: one @ (p - nearest[:, 1])} for one in same]
    ends = [(1e-6, 1 - 1e-6)] * 40
    options = {"maxiter": 500}
    found = minimize(divergence, np.full(40, 0.5), bounds=ends, constraints=limits, options=options)

    assert found.fun == pytest.approx(divergence(nearest[:, 1]), abs=1e-3)
    assert np.abs(found.x - nearest[:, 1]).max() < 0.02


def test_within_a_condition_rows_are_ranked_as_by_the_source():
    """What conditions do not tell apart the source does."""
    truths, _, source = rows(2000, 0.1, 3)
    opinion = form_opinion(remembered(), truths, np.array([0.9, 0.1]))
    nearest = opinion.nearest_to(source, truths)

    for one in (False, True):
        for other in (False, True):
            inside = (truths[0] == one) & (truths[1] == other)
            order = source[inside, 1].argsort()
            assert bool((nearest[inside, 1][order].diff() >= 0).all())


def test_of_many_rows_some_are_looked_at(monkeypatch):
    """With more rows than are looked at, the result is about the same."""
    truths, _, source = rows(9000, 0.3, 4)
    opinion = form_opinion(remembered(), truths, np.array([0.8, 0.2]))
    every = opinion.nearest_to(source, truths)
    monkeypatch.setattr("sqrl._adapt.second_opinion.MOST_FITTED", 2000)

    assert float((opinion.nearest_to(source, truths) - every).abs().mean()) < 0.03


@cache
def setting():
    """Rules about one column, and a model that knows another, which says far more."""
    draw = np.random.default_rng(0)

    def made(n, share):
        y = (draw.random(n) < share).astype(int)
        return {"x": draw.normal(size=n) + 0.8 * y, "z": draw.normal(size=n) + 2.5 * y}, y

    train, y = made(6000, 0.4)
    schema = {
        "label": "y",
        "let": {"L": "literals(x/6)", "Y": "values(y)"},
        "rules": ["? <= f1(L => y = Y) <= ? over 256"],
        "batches": {"train": 40, "valid": 20},
        "bounds": {"min_support": 30},
    }
    rules = sqrl.learn({"x": train["x"], "y": y}, schema)
    model = train_small(np.stack([train["x"], train["z"]], 1), y, epochs=5)
    return rules, model, made


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_what_the_source_knows_beyond_the_rules_is_not_lost(share):
    """With another balance of classes rows are ranked as well as before."""
    rules, model, made = setting()
    columns, y = made(4096, share)
    inputs = torch.tensor(np.stack([columns["x"], columns["z"]], 1), dtype=torch.float32)
    batches = sqrl.Batches(inputs, {"x": columns["x"]}, size=512)
    loss = sqrl.RuleLoss(rules, lambda batch, out: {**batch.columns, "y": out.softmax(-1)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sqrl.errors.AdaptWarning)
        adapted = sqrl.adapt(model, batches, loss)
    with torch.no_grad():
        before, after = (
            roc_auc_score(y, one(inputs).softmax(-1)[:, 1]) for one in (model, adapted)
        )

    assert after > before - 0.005
