"""Whether `check --prediction` is a gate that can be used: a good model passes, a bad one does not.

    python benchmarks/prediction_checks.py [--data DIR] [--quick] [--seed N] [-o FILE]

Boosted trees learn from a quarter of a table. The rest is halved: rules of the labels are learned
from one half with the model's predictions beside them (`learn --label --prediction`), batches are
drawn from the other. As drawn, a batch that has a finding is a false alarm; then predictions are
those of a worse model, or are changed. Every halving has rules of its own.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

import sqrl
from datasets import data_folder
from measure import HERE, Json, bar, describe_commit, describe_machine, describe_versions
from power_predictions import PREDICTION, fit_model
from power_tables import Source, tables

RESULTS = HERE / "results" / "prediction_checks.json"
BLIND_TO = {"sensor": "speed", "kitti": "top", "cardio": "ap_hi"}  # what predictions depend on most
MOST_SEEN, FEW = 8_000, 60  # rows that the good and the worse model learn from
FLIPPED = 0.1
BATCH = 2_000
CLEAN, WORSE = "clean", "worse model"
Frame = Any  # pandas has no types here
Model = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """A table's rows that no model has seen, and two models of its label."""

    source: Source
    unseen: Frame
    good: Model
    worse: Model

    @classmethod
    def of(cls, source: Source, rng: Generator) -> "Models":
        """Models that learned from a quarter of the rows, and from a few of these."""
        assert source.label is not None
        order = rng.permutation(len(source.frame))
        n_seen = min(len(order) // 4, MOST_SEEN)
        seen = source.frame.iloc[order[:n_seen]]
        unseen = source.frame.iloc[order[n_seen:]].reset_index(drop=True)
        models = [fit_model(rows, source.label) for rows in (seen, seen[:FEW])]
        return cls(source, unseen, *models)

    def predicted(self, rows: Frame, kind: str, rng: Generator) -> Frame:
        """Rows with predictions, as good as they are or with a fault."""
        said = self.good(rows)
        if kind == WORSE:
            said = self.worse(rows)
        elif kind == "flipped in a tenth":
            classes, codes = np.unique(said, return_inverse=True)
            others = (codes + rng.integers(1, len(classes), len(rows))) % len(classes)
            said = np.where(rng.random(len(rows)) < FLIPPED, classes[others], said)
        elif kind == "shuffled":
            said = rng.permutation(said)
        elif kind == "constant":
            values, counts = np.unique(said, return_counts=True)
            said = np.full(len(rows), values[counts.argmax()], said.dtype)
        elif kind == "blind to a column":
            name = BLIND_TO[self.source.name]
            said = self.good(rows.assign(**{name: self.unseen[name].median()}))
        return rows.assign(**{PREDICTION: said})

    def accuracy(self, model: Model) -> float:
        """The share of rows that a model is right about."""
        rows = self.unseen[:10_000]
        return round(float(np.mean(model(rows) == rows[self.source.label].to_numpy())), 4)


KINDS = (WORSE, "flipped in a tenth", "shuffled", "constant", "blind to a column")


def measure_table(source: Source, *, halvings: int, clean: int, faults: int, seed: int) -> Json:
    """How many batches have a finding, by kind, over all halvings of a table."""
    rng = default_rng([seed, len(source.name)])
    models = Models.of(source, rng)
    counts = {kind: [0, 0] for kind in (CLEAN, *KINDS)}
    for halving in range(halvings):
        order = rng.permutation(len(models.unseen))
        half = len(order) // 2
        train = models.predicted(models.unseen.iloc[order[:half]], CLEAN, rng)
        rules = sqrl.learn(train, label=source.label, prediction=PREDICTION)
        for kind, counted in counts.items():
            for _ in range(clean if kind == CLEAN else faults):
                drawn = rng.choice(order[half:], min(BATCH, half), replace=False)
                rows = models.predicted(models.unseen.iloc[drawn], kind, rng)
                found = sqrl.check(rules, rows.drop(columns=source.label), prediction=PREDICTION)
                counted[0] += bool(found.findings())
                counted[1] += 1
        print(f"{source.name}: {halving + 1} of {halvings} halvings", file=sys.stderr)
    return {
        "rows": len(source.frame),
        "is_real": source.is_real,
        "label": source.label,
        "accuracy": models.accuracy(models.good),
        "accuracy_of_worse": models.accuracy(models.worse),
        "alarms": {kind: {"raised": raised, "of": of} for kind, (raised, of) in counts.items()},
    }


def bars(measured: Json) -> list[Json]:
    """What is wanted of all tables together."""
    of_clean = [table["alarms"][CLEAN] for table in measured.values()]
    least = min(
        one["raised"] / one["of"]
        for table in measured.values()
        for kind, one in table["alarms"].items()
        if kind != CLEAN
    )
    raised, of = (sum(one[key] for one in of_clean) for key in ("raised", "of"))
    return [
        bar("alarms on a good model's clean batches", 100 * raised / of, "%", at_most=2.0),
        bar("the kind of fault that is caught least", 100 * least, "%", at_least=95.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of real tables")
    parser.add_argument("--quick", action="store_true", help="few batches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--halvings", type=int, default=5)
    parser.add_argument("--clean", type=int, default=10, help="clean batches a halving")
    parser.add_argument("--faults", type=int, default=2, help="batches a fault and halving")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.quick:
        given.halvings, given.clean, given.faults = 1, 2, 1
    warnings.filterwarnings("ignore")
    measured = {
        source.name: measure_table(
            source,
            halvings=given.halvings,
            clean=given.clean,
            faults=given.faults,
            seed=given.seed,
        )
        for source in tables(data_folder(given.data), list(BLIND_TO), seed=given.seed)
    }
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(("sqrl-rules", "numpy", "scikit-learn", "pandas")),
        "seed": given.seed,
        "rows": BATCH,
        "rows_seen": {"most": MOST_SEEN, "worse": FEW},
        "halvings": given.halvings,
        "tables": measured,
        "bars": bars(measured),
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for name, table in measured.items():
        said = (f"{kind} {one['raised']}/{one['of']}" for kind, one in table["alarms"].items())
        print(f"{name:8} {', '.join(said)}")


if __name__ == "__main__":
    main()
