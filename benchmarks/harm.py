"""How often guarded adaptation with default options ends below the source, and what it gains.

    python benchmarks/harm.py [--data DIR] [--as now|then|before] [--tables ...] [-o FILE]
    python benchmarks/harm.py --data DIR --tables spam ring clouds vowels soil pens households
        blocks --no-streams -o benchmarks/results/harm_unseen.json
        (tables that other_tables.py writes)

Every run is `sqrl.adapt(model, batches, RuleLoss(rules, names))` and nothing else: the library's
defaults. Tables x models x drifts, each through one of five kinds of loaders by turns; then
streams whose drift ends, and baselines. The truth is used to score what comes back, by nothing
else. `--as before` writes what another version of the library does (put it first on PYTHONPATH)
beside what this one does.
"""

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import Tensor

import sqrl
from datasets import data_folder
from harm_tables import (
    DRIFTS,
    FEEDS,
    LOADERS,
    MODELS,
    TABLES,
    Door,
    Drifted,
    Rows,
    Table,
    WithLogits,
    door,
    drifted,
    load_table,
    model_of,
    rules_of,
    scores,
)
from measure import ADAPT_LIBRARIES, HERE, Json, describe_run
from other_tables import OTHERS
from sqrl.errors import AdaptWarning
from sqrl.methods import Bias, Objective, Tent, rebalance

EVERY = (*TABLES, *OTHERS)
RESULTS = HERE / "results" / "harm.json"
SIZE = 512
SMALLER = ("sensor", "breast cancer")  # tables that have one model and one set of rules
BASELINES = ("cardio", "clients")
STREAMED = ("shift", "codes", "balance 50%")
VERSIONS = ("before", "then", "now")
MODES: tuple[Literal["online", "episodic"], ...] = ("online", "episodic")
PART = 8  # mini-batches of a stream before, during and after its drift


def runs(wanted: tuple[str, ...]) -> Iterator[tuple[str, str, str, str, str]]:
    """Table, model, rules, drift, loader; the loader by turns."""
    turn = 0
    for table, kind, model in product(EVERY, ("logic", "default"), MODELS):
        if model != "LayerNorm" and (kind == "default" or table in SMALLER):
            continue
        if kind == "default" and table in SMALLER:
            continue
        for drift in DRIFTS:
            if table in wanted:
                yield table, model, kind, drift, LOADERS[turn % len(LOADERS)]
            turn += 1


