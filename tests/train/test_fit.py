"""fit(): networks trained by rules; the loss around centres, by hand."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import sqrl
from sqrl import Batches, CentreLoss, RuleSet, fit
from sqrl.errors import AdaptWarning

TEXTS = [
    "0.1 <= precision(age <= 50 => sick = 1) <= 0.3 over 9",
    "0.7 <= precision(age > 50 => sick = 1) <= 0.9 over 9",
    "0.4 <= rate(sick = 1) <= 0.6 over 9",
]
RULES = RuleSet.from_texts(TEXTS, centre=[0.2, 0.8, 0.5], spread=[0.02, 0.02, 0.01])


def people(n=240, seed=0):
    ages = np.random.default_rng(seed).uniform(1, 100, n)
    return torch.tensor((ages - 50) / 30, dtype=torch.float32)[:, None], {"age": ages.tolist()}


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2))
    inputs, table = people()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fitted = fit(model, Batches(inputs, table, size=40), RULES, lr=0.05)
    return model, before, fitted


def test_the_loss_is_its_formula():
    """(expected - centre)^2 / (centre (1 - centre) / n + spread^2), averaged over the rules."""
    inputs, table = people(20)
    batch = next(iter(Batches(inputs, table, size=20)))
    logits = torch.randn(20, 2, generator=torch.Generator().manual_seed(1))
    names = lambda batch, out: {**batch.columns, "sick": out.softmax(-1)}  # noqa: E731
    found = float(CentreLoss(RULES, names)(batch, logits))
    sick = logits.softmax(-1)[:, 1].double().numpy()
    age = batch.columns["age"].numpy()
    costs = []
    for inside, centre, spread in (
        (age <= 50, 0.2, 0.02),
        (age > 50, 0.8, 0.02),
        (age > 0, 0.5, 0.01),
    ):
        variance = centre * (1 - centre) / inside.sum() + spread**2
        costs.append((sick[inside].mean() - centre) ** 2 / variance)

    assert found == pytest.approx(np.mean(costs), rel=1e-4)


def test_a_network_learns_the_rates_and_the_source_stays(trained):
    """Rates within facts are met on other rows; the model given is untouched."""
    model, before, fitted = trained
    inputs, table = people(400, seed=1)
    sick = fitted.predict(Batches(inputs, table, size=64))[:, 1]
    old = torch.tensor(table["age"]) > 50

    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert float(sick[old].mean()) == pytest.approx(0.8, abs=0.08)
    assert float(sick[~old].mean()) == pytest.approx(0.2, abs=0.08)
    assert any(epoch.is_best for epoch in fitted.epochs)
    assert fitted.classes == ("0", "1")


def test_any_loader_will_do():
    """A list of plain batches, with names that say what is what."""
    inputs, table = people()
    ages = torch.tensor(table["age"])
    loader = [(inputs[at : at + 40], ages[at : at + 40]) for at in range(0, 240, 40)]
    names = lambda batch, out: {"age": batch[1], "sick": out.softmax(-1)}  # noqa: E731
    fitted = fit(
        nn.Linear(1, 2),
        loader,
        RULES,
        names=names,
        lr=0.1,
        epochs=15,
        forward=lambda model, batch: model(batch[0]),
    )

    assert fitted(torch.tensor([[1.5]])).softmax(-1)[0, 1] > 0.6


def test_labels_count_where_they_are_given():
    """Labels against the rules move the model away from them, which is said."""
    inputs, table = people()
    old = np.array(table["age"]) > 50
    wrong = [int(not one) if place % 2 else None for place, one in enumerate(old)]
    batches = Batches(inputs, table, size=40)
    plain = fit(nn.Linear(1, 2), batches, RULES, lr=0.1, epochs=10)
    with pytest.warns(AdaptWarning, match="of 2 rates cannot be met together"):
        moved = fit(nn.Linear(1, 2), batches, RULES, wrong, lr=0.1, epochs=10)
    oldest = torch.tensor([[1.5]])

    assert moved(oldest).softmax(-1)[0, 1] < plain(oldest).softmax(-1)[0, 1]
    with pytest.raises(sqrl.SqrlError, match="3 labels for 240 rows"):
        fit(nn.Linear(1, 2), Batches(inputs, table, size=40), RULES, [0, 1, 1])


def test_wrong_outputs_are_named():
    """Three outputs for two classes, and rules that state nothing."""
    inputs, table = people(60)
    with pytest.raises(sqrl.SqrlError, match="3 outputs, and the rules speak of 2"):
        fit(nn.Linear(1, 3), Batches(inputs, table, size=20), RULES)


def test_a_number_is_trained_by_means():
    """Means within facts train a network with one output."""
    schema = sqrl.Schema(label="price", rules=("? <= mean(price) <= ? over 9",))
    texts = [
        "0 <= mean(price) <= 9 over 9",
        "age <= 50 => 1 <= mean(price) <= 3 over 9",
        "age > 50 => 7 <= mean(price) <= 9 over 9",
    ]
    rules = RuleSet.from_texts(texts, schema=schema, centre=[5, 2, 8], spread=[0.1] * 3)
    inputs, table = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a line has no steps: the means are not met exactly
        fitted = fit(nn.Linear(1, 1), Batches(inputs, table, size=40), rules, lr=0.1)

    assert fitted.predict(torch.tensor([[1.2], [-1.2]])).diff().item() < -3


def test_means_within_classes_train_a_network_and_the_loss_is_its_formula():
    """(expected mean - centre)^2 / (variance / expected rows + spread^2); and fit uses it."""
    texts = [
        "rate(sick = 1) <= 1 over 9",
        "sick = 0 => mean(age) <= 99 over 9",
        "sick = 1 => mean(age) <= 99 over 9",
    ]
    rules = RuleSet.from_texts(texts, centre=[0.5, 35, 65], spread=[0.01, 1.0, 1.0])
    inputs, table = people(40)
    batch = next(iter(Batches(inputs, table, size=40)))
    logits = torch.randn(40, 2, generator=torch.Generator().manual_seed(1))
    loss = CentreLoss(rules, names=lambda batch, out: {"sick": out.softmax(-1), **batch.columns})
    p = logits.softmax(-1).double().numpy()
    age = np.asarray(batch.columns["age"], float)
    by_hand = [(p[:, 1].mean() - 0.5) ** 2 / (0.25 / 40 + 0.01**2)]
    for which, centre in ((0, 35), (1, 65)):
        mean = p[:, which] @ age / p[:, which].sum()
        by_hand.append((mean - centre) ** 2 / (age.var(ddof=1) / p[:, which].sum() + 1))

    assert float(loss(batch, logits)) == pytest.approx(np.mean(by_hand), rel=1e-5)
    inputs, table = people()
    fitted = fit(nn.Linear(1, 2), Batches(inputs, table, size=40), rules, lr=0.1, epochs=30)
    found = fitted.predict(inputs)[:, 1].double().numpy()
    age = np.array(table["age"])
    assert found @ age / found.sum() == pytest.approx(65, abs=4)
    assert not fitted.misfit.unmet


def test_a_class_in_which_a_number_never_varied_is_no_certainty():
    """The variance of all rows counts as one row more: by hand, of forty rows that are all 0."""
    options = {"centre": [0.0], "spread": [0.0], "evidence": [[40.0, 0.0, 0.0]]}
    rules = sqrl.RuleSet.from_texts(["y = a => 0 <= mean(x) <= 0 over 4"], **options)
    x = torch.tensor([0.0, 0.0, 0.0, 2.0], dtype=torch.float64)
    p = torch.tensor([1.0, 1.0, 1.0, 0.5], dtype=torch.float64)
    loss = CentreLoss(rules, lambda _, out: {"x": x, "y": out}, classes=("a", "b"))

    value = 0.5 * 2.0 / 3.5  # the mean of x over rows of class a, as likely as they are
    chance = float(x.var()) / 41
    by_hand = value**2 / (chance / 3.5 + chance / 41)
    assert float(loss(None, torch.stack([p, 1 - p], 1))) == pytest.approx(by_hand)


def test_training_on_few_mini_batches_does_not_end_after_a_few_steps():
    """Five epochs without a better one are ten steps where there are two mini-batches."""
    inputs, columns = people(64)
    batches = Batches(inputs, columns, size=24)
    model = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 2))
    fitted = fit(model, batches, RULES, patience=1, epochs=200)
    best = max(epoch.number for epoch in fitted.epochs if epoch.is_best)
    n_steps = len(fitted.epochs) - best

    assert len(fitted.epochs) == 200 or 30 <= n_steps <= 60


def test_rates_of_mini_batches_are_added_where_asked_for():
    """A model that cannot say what the additive one says meets the rates more nearly with them."""
    inputs, table = people()
    old = torch.tensor(table["age"]) > 50
    found = {}
    for weight in (0.0, 0.3):
        torch.manual_seed(0)
        batches = Batches(inputs, table, size=40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptWarning)
            fitted = fit(nn.Linear(1, 2), batches, RULES, lr=0.1, weight=weight)
        sick = fitted.predict(batches)[:, 1]
        found[weight] = abs(float(sick[old].mean()) - 0.8) + abs(float(sick[~old].mean()) - 0.2)

    assert found[0.3] < found[0.0] - 0.02


def test_few_rows_get_as_many_steps_as_they_need():
    """With one mini-batch an epoch there are more epochs; a number that is given is kept."""
    inputs, table = people(60)
    batches = Batches(inputs, table, size=60)

    free = fit(nn.Linear(1, 2), batches, RULES, patience=10_000)
    assert len(free.epochs) == 1000
    assert len(fit(nn.Linear(1, 2), batches, RULES, patience=10_000, epochs=7).epochs) == 7
