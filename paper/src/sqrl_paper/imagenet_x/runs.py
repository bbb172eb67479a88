"""The jobs of the image bench: look at the source, try a choice, measure a method."""

import time
from dataclasses import asdict
from typing import Any

from torch import Tensor

from sqrl_paper.imagenet_x.as_seen import Seen, see
from sqrl_paper.imagenet_x.data import CLEAN, SCORED_WITH, TUNING, Prepared, prepared
from sqrl_paper.imagenet_x.image_scores import draw_scored, score, score_truth
from sqrl_paper.imagenet_x.methods import Choice, Method, make_objective, method_of
from sqrl_paper.imagenet_x.start import find_start
from sqrl_paper.jobs import Look, Trial, Try
from sqrl_paper.place import Place
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]


def describe_source(place: Place, job: Look) -> Json:
    """Counts of rules, what true labels break of them, and how their conditions have drifted."""
    data = prepared(place, job.seed)
    seen = see(place, job.seed, CLEAN)
    batch = next(iter(seen.batches(size=data.sizes.rules, seed=job.seed)))
    truth = score_truth(data.test, data.loss, seed=SCORED_WITH + job.seed)
    counts = {} if data.rules.provenance is None else data.rules.provenance.counts
    return {
        "counts": counts,
        "rules": len(data.rules),
        "vacuous": data.n_vacuous,
        "annotations": list(data.n_annotations),
        "crops": len(data.test),
        "mini_batches": len(list(draw_scored(data.test, seed=SCORED_WITH + job.seed))),
        "truth": asdict(truth),
        "drifted_conditions": data.loss.column_drift(batch, seen.logits[batch.rows]),
    }


def try_choice(place: Place, job: Try[Choice]) -> Json:
    """How good a choice is on the crops for tuning, by their labels."""
    data = prepared(place, job.seed)
    seen = see(place, job.seed, TUNING, is_tuning=True)
    logits, told = run(data, seen, method_of(job.method), job.choice)
    return _scores(data, seen, logits) | told


def measure_method(place: Place, job: Trial[Choice]) -> Json:
    """How good a method is under a condition; labels are for these figures alone."""
    data = prepared(place, job.seed)
    seen = see(place, job.seed, job.condition)
    logits, told = run(data, seen, method_of(job.method), job.choice)
    return _scores(data, seen, logits) | told


def run(data: Prepared, seen: Seen, method: Method, choice: Choice) -> tuple[Tensor, Json]:
    """The logits of all crops after adaptation, and what is to be told of it."""
    began = time.perf_counter()
    objective = make_objective(method, data, choice)
    start = find_start(method, data, seen, objective)
    logits, told = start.logits, {"kept": 0, "warnings": list[str]()}
    # Where nothing says that these are other images than those of training, nothing is mended.
    is_adapted = not start.is_as_in_training and (
        objective.has_steps or objective.statistics != "frozen"
    )
    if is_adapted:
        size = data.sizes.entropy if choice.statistics == "adapted" else data.sizes.steps
        adapted, told = adapt_told(
            start.model,
            seen.batches(size=size, seed=data.seed),
            objective,
            parameters=method.parameters,
            statistics=choice.statistics if objective.has_steps else None,
            lr=choice.lr,
            epochs=method.epochs,
            guard=method.guard,
            # Factors are ticked more often in one part of ImageNet-X than in the other, but by
            # people: they are right, and rules the worse for it.
            trust_rules=True,
            seed=data.seed,
        )
        logits = seen.predict(adapted.model)
    return logits, {
        "start": start.name,
        "objectives": start.objectives,
        "adapted": is_adapted,
        "kept": told["kept"],
        "seconds": time.perf_counter() - began,
        "warnings": told["warnings"],
    }


def _scores(data: Prepared, seen: Seen, logits: Tensor) -> Json:
    return asdict(score(logits, seen.crops, data.loss, seed=SCORED_WITH + data.seed))
