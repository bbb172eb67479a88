"""Numbers whose means rules state within classes: compared with all rows, without a label."""

import numpy as np
import pytest
import torch
from torch import nn

import sqrl
from sqrl._adapt.number_drift import find_number_drift
from sqrl._adapt.rule_loss.named_tensors import read_named
from sqrl._adapt.rule_loss.tensor_rows import TensorRows
from sqrl._language.tree import Word
from sqrl.errors import AdaptWarning


def people(n=600, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    sick = rng.random(n) < 0.3
    return {
        "age": np.where(sick, 60.0, 40.0) + rng.normal(0, 5, n) + shift,
        "weight": rng.normal(70, 10, n) + 4 * sick,
        "sick": np.where(sick, "yes", "no"),
    }


@pytest.fixture(scope="module")
def rules():
    return sqrl.learn(people(2000, seed=9), "supervise", label="sick")


def drift_of(rules, rows, balance=None):
    numbers = {name: torch.tensor(rows[name]) for name in ("age", "weight")}
    equal = torch.full((len(rows["age"]), 2), 0.5)
    seen = TensorRows(read_named({**numbers, "sick": equal}, {"age", "weight", "sick"}), {})
    classes = [Word("no"), Word("yes")]
    return find_number_drift(rules, seen, label="sick", classes=classes, balance=balance)


def test_rows_of_the_same_kind_have_not_moved(rules):
    """Ten draws of good rows: nothing is found, and every number is compared."""
    for seed in range(10):
        found = drift_of(rules, people(seed=seed))

        assert found.n_compared >= 2
        assert found.moved == ()


def test_what_was_is_the_mean_of_the_classes_means_by_their_shares(rules):
    """By hand: 0.3 of them are sick."""
    found = drift_of(rules, people(shift=8.0))
    (text, before, now), *_ = [one for one in found.moved if one[0].find("age") >= 0]
    rows = people(shift=8.0)["age"]

    assert before == pytest.approx(0.7 * 40 + 0.3 * 60, abs=1.5)
    assert now == pytest.approx(rows.mean(), abs=1.0)
    assert "age" in text


def test_another_balance_that_is_known_explains_the_means(rules):
    """Half of them sick: moved as it stands, not with the balance of now."""
    rng = np.random.default_rng(3)
    sick = rng.random(900) < 0.6
    rows = {
        "age": np.where(sick, 60.0, 40.0) + rng.normal(0, 5, 900),
        "weight": rng.normal(70, 10, 900) + 4 * sick,
    }

    assert drift_of(rules, rows).moved
    assert drift_of(rules, rows, balance=np.array([0.4, 0.6])).moved == ()


def test_nothing_is_adapted_where_such_numbers_have_changed(rules):
    """Rules of means have no conditions: without this they would be followed into the drift."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    loss = sqrl.RuleLoss(rules, lambda batch, out: {**batch.columns, "sick": out.softmax(-1)})
    rows = people(1200, seed=4, shift=9.0)
    columns = {name: rows[name] for name in ("age", "weight")}
    inputs = torch.tensor(np.stack([rows["age"] / 50, rows["weight"] / 70], 1)).float()
    with pytest.warns(AdaptWarning, match="numbers whose means the rules state are others"):
        adapted = sqrl.adapt(model, sqrl.Batches(inputs, columns, size=256), loss, epochs=2)

    assert adapted.trace.ending == "Nothing was done: the table has changed too much."
    assert (adapted(inputs) == model.eval()(inputs)).all()
