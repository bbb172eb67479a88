"""Made rows of two classes, rules learned from them, and a small model trained on them."""

from functools import cache

import numpy as np
import torch

import sqrl
from small_model import train_small

N, OVER = 6000, 256


def made(n, seed, share=None):
    """Rows of three columns, two of which tell the class; with a share of the second class."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < (0.3 if share is None else share)).astype(int)
    x = rng.normal(size=(n, 3)) + np.outer(y, [1.2, -0.8, 0.0])
    return x, y


def columns(x):
    return {f"x{place}": x[:, place] for place in range(3)}


@cache
def rules():
    x, y = made(N, 0)
    schema = {
        "label": "y",
        "let": {"L": "literals(x0/4, x1/4, x2/4)", "Y": "values(y)"},
        "rules": [f"? <= f1(L{{1..2}} => y = Y) <= ? over {OVER}"],
        "batches": {"train": 40, "valid": 20},
        "bounds": {"min_support": 30},
        "select": {"top": 40, "per": "Y", "by": "lower"},
    }
    return sqrl.learn(columns(x) | {"y": y}, schema)


@cache
def trained():
    return train_small(*made(N, 0))


def accuracy(model, fed, y):
    with torch.no_grad():
        out = model(torch.tensor(fed, dtype=torch.float32))
    return float((out.argmax(1).numpy() == y).mean())
