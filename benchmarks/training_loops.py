"""Training from few labels with and without RuleLoss, on the cardio table.

    python benchmarks/training_loops.py [--data DIR] [--quick] [--seeds N] [-o FILE]

A small network sees the labels of 1 % (also 5 %, and 0.1 %, which was added when rules were seen
to give nothing at 1 %) of the train rows. A quarter of those labels is
held out, and the state that does best on it is kept: with rules and without, after the same number
of steps. Rules are learned from all train labels, as a rules file of somebody who has them would
be, or from the same few labels. Weights are as they were set beforehand, not chosen; every one that
was tried is in the results. Test labels are used for the figures alone.
"""

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import sqrl
from measure import ADAPT_LIBRARIES, HERE, Json, describe_commit, describe_machine
from measure import describe_versions as versions
from sqrl_paper.cardio import task as cardio
from sqrl_paper.cardio.made import write_cardio
from sqrl_paper.results import spread

RESULTS = HERE / "results" / "training_loops.json"
SHARES = (0.001, 0.01, 0.05)
LEAST = 0.01  # of labels, to learn rules from them alone
HELD_OUT = 4  # every fourth of the labelled rows is for early stopping
N_STEPS, N_STEPS_QUICK, LOOK_EVERY = 400, 20, 10
N_LABELLED, N_UNLABELLED = 128, 1024  # rows in a step
WIDTH, LR = 64, 1e-3
ROWS_QUICK = 8_000
LOGIC = {
    "label": cardio.LABEL,
    "let": {
        "Y": f"values({cardio.LABEL})",
        "L": "literals(age/8, height/8, weight/8, ap_hi/8, ap_lo/8, cholesterol, gluc, smoke,"
        " alco, active)",
    },
    "rules": [f"? <= f1(L{{1..2}} => cardio = Y) <= ? over {N_UNLABELLED}"],
    "select": {"top": 100, "per": "Y", "by": "lower"},
}

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a network is given of some rows, and their labels."""

    inputs: Tensor
    labels: Tensor

    def take(self, rows: Ints) -> "Rows":
        """Some of the rows."""
        return Rows(self.inputs[rows], self.labels[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The rows of a seed: with labels, held out for stopping, without labels, and of the test."""

    labelled: Rows
    held_out: Rows
    unlabelled: sqrl.Batches
    test: Rows
    n_steps: int


def network(n_inputs: int) -> nn.Module:
    """The network that all methods begin with."""
    layers = [nn.Linear(n_inputs, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU()]
    layers += [nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2)]
    return nn.Sequential(*layers)


def names(batch: sqrl.Batch, out: Tensor) -> Mapping[str, object]:
    """What rules see: columns of the rows, and the predicted disease."""
    return {**batch.columns, cardio.LABEL: out.softmax(-1)}


def train(drawn: Drawn, rules: sqrl.RuleSet | None, *, weight: float, seed: int) -> nn.Module:
    """The network at the step that did best on the labels held out."""
    torch.manual_seed(seed)
    model = network(drawn.labelled.inputs.shape[1])
    optimiser = torch.optim.Adam(model.parameters(), LR)
    loss = None if rules is None else sqrl.RuleLoss(rules, names)
    draws = np.random.default_rng(seed)
    unlabelled = _endless(drawn.unlabelled)
    kept, least = copy.deepcopy(model.state_dict()), float("inf")
    for step in range(drawn.n_steps):
        n = len(drawn.labelled.labels)
        some = drawn.labelled.take(draws.choice(n, min(n, N_LABELLED), replace=False))
        cost = cross_entropy(model(some.inputs), some.labels)
        if loss is not None:
            batch = next(unlabelled)
            cost = cost + weight * loss(batch, model(batch.inputs))
        optimiser.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if (step + 1) % LOOK_EVERY == 0:
            with torch.no_grad():
                held = float(cross_entropy(model(drawn.held_out.inputs), drawn.held_out.labels))
            if held < least:
                kept, least = copy.deepcopy(model.state_dict()), held
    model.load_state_dict(kept)
    return model


def _endless(batches: sqrl.Batches) -> Iterator[sqrl.Batch]:
    """Mini-batches, shuffled anew each time through."""
    while True:
        yield from batches


def score(probabilities: NDArray[np.float64], labels: Tensor) -> Json:
    """AUC and accuracy of the probability of the disease."""
    true = labels.numpy()
    return {
        "auc": float(roc_auc_score(true, probabilities)),
        "accuracy": float(np.mean((probabilities > 0.5) == (true == 1))),
    }


def score_network(model: nn.Module, test: Rows) -> Json:
    """Scores of a network on rows of the test."""
    with torch.no_grad():
        return score(model(test.inputs).softmax(-1)[:, 1].double().numpy(), test.labels)


