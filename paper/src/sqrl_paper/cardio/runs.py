"""The jobs of the cardio bench: try a choice, test a method after a drift, look at the source."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sqrl.methods import rebalance
from sqrl_paper.cardio.data import CLEAN, TUNING, Prepared, Rows, prepared
from sqrl_paper.cardio.methods import (
    BALANCE,
    CEILING,
    HELD_OUT,
    MARGINAL,
    METHODS,
    ONE_BIAS,
    REPLICAS,
    Choice,
    Method,
    make_objective,
)
from sqrl_paper.cardio.scores import count_broken, score, violations_of
from sqrl_paper.jobs import Look, Try
from sqrl_paper.place import Place
from sqrl_paper.shared import training
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]
FEW_EPOCHS = 2  # of a quick run
COUNTED_UNDER_DRIFT = 12  # mini-batches: enough to compare methods with


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A method with its choice, on test rows after a drift."""

    seed: int
    method: str
    choice: Choice
    drift: str
    rules_see: str = "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A run of the paper's own setting, by its place in REPLICAS."""

    seed: int
    place: int


def describe_source(place: Place, job: Look) -> Json:
    """Sizes, counts of rules, and violations by true, likeliest, expected and sampled labels."""
    data = prepared(place, job.seed)
    rows = data.rows("test", CLEAN)
    logits = predict(data, rows)
    counts = {} if data.rules.provenance is None else data.rules.provenance.counts
    return {
        "rows": {name: table.n_rows for name, table in data.parts.items()},
        "counts": counts,
        "rules": len(data.rules),
        "mini_batch": data.sizes.rules,
        "mini_batches": data.sizes.n_counted,
        "drifts": [name for name in data.drifts if name not in {CLEAN, TUNING}],
        "violations": violations_of(data, rows, logits, seed=job.seed),
        **score(rows.labels, logits),
    }


def try_choice(place: Place, job: Try[Choice]) -> Json:
    """How good a choice is on drifted validation rows, by their labels."""
    data = prepared(place, job.seed)
    rows = data.rows("valid", TUNING)
    logits, told = run(place, data, rows, method_of(job.method), job.choice)
    return score(rows.labels, logits) | told


def measure_method(place: Place, job: Trial) -> Json:
    """How good a method is after a drift of the test rows; labels are for these figures alone."""
    data = prepared(place, job.seed)
    rows = data.rows("test", job.drift)
    method = method_of(job.method)
    logits, told = run(place, data, rows, method, job.choice, rules_see=job.rules_see)
    n_batches = data.sizes.n_counted if job.drift == CLEAN else COUNTED_UNDER_DRIFT
    broken = count_broken(data, rows, logits, seed=job.seed, n_batches=n_batches)
    return score(rows.labels, logits) | broken | told


def repeat_paper(place: Place, job: Repeat) -> Json:
    """A method in the paper's own setting, on test rows as they are."""
    data = prepared(place, job.seed)
    rows = data.rows("test", CLEAN)
    one = REPLICAS[job.place]
    logits, told = run(place, data, rows, one.method, one.choice, size=data.sizes.rules)
    broken = count_broken(data, rows, logits, seed=job.seed, n_batches=data.sizes.n_counted)
    return score(rows.labels, logits) | broken | told


def run(
    place: Place,
    data: Prepared,
    rows: Rows,
    method: Method,
    choice: Choice,
    *,
    rules_see: str = "true",
    size: int | None = None,
    asked: Rows | None = None,
) -> tuple[Tensor, Json]:
    """The logits after adaptation to the rows, and what is to be told of it.

    They are of the same rows, or of others that are `asked` for.
    """
    if method.name == HELD_OUT.name:
        return run_by_halves(place, data, rows, choice)
    # Only MEMO, which changes inputs, and the ablation, which changes the first layers, need all.
    is_started = method.parameters == "norm" and method.name != MARGINAL.name
    how: Json = {"size": size or data.sizes.steps, "seed": data.seed, "is_started": is_started}
    batches = rows.batches(**how, rules_see=rules_see)
    adapted, told = adapt_told(
        data.rest if is_started else data.model,
        batches,
        make_objective(method, data, choice, rows.labels),
        parameters=None if method.name == ONE_BIAS.name else method.parameters,
        lr=choice.lr,
        epochs=min(choice.epochs, FEW_EPOCHS) if place.quick else choice.epochs,
        guard=method.guard,
        seed=data.seed,
    )
    new = batches if asked is None else asked.batches(**how)
    logits: Tensor = adapted.predict(new).detach()
    if method.name == BALANCE.name:
        logits, _ = rebalance(logits, data.balance(), most=float("inf"))
    return logits, told


def run_by_halves(place: Place, data: Prepared, rows: Rows, choice: Choice) -> tuple[Tensor, Json]:
    """The logits of each half of the rows by the ceiling that was fitted to the other half."""
    generator = torch.Generator().manual_seed(data.seed)
    one, other = torch.randperm(len(rows.labels), generator=generator).tensor_split(2)
    logits, seconds, told = torch.empty(len(rows.labels), 2), 0.0, Json()
    for fitted, held_out in ((one, other), (other, one)):
        half, asked = rows.take(fitted), rows.take(held_out)
        logits[held_out], told = run(place, data, half, CEILING, choice, asked=asked)
        seconds += told["seconds"]
    return logits, told | {"seconds": seconds}


def predict(data: Prepared, rows: Rows) -> Tensor:
    """The logits of the source model."""
    return training.predict(data.model, rows.inputs)


def method_of(name: str) -> Method:
    """The method of this name."""
    return next(method for method in METHODS if method.name == name)
