"""Distil: what a classifier of the table says reaches the model, and nothing where they agree."""

import numpy as np
import pytest
import torch
from torch import nn

from sqrl import Batches, adapt
from sqrl._adapt.batches import Batch, Categories
from sqrl._adapt.objective import Context
from sqrl.errors import AdaptError, UnknownNameError
from sqrl.methods import Distil
from sqrl.methods.distil import frame_of


class Told:
    """A classifier that gives the probabilities it is given."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, rows):
        return rows.numpy()


def context(source):
    return Context(run=source, source=source, generator=torch.Generator())


def test_a_gradient_is_the_slope_of_the_objective():
    """Of the divergence itself, and beyond what is usual."""
    p = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]).double()
    out = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    plain = Distil(Told(), None, features=lambda batch: batch)
    beyond = Distil(Told(), [p], features=lambda batch: batch)
    beyond._usual = (0.01, 0.01)

    assert torch.autograd.gradcheck(lambda out: plain(p, out), out)
    assert torch.autograd.gradcheck(lambda out: beyond(p, out), out)
    assert beyond(p, out).item() > 0


def test_what_is_usual_on_training_data_costs_nothing():
    """Its mean, and three standard errors for as many rows as there are, are taken off."""
    p = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    source = torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]).log()
    out = torch.tensor([[0.125, 0.125, 0.75], [0.125, 0.125, 0.75]]).log()
    rows = np.array([0.5 * np.log(2), 0.0])  # KL of the source, by hand
    usual = rows.mean() + 3 * rows.std() / np.sqrt(2)
    distil = Distil(Told(), [p], features=lambda batch: batch)
    found = distil(p, out, context(lambda _: source))

    assert float(found) == pytest.approx(np.log(4) - usual, rel=1e-5)
    assert float(distil(p, source, context(lambda _: source))) == 0


def test_classes_are_put_in_the_order_of_the_logits():
    """Logits of c, a, b beside a classifier of a, b, c."""
    p = torch.tensor([[0.2, 0.3, 0.5]])
    distil = Distil(Told(), None, features=lambda batch: batch, classes=["c", "a", "b"])

    assert float(distil(p, torch.tensor([[0.5, 0.2, 0.3]]).log())) == pytest.approx(0, abs=1e-6)


def test_columns_are_read_by_the_names_that_the_classifier_was_fitted_with():
    """In its order; categories as their texts, missing ones as missing."""
    pytest.importorskip("pandas")
    columns = {
        "age": torch.tensor([1.0, 2.0, 3.0]),
        "city": Categories(torch.tensor([1, -1, 0]), ("Bergen", "Oslo")),
        "other": torch.zeros(3),
    }
    classifier = Told()
    classifier.feature_names_in_ = np.array(["city", "age"], dtype=object)
    made = frame_of(classifier, Batch(None, columns))

    assert list(made.columns) == ["city", "age"]
    assert made["city"].dropna().tolist() == ["Oslo", "Bergen"]
    assert made["city"].isna().tolist() == [False, True, False]
    assert made["age"].tolist() == [1, 2, 3]
    with pytest.raises(UnknownNameError, match="Unknown column 'city'"):
        frame_of(classifier, Batch(None, {"cty": columns["city"], "age": columns["age"]}))


def test_a_broken_feed_is_mended_and_a_right_one_left_alone():
    """The first of two columns is fed with the wrong sign; the table has it right."""
    sklearn = pytest.importorskip("sklearn.linear_model")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 2))
    labels = (rows[:, 0] + 0.5 * rows[:, 1] + 0.3 * rng.normal(size=900) > 0).astype(int)
    table = pd.DataFrame(rows, columns=["x", "y"])
    classifier = sklearn.LogisticRegression().fit(table[:300], labels[:300])
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2))
    x, y = torch.from_numpy(rows).float(), torch.from_numpy(labels)
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x[:300]), y[:300]).backward()
        optimiser.step()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    training = Batches(x[300:600], table[300:600], size=100)
    broken = x[600:] * torch.tensor([0.1, 1.0])

    def right(inputs):
        batches = Batches(inputs, table[600:], size=100)
        objective = Distil(classifier, training)
        adapted = adapt(model, batches, objective, lr=objective.lr, epochs=objective.epochs)
        outs = model(inputs), adapted.predict(batches)
        return [float((out.argmax(1) == y[600:]).float().mean()) for out in outs], adapted

    (was, mended), _ = right(broken)
    (_, same), untouched = right(x[600:])

    assert mended > was + 0.05
    assert untouched.changed == ()
    assert same > 0.85
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Distil(object(), None),
            "A object gives no probabilities, or was not fitted.\n"
            "  fix:   give a fitted classifier with predict_proba, such as LogisticRegression()",
        ),
        (
            lambda: Distil(Told(), None, classes=["a", "d"]),
            "The classifier does not know the class 'd'.\n"
            "  where: classes=\n  fix:   it knows 'a', 'b', 'c'",
        ),
        (
            lambda: Distil(Told(), None)(torch.zeros(1, 3), torch.zeros(1, 3)),
            "The classifier does not know the names of its columns.\n"
            "  fix:   fit the classifier on a data frame and make batches with"
            " sqrl.Batches(inputs, table), or pass features=lambda batch: ...",
        ),
        (
            lambda: Distil(Told(), None, features=lambda x: x)(torch.ones(1, 3), torch.zeros(1, 2)),
            "The classifier's probabilities have the shape (1, 3), the model's (1, 2).\n"
            "  fix:   give a classifier of the same classes and rows, or say classes=[...]",
        ),
        (
            lambda: Distil(Told(), [torch.ones(1, 3)], features=lambda x: x)(
                torch.ones(1, 3), torch.zeros(1, 3)
            ),
            "Distil runs the source on training data, and there is no model here to run.\n"
            "  fix:   use it through sqrl.adapt(model, batches, Distil(...)), or give"
            " training=None",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    """With what to do about it."""
    with pytest.raises(AdaptError) as caught:
        make()

    assert str(caught.value) == message