def logistic(drawn: Drawn) -> Json:
    """Scores of a logistic regression on all labels at hand, those held out too."""
    both = (drawn.labelled, drawn.held_out)
    inputs = torch.cat([one.inputs for one in both]).numpy()
    model = LogisticRegression(max_iter=2000)
    model.fit(inputs, torch.cat([one.labels for one in both]).numpy())
    return score(model.predict_proba(drawn.test.inputs.numpy())[:, 1], drawn.test.labels)


def run_seed(table: sqrl.Table, seed: int, *, quick: bool) -> dict[str, Json]:
    """Scores of each method for each share of labels."""
    parts = cardio.split_cardio(table, seed=seed)
    inputs = cardio.fit_cardio_inputs(parts)

    def rows(part: sqrl.Table) -> Rows:
        numbers, categories = inputs(part)
        labels = torch.from_numpy(np.array(part[cardio.LABEL].values, np.int64))
        return Rows(torch.cat([numbers, categories.float()], 1), labels)

    train_rows, test = rows(parts.train), rows(parts.test)
    columns = {name: parts.train[name].values for name in parts.train if name != cardio.LABEL}
    unlabelled = sqrl.Batches(train_rows.inputs, columns, size=N_UNLABELLED, seed=seed)
    rules_of_all = {
        "default rules": sqrl.learn(parts.train, label=cardio.LABEL, seed=seed).search(
            cardio.LABEL
        ),
        "logic rules": sqrl.learn(parts.train, LOGIC, seed=seed),
    }
    found: dict[str, Json] = {}

    def drawn_of(chosen: Ints) -> Drawn:
        held = np.arange(chosen.size) % HELD_OUT == 0
        return Drawn(
            train_rows.take(chosen[~held]),
            train_rows.take(chosen[held]),
            unlabelled.from_start(),
            test,
            N_STEPS_QUICK if quick else N_STEPS,
        )

    def run(name: str, chosen: Ints, rules: sqrl.RuleSet | None = None, weight: float = 0) -> None:
        start = time.process_time()
        model = train(drawn_of(chosen), rules, weight=weight, seed=seed)
        found[name] = score_network(model, test) | {"cpu_seconds": time.process_time() - start}

    order = sqrl.shuffle_rows(parts.train.n_rows, seed=seed)
    for share in SHARES:
        chosen = order[: round(share * order.size)]
        few = parts.train.take(chosen)
        at = f"{100 * share:g}%"
        run(f"{at}: labels alone", chosen)
        found[f"{at}: logistic regression"] = logistic(drawn_of(chosen))
        for kind, rules in rules_of_all.items():
            for weight in (1, 10):
                run(f"{at}: {kind} of all labels, weight {weight}", chosen, rules, weight)
        if share >= LEAST:
            own = sqrl.learn(few, label=cardio.LABEL, seed=seed).search(cardio.LABEL)
            run(f"{at}: default rules of the same few labels, weight 10", chosen, own, 10)
    run("100%: labels alone", order)
    found["rules"] = {name: len(rules) for name, rules in rules_of_all.items()}
    return found


def summarised(runs: list[dict[str, Json]]) -> dict[str, Json]:
    """Means and spreads over seeds, of each method."""
    keys = ("auc", "accuracy", "cpu_seconds")
    return {
        name: {key: spread([run[name][key] for run in runs]) for key in keys if key in one}
        for name, one in runs[0].items()
        if name != "rules"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data; else SQRL_DATA")
    parser.add_argument("--quick", action="store_true", help="few made rows: only shows it runs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    commit = describe_commit()  # of the code that runs, whatever is edited meanwhile
    if given.quick:
        with tempfile.TemporaryDirectory() as name:
            write_cardio(Path(name), n_rows=ROWS_QUICK)
            table = cardio.read_cardio(name, n_rows=None)
    else:
        table = cardio.read_cardio(given.data)
    runs = []
    for seed in range(given.seeds):
        runs.append(run_seed(table, seed, quick=given.quick))
        print(f"seed {seed} done", flush=True)
    result: Json = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit,
        "machine": describe_machine(),
        "versions": versions(ADAPT_LIBRARIES),
        "quick": given.quick,
        "seeds": list(range(given.seeds)),
        "settings": {
            "n_steps": N_STEPS_QUICK if given.quick else N_STEPS,
            "labelled_rows_in_a_step": N_LABELLED,
            "unlabelled_rows_in_a_step": N_UNLABELLED,
            "learning_rate": LR,
            "width": WIDTH,
            "held_out_share_of_labels": 1 / HELD_OUT,
            "train_rows": round(table.n_rows * cardio.SHARES["train"]),
        },
        "rules": [run["rules"] for run in runs],
        "methods": summarised(runs),
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for name, one in result["methods"].items():
        auc, accuracy = one["auc"], one["accuracy"]
        print(f"{name:60} AUC {100 * auc['mean']:.2f}, accuracy {100 * accuracy['mean']:.2f}")


if __name__ == "__main__":
    main()
