"""Accuracy of every label-free method with its defaults, with and without drift of the feed.

    python benchmarks/methods.py [--data DIR] [--quick] [--seeds N] [-o FILE]

A small network is trained on each table. Then some columns of what it is fed drift; the table
itself, which `Distil` reads, stays right. Labels of test rows are used to count right predictions,
and for nothing else.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

import sqrl
from datasets import data_folder, read_cardio
from measure import (
    ADAPT_LIBRARIES,
    HERE,
    Json,
    describe_commit,
    describe_machine,
    describe_versions,
)
from sqrl._data.write_file import write_atomically
from sqrl.methods import (
    BN,
    CPL,
    EATA,
    MEMO,
    RPL,
    SAR,
    CoTTA,
    Distil,
    Objective,
    TableNoise,
    Tent,
    Unadapted,
)

RESULTS = HERE / "results" / "methods.json"
MOST_ROWS = 24_000
SIZE = 256  # of mini-batches
MOST_EPOCHS, PATIENCE = 60, 6
Floats = NDArray[np.float64]
NONE = "none"
DRIFTS: dict[str, Callable[[Floats], Floats]] = {
    NONE: lambda x: x,
    "shift": lambda x: x + 1.0,  # by a standard deviation
    "scale": lambda x: 2.0 * x,  # about the mean
    "stuck": lambda x: 0.0 * x,  # at the mean
}
METHODS: dict[str, Callable[["Task"], Objective]] = {
    "Unadapted": lambda _: Unadapted(),
    "BN": lambda _: BN(),
    "Tent": lambda _: Tent(),
    "RPL": lambda _: RPL(),
    "CPL": lambda _: CPL(),
    "MEMO": lambda _: MEMO(TableNoise()),
    "EATA": lambda task: EATA(task.held_out()),
    "SAR": lambda _: SAR(),
    "CoTTA": lambda _: CoTTA(TableNoise()),
    "Distil": lambda task: Distil(task.classifier, task.held_out()),
    "Distil without training data": lambda task: Distil(task.classifier, None),
}


@dataclass(frozen=True, eq=False)
class Part:
    """Rows in units of the training rows' standard deviations, and their labels."""

    rows: Floats
    labels: NDArray[np.int64]

    def batches(self, fed: Floats | None = None) -> sqrl.Batches:
        """Mini-batches of what the model is fed, beside the table as it is."""
        table = pd.DataFrame(self.rows, columns=names(self.rows.shape[1]))
        inputs = torch.from_numpy(self.rows if fed is None else fed).float()
        return sqrl.Batches(inputs, table, size=min(SIZE, max(32, len(inputs) // 4)))


@dataclass(frozen=True, eq=False)
class Task:
    """A table cut into parts, with a network and a logistic regression of its training rows."""

    train: Part
    valid: Part
    test: Part
    model: nn.Module
    classifier: LogisticRegression

    def held_out(self) -> sqrl.Batches:
        """Mini-batches of the rows that neither was fitted on."""
        return self.valid.batches()


def names(n_columns: int) -> list[str]:
    return [f"x{index}" for index in range(n_columns)]


def read_tables(folder: Path, *, quick: bool, seed: int) -> tuple[dict[str, Part], bool]:
    """Numbers and labels of each table, and whether cardio is the real one."""
    with tempfile.TemporaryDirectory() as scratch:
        cardio = read_cardio(folder, Path(scratch), quick=quick, seed=seed)
    columns = {name: np.asarray(one, np.float64) for name, one in cardio.columns.items()}
    labels = columns.pop("cardio").astype(np.int64)
    columns.pop("id", None)
    made = {"cardio": Part(np.stack(list(columns.values()), 1), labels)}
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        rows, labels = load(return_X_y=True)
        made[name] = Part(np.asarray(rows, np.float64), np.asarray(labels, np.int64))
    return made, cardio.is_real


def prepare(table: Part, *, seed: int, most: int) -> Task:
    """Half of the rows to train, a fifth to stop by, the rest to test."""
    order = np.random.default_rng(seed).permutation(len(table.rows))[:most]
    n_train, n_valid = len(order) // 2, len(order) // 5
    cuts = np.split(order, [n_train, n_train + n_valid])
    fit = table.rows[cuts[0]]
    low, high = np.quantile(fit, [0.01, 0.99], axis=0)  # cardio has pressures of 16,000
    mean, spread = np.clip(fit, low, high).mean(0), np.clip(fit, low, high).std(0)
    spread = np.where(spread > 0, spread, 1)
    parts = [
        Part((np.clip(table.rows[cut], low, high) - mean) / spread, table.labels[cut])
        for cut in cuts
    ]
    frame = pd.DataFrame(parts[0].rows, columns=names(fit.shape[1]))
    classifier = LogisticRegression(max_iter=2000).fit(frame, parts[0].labels)
    model = train(parts[0], parts[1], seed=seed)
    return Task(parts[0], parts[1], parts[2], model, classifier)


def train(fit: Part, valid: Part, *, seed: int) -> nn.Module:
    """A network with BatchNorm, stopped where it is best on rows held out."""
    torch.manual_seed(seed)
    n_classes = int(fit.labels.max()) + 1
    layers = [nn.Linear(fit.rows.shape[1], 64), nn.BatchNorm1d(64), nn.ReLU()]
    layers += [nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, n_classes)]
    model = nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3, weight_decay=1e-5)
    x, y = torch.from_numpy(fit.rows).float(), torch.from_numpy(fit.labels)
    kept, best, waited = model.state_dict(), np.inf, 0
    for _ in range(MOST_EPOCHS):
        model.train()
        for rows in torch.split(torch.randperm(len(x)), 128):
            if len(rows) > 1:
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        model.eval()
        with torch.no_grad():
            out = model(torch.from_numpy(valid.rows).float())
            cost = float(nn.functional.cross_entropy(out, torch.from_numpy(valid.labels)))
        waited = 0 if cost < best else waited + 1
        if cost < best:
            best = cost
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        if waited >= PATIENCE:
            break
    model.load_state_dict(kept)
    return model.eval()


def drifting(fit: Part) -> list[int]:
    """The quarter of columns, at least two, that go most with some class on training rows."""
    classes = np.eye(int(fit.labels.max()) + 1)[fit.labels]
    classes = (classes - classes.mean(0)) / classes.std(0)
    found = np.abs(fit.rows.T @ classes / len(classes)).max(1)
    best: list[int] = np.argsort(-found, kind="stable")[: max(2, len(found) // 4)].tolist()
    return best


def feed(task: Task, drift: str) -> Floats:
    """What the model gets of the test rows."""
    fed = task.test.rows.copy()
    at = drifting(task.train)
    fed[:, at] = DRIFTS[drift](fed[:, at])
    return fed


def accuracy(out: Tensor, labels: NDArray[np.int64]) -> float:
    """The share of right predictions, in per cent."""
    return float(100 * np.mean(out.argmax(-1).numpy() == labels))


def run(task: Task, drift: str, method: str, *, seed: int) -> Json:
    """Accuracy after a method with its own defaults, and the CPU time it took."""
    batches = task.test.batches(feed(task, drift))
    objective = METHODS[method](task)
    own = {name: getattr(objective, name) for name in ("lr", "epochs") if hasattr(objective, name)}
    start = time.process_time()
    adapted = sqrl.adapt(task.model, batches, objective, seed=seed, **own)
    taken = time.process_time() - start
    right = accuracy(adapted.predict(batches), task.test.labels)
    return {"method": method, "drift": drift, "accuracy": right, "cpu_seconds": round(taken, 3)}


def measure(folder: Path, *, quick: bool, seeds: int) -> Json:
    """All methods on all tables, with all drifts and seeds."""
    date, commit = datetime.now(UTC).isoformat(timespec="seconds"), describe_commit()
    tables, is_real = read_tables(folder, quick=quick, seed=0)
    runs: list[Json] = []
    for name, table in tables.items():
        for seed in range(seeds):
            task = prepare(table, seed=seed, most=600 if quick else MOST_ROWS)
            for drift in [NONE, "shift"] if quick else DRIFTS:
                for method in METHODS:
                    found = run(task, drift, method, seed=seed)
                    runs.append({"table": name, "seed": seed, **found})
            print(f"{name}, seed {seed}: done", file=sys.stderr, flush=True)
    return {
        "date": date,
        "commit": commit,
        "machine": describe_machine() | {"torch_threads": torch.get_num_threads()},
        "versions": describe_versions(ADAPT_LIBRARIES),
        "seeds": list(range(seeds)),
        "quick": quick,
        "data": {"cardio": "real" if is_real else "made", "others": "scikit-learn"},
        "runs": runs,
    }


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="few rows, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    seeds = 1 if given.quick else given.seeds
    result = measure(data_folder(given.data), quick=given.quick, seeds=seeds)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(given.output, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