def adapt_once(table: Table, model: str, kind: str, drift: str, loader: str) -> Json:
    """A default guarded run: differences to the source in AUC and accuracy, and what was said."""
    rows = drifted(table, drift)
    size = min(SIZE, max(32, len(rows.fed.y) // 2))
    through = door(loader, table, rows, size)
    network = model_of(table, model)
    before = _score(network, table, rows)
    source = WithLogits(network) if through.has_logits else network
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = sqrl.RuleLoss(rules_of(table, kind), through.names)
        adapted = sqrl.adapt(source, through.batches, loss, **through.options)
    seconds = time.process_time() - start
    inner: Any = adapted.model.model if through.has_logits else adapted.model
    after = _score(inner, table, rows)
    said = [str(one.message) for one in caught if issubclass(one.category, AdaptWarning)]
    return {
        "table": table.name,
        "model": model,
        "rules": kind,
        "drift": drift,
        "loader": loader,
        "n_rows": len(rows.fed.y),
        "auc": before[0],
        "accuracy": before[1],
        "auc_change": after[0] - before[0],
        "accuracy_change": after[1] - before[1],
        "changed": bool(adapted.changed),
        "warned": said,
        "ending": adapted.trace.ending,
        "ranking": _ranking(adapted.trace.result),
        "cpu_seconds": round(seconds, 2),
    }


def _ranking(result: Any) -> list[float | None] | None:
    """The expected AUC of the source and of the result, where the guard measured one."""
    gains = getattr(result, "gains", ())  # another version of the library has none
    return [gains[0].before.ranking, gains[0].after.ranking] if gains else None


def _shown(ranking: Any) -> str:
    if not ranking:
        return ""
    return f"ranking {100 * ranking[0]:.1f} {100 * (ranking[1] - ranking[0]):+.2f} "


def _score(model: torch.nn.Module, table: Table, rows: Drifted) -> tuple[float, float]:
    with torch.no_grad():
        return scores(model(table.encoder(rows.fed)), rows.fed.y, len(table.classes))


class Distilled(Objective):
    """The cross-entropy of another model's probabilities on the same rows."""

    def __init__(self, probabilities: Tensor) -> None:
        super().__init__()
        self.probabilities = probabilities

    def forward(self, batch: Any, out: Any, context: Any = None) -> Tensor:  # noqa: ARG002
        """The number to minimise, averaged over rows."""
        logs: Tensor = out.log_softmax(-1)
        return -(self.probabilities[batch.rows] * logs).sum(-1).mean()


def regression(table: Table) -> Any:
    """A logistic regression of the label on the table's columns, from the rows trained on."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    made = make_column_transformer(
        (numbers, table.numbers), (OneHotEncoder(handle_unknown="ignore"), table.texts)
    )
    fitted = make_pipeline(made, LogisticRegression(max_iter=300))
    return fitted.fit(_frame(table.train), table.train.y)


def _frame(rows: Rows) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(rows.columns))


def baselines(table: Table, drift: str, fitted: Any) -> Iterator[Json]:
    """What simpler things do with the same rows, for the MLP with LayerNorm."""
    rows, network = drifted(table, drift), model_of(table, "LayerNorm")
    through = door("Batches", table, rows, min(SIZE, max(32, len(rows.fed.y) // 2)))
    before = _score(network, table, rows)
    loss = sqrl.RuleLoss(rules_of(table, "logic"), through.names)
    n_classes = len(table.classes)
    told = torch.tensor(fitted.predict_proba(_frame(rows.seen)), dtype=torch.float32)
    balance = torch.tensor(np.bincount(table.train.y, minlength=n_classes) / len(table.train.y))
    x = table.encoder(rows.fed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "true column fed": network(table.encoder(rows.seen)),
            "logistic regression": told.log(),
            "logistic regression, distilled": _adapted(network, through, Distilled(told))(x),
            "one bias": _adapted(network, through, Bias(loss, n_classes))(x),
            "inputs clipped": network(table.encoder(_clipped(table, rows.fed))),
            "Tent, its defaults": _adapted(network, through, Tent())(x),
            "rebalance": rebalance(network(x), balance)[0],
        }
    for name, logits in found.items():
        after = scores(logits, rows.fed.y, n_classes)
        yield {
            "table": table.name,
            "drift": drift,
            "method": name,
            "auc_change": after[0] - before[0],
            "accuracy_change": after[1] - before[1],
        }


def _adapted(network: torch.nn.Module, through: Door, objective: Objective) -> torch.nn.Module:
    return sqrl.adapt(network, through.batches, objective)


def _clipped(table: Table, rows: Rows) -> Rows:
    for name in table.numbers:
        low, high = np.nanpercentile(table.train.columns[name], (1, 99))
        rows = rows.put(name, np.clip(rows.columns[name], low, high))
    return rows


def stream(table: Table, drift: str, mode: Literal["online", "episodic"]) -> Json:
    """Accuracy before, during and after a drift, by the source and as the stream is adapted to."""
    network = model_of(table, "LayerNorm")
    rng = np.random.default_rng([table.seed, 7])
    inputs, columns, truth = [], [], []
    for part, what in enumerate(("none", drift, "none")):
        rows = drifted(table, what)
        for _ in range(PART):
            chosen = rng.integers(0, len(rows.fed.y), SIZE)
            fed, seen = rows.fed.take(chosen), rows.seen.take(chosen)
            inputs.append(table.encoder(fed))
            columns.append(dict(seen.columns))
            truth.append((part, fed.y))
    batches = [
        next(iter(sqrl.Batches(x, some, size=len(x), reshuffle=False).in_order()))
        for x, some in zip(inputs, columns, strict=True)
    ]
    names = lambda batch, out: {**batch.columns, table.label: out.softmax(-1)}  # noqa: E731
    loss = sqrl.RuleLoss(rules_of(table, "logic"), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: Json = {"epochs": 10} if mode == "episodic" else {}
        made = [out for out, _ in sqrl.adapt_stream(network, batches, loss, mode=mode, **options)]
    by_batch = [
        100 * float((out.argmax(1).numpy() == known).mean())
        for out, (_, known) in zip(made, truth, strict=True)
    ]
    with torch.no_grad():
        source = [
            100 * float((network(x).argmax(1).numpy() == known).mean())
            for x, (_, known) in zip(inputs, truth, strict=True)
        ]
    return {
        "table": table.name,
        "drift": drift,
        "mode": mode,
        "adapted": by_batch,
        "source": source,
    }


def library() -> Json:
    """The version of the library that is measured."""
    folder = Path(sqrl.__file__).parent
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return {"commit": "unknown"}
    return {"commit": done.stdout.strip()}


def measure(given: argparse.Namespace) -> Json:
    """All runs of a version."""
    torch.set_num_threads(1)
    known: dict[str, Table] = {}

    def table(name: str) -> Table:
        if name not in known:
            known[name] = load_table(name, data_folder(given.data), given.seed)
        return known[name]

    wanted = tuple(given.tables)
    made: list[Json] = []
    for number, (name, *what) in enumerate(runs(wanted)):
        if given.every > 1 and number % given.every:
            continue
        one = adapt_once(table(name), *what)
        made.append(one)
        print(
            f"{number:4} {name:13} {one['model']:14} {one['rules']:7} {one['drift']:14}"
            f" {one['loader']:8} auc {one['auc']:5.1f} {one['auc_change']:+6.2f}"
            f"  acc {one['accuracy']:5.1f} {one['accuracy_change']:+6.2f}"
            f" {one['cpu_seconds']:5.1f} s  {'warned ' if one['warned'] else ''}"
            f"{_shown(one['ranking'])}"
            f"{one['ending'][:90]}",
            flush=True,
        )
    streams = [
        stream(table(name), drift, mode)
        for name in wanted
        if len(table(name).test.y) >= 2 * SIZE and not given.no_streams
        for drift in STREAMED
        for mode in MODES
    ]
    simple: list[Json] = []
    if given.version == "now" and not given.no_baselines:
        for name in (one for one in wanted if one in BASELINES):
            fitted = regression(table(name))
            for drift in ("none", *FEEDS):
                simple += baselines(table(name), drift, fitted)
    return {"library": library(), "runs": made, "streams": streams, "baselines": simple}


def _with_others(kept: Json, found: Json) -> Json:
    """What was found, with what is known of tables that were not measured now."""
    made = dict(found)
    for part in ("runs", "streams", "baselines"):
        measured = {one["table"] for one in found[part]}
        others = [one for one in kept.get(part, []) if one["table"] not in measured]
        made[part] = sorted([*others, *found[part]], key=lambda one: EVERY.index(one["table"]))
    return made


def main() -> None:
    """Measure one version, and keep what is known of the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--as", dest="version", choices=VERSIONS, default="now")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=EVERY)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="only each so-many-th run")
    parser.add_argument("--no-streams", action="store_true")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    found = measure(given)
    kept = json.loads(given.output.read_text()) if given.output.exists() else {}
    result: Json = {
        **describe_run(ADAPT_LIBRARIES, given.seed),
        **{name: kept[name] for name in VERSIONS if name in kept},
        given.version: _with_others(kept.get(given.version, {}), found),
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
