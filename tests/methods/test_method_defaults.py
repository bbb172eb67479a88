"""Methods with their own defaults do no harm where nothing has drifted."""

import numpy as np
import pytest
import torch
from torch import nn

from sqrl import Batches, adapt
from sqrl.methods import EATA, SAR, CoTTA, Distil, TableNoise

pytest.importorskip("sklearn")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def made():
    """Two classes, one of them twice as frequent, that a line does not part; a model of them."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4500, 4))
    score = rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.4 * rng.normal(size=4500)
    labels = torch.from_numpy((score > 0.5).astype(np.int64))
    x, table = torch.from_numpy(rows).float(), pd.DataFrame(rows, columns=list("abcd"))
    torch.manual_seed(0)
    layers = [nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU()]
    model = nn.Sequential(
        *layers, nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for index in torch.arange(1500).repeat(10).split(150):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x[index]), labels[index]).backward()
        optimiser.step()
    return {
        "model": model.eval(),
        "classifier": LogisticRegression().fit(table[:1500], labels[:1500]),
        "training": Batches(x[1500:2500], table[1500:2500], size=250),
        "batches": Batches(x[2500:], table[2500:], size=250),
        "labels": labels[2500:],
        "right": lambda out: float((out.argmax(-1) == labels[2500:]).double().mean()),
    }


METHODS = {
    "EATA": lambda made: EATA(made["training"]),
    "EATA without training data": lambda _: EATA(),
    "SAR": lambda _: SAR(),
    "CoTTA": lambda _: CoTTA(TableNoise()),
    "Distil": lambda made: Distil(made["classifier"], made["training"]),
}


@pytest.mark.parametrize("name", METHODS)
def test_without_drift_accuracy_stays_within_a_point(name, made):
    """Offline, with the learning rate and the number of passes that the method asks for."""
    model, batches, right = made["model"], made["batches"], made["right"]
    before = {key: value.clone() for key, value in model.state_dict().items()}
    objective = METHODS[name](made)
    adapted = adapt(model, batches, objective, lr=objective.lr, epochs=objective.epochs)

    assert right(adapted.predict(batches)) >= right(model(batches.inputs)) - 0.01
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_the_classifier_is_the_worse_of_the_two(made):
    """So that distilling it as it is does harm, which is what training data is there to prevent."""
    batches, right = made["batches"], made["right"]
    plain = Distil(made["classifier"], None)
    adapted = adapt(made["model"], batches, plain, lr=plain.lr, epochs=10)

    assert right(adapted.predict(batches)) < right(made["model"](batches.inputs)) - 0.03
