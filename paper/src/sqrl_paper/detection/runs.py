"""The jobs of the detection bench: look at the source, try a choice, measure a method."""

import time
from dataclasses import replace
from typing import Any

import torch

from sqrl_paper.detection.as_seen import Seen, see, see_tuning
from sqrl_paper.detection.data import CONDITIONS, Prepared, images_of, prepared
from sqrl_paper.detection.found_boxes import Found
from sqrl_paper.detection.methods import Choice, Method, make_objective, method_of
from sqrl_paper.detection.scores import score, score_truth
from sqrl_paper.detection.task import are_single, break_rules, found_boxes
from sqrl_paper.jobs import Look, Trial, Try
from sqrl_paper.place import Place
from sqrl_paper.timed_adapt import adapt_told

Json = dict[str, Any]


def describe_source(place: Place, job: Look) -> Json:
    """How many rules and images there are, and what true boxes break in each test."""
    data = prepared(place, job.seed)
    tests = {name: images_of(place, name) for name in CONDITIONS}
    return {
        "rules": len(data.rules),
        "boxes": data.n_boxes,
        "images": {
            "train": data.n_train,
            "tuning": len(data.tuning),
            **{name: len(images) for name, images in tests.items()},
        },
        "size": {name: list(images.size) for name, images in tests.items()},
        "truth": {name: score_truth(images, data.rules) for name, images in tests.items()},
    }


def try_choice(place: Place, job: Try[Choice]) -> Json:
    """How good a choice is on the images for tuning, by their labels."""
    return _measure(prepared(place, job.seed), see_tuning(place, job.seed), job)


def measure_method(place: Place, job: Trial[Choice]) -> Json:
    """How good a method is in a test; labels are for these figures alone."""
    return _measure(prepared(place, job.seed), see(place, job.seed, job.condition), job)


def _measure(data: Prepared, seen: Seen, job: Try[Choice] | Trial[Choice]) -> Json:
    found, told = run(data, seen, method_of(job.method), job.choice)
    return score(found, seen.images, data.rules) | told


def run(data: Prepared, seen: Seen, method: Method, choice: Choice) -> tuple[Found, Json]:
    """The boxes found on all images after adaptation, and what is to be told of it."""
    began = time.perf_counter()
    if method.kind != "adapt":
        return mend(seen, data, method, choice), {"seconds": time.perf_counter() - began}
    objective = make_objective(method, data, seen.images, choice)
    if not objective.has_steps and objective.statistics == "frozen":
        return seen.found, {"seconds": 0.0}
    if not objective.has_steps:  # statistics alone, in all layers
        batches = seen.pixel_batches(size=data.sizes.batch, seed=data.seed)
        adapted, told = adapt_told(seen.model, batches, objective, seed=data.seed)
        return seen.find(adapted.model), told
    adapted, told = adapt_told(
        seen.after_stem,
        seen.batches(size=data.sizes.batch, seed=data.seed),
        objective,
        parameters=seen.after_stem.names_of(method.parameters, seen.values),
        statistics=choice.statistics,
        lr=choice.lr,
        epochs=data.sizes.epochs(len(seen.images)),
        guard=method.guard,
        seed=data.seed,
    )
    return seen.find(adapted.model), told


def mend(seen: Seen, data: Prepared, method: Method, choice: Choice) -> Found:
    """What the source model found, without the boxes that break rules, or less sure of them."""
    found = seen.found
    marked = are_single(data.rules) if choice.judged_by == "single" else None
    broken = break_rules(data.rules, found_boxes(found, seen.images)).of_box(marked)
    n_broken = torch.from_numpy(broken)
    if method.kind == "drop":
        return found.take(n_broken < choice.n_broken)
    return replace(found, score=found.score * choice.factor**n_broken)
