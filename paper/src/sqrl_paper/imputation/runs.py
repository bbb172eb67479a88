"""The jobs of the imputation bench: look at the source, try a choice, test a method."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from sqrl.methods import Clip
from sqrl_paper.imputation.data import batches_of, prepared
from sqrl_paper.imputation.methods import Choice, epochs_for, make_objective, method_of
from sqrl_paper.imputation.physionet import FEATURES
from sqrl_paper.imputation.task import Imputation
from sqrl_paper.jobs import Look
from sqrl_paper.place import Place
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]
UNTUNED = Choice(parameters="norm", lr=1.0)  # of methods that take no step: without effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A method with a choice, on "valid" or "test" patients."""

    seed: int
    method: str
    choice: Choice
    on: Literal["valid", "test"]


def describe_source(place: Place, job: Look) -> Json:
    """Sizes, rules, and how the hidden values themselves stand to the rules."""
    task = prepared(place, job.seed)
    parts = {name: getattr(task.parts, name) for name in ("train", "valid", "test")}
    return {
        "patients": {name: len(part.values) for name, part in parts.items()},
        "given": {name: int(part.given.sum()) for name, part in parts.items()},
        "hidden": {name: int(part.hidden.sum()) for name, part in parts.items()},
        "rules": [rule.text for rule in task.rules],
        "truth": task.evaluate_truth(),
    }


def run_method(place: Place, job: Run) -> Json:
    """How good imputations are after adaptation, as they are and clipped to the rules' bounds.

    The hidden values of these patients are for these figures alone.
    """
    task = prepared(place, job.seed)
    out, told = impute(place, task, job)
    bounds = Clip(task.rules, FEATURES)
    clipped = bounds.finish(None, out)
    away = widths_away(bounds, out)[torch.from_numpy(~getattr(task.parts, job.on).given)]
    is_away = away > 0
    return {
        "plain": task.evaluate(out, on=job.on),
        "clipped": task.evaluate(clipped, on=job.on),
        "median_away": float(away[is_away].median()) if is_away.any() else 0.0,
        **told,
    }


def widths_away(bounds: Clip, out: Tensor) -> Tensor:
    """How far outside its bounds each value is, in widths of the interval; 0 where it has none.

    >>> from sqrl import RuleSet
    >>> bounds = Clip(RuleSet.from_texts(["0 <= a <= 4"]), ["a", "b"])
    >>> widths_away(bounds, torch.tensor([[5.0, 9.0], [-2.0, 0.0]])).tolist()
    [[0.25, 0.0], [0.5, 0.0]]
    """
    width = bounds.upper - bounds.lower
    inside: Tensor = bounds.finish(None, out)
    return (out - inside).abs() / torch.where(width > 0, width, torch.inf)


def impute(place: Place, task: Imputation, job: Run) -> tuple[Tensor, Json]:
    """The series of all patients of a part after adaptation, and what is to be told of it."""
    method = method_of(job.method)
    batches = batches_of(task, job.on, seed=job.seed, of=method.learns_from)
    adapted, told = adapt_told(
        task.model,
        batches,
        make_objective(method, task),
        parameters=job.choice.parameters,
        lr=job.choice.lr,
        epochs=epochs_for(len(batches), quick=place.quick),
        guard=False,  # the last iterate, for all methods alike
        seed=job.seed,
    )
    out: Tensor = adapted.predict(batches_of(task, job.on, seed=job.seed))
    return out.detach(), told
