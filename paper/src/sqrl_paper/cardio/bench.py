"""`sqrl bench cardio`: the tabular column of the paper's tables, and drifts of its inputs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqrl_paper.cardio.data import CLEAN, STRONG, names_of_drifts
from sqrl_paper.cardio.example import make_example, tell_patient
from sqrl_paper.cardio.made import write_cardio
from sqrl_paper.cardio.methods import METHODS, OURS, REPLICAS, Choice, Method
from sqrl_paper.cardio.pages import sheets_of as sheets
from sqrl_paper.cardio.protocol import tell_protocol as protocol
from sqrl_paper.cardio.released import NAMES, Release, measure_release
from sqrl_paper.cardio.runs import (
    Repeat,
    Trial,
    describe_source,
    measure_method,
    repeat_paper,
    try_choice,
)
from sqrl_paper.cardio.summary import summarise
from sqrl_paper.cardio.task import FILE, PAGE, TITLE
from sqrl_paper.cardio.thresholds import measure_thresholds
from sqrl_paper.jobs import Look, Try
from sqrl_paper.logic_example import draw_example
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs
from sqrl_paper.shared.data_files import find_file

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
ABOUT = "Tabular classification: the Cardiovascular Disease data, FT-Transformer."
LIBRARIES = ("rtdl_revisiting_models", "scikit-learn")


def files(folder: Path) -> list[Path]:
    """The file of the data set."""
    return [find_file(folder, FILE, title=TITLE, page=PAGE)]


def make_files(folder: Path) -> None:
    """A small table in the same format."""
    write_cardio(folder)


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """The paper's setting, what the defaults do without drift, and drifts in two strengths."""
    looks = [Look(seed=seed) for seed in seeds]
    sources = runs.map(describe_source, looks, label="train and learn")
    repeated = _repeat(runs, seeds)
    choices, tried = _tune(place, runs, seeds)
    drifts = [CLEAN, *names_of_drifts(place, sources[0]["drifts"])]
    tested = _test(runs, seeds, drifts, choices)
    found = {
        "sources": dict(zip(map(str, seeds), sources, strict=True)),
        "paper_setting": repeated,
        "tried": tried,
        "drifts": tested,
        "rules_see_drift": _test_wrong_columns(runs, seeds),
        "methods": {method.name: asdict(method) for method in METHODS},
        **rows(place, runs, seeds),
    }
    return found | summarise(found)


def rows(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:  # noqa: ARG001
    """Rows of Table 2 without tuning: the released code's setting, and labels made otherwise."""
    jobs = [Release(seed=seed, method=name) for name in reversed(NAMES) for seed in seeds]
    released: Json = {name: {} for name in NAMES}
    done = runs.map(measure_release, jobs, label="released setting")
    for job, found in zip(jobs, done, strict=True):
        released[job.method][str(job.seed)] = found
    looks = [Look(seed=seed) for seed in seeds]
    ways = runs.map(measure_thresholds, looks, label="thresholds")
    return {
        "released": released,
        "thresholds": dict(zip(map(str, seeds), ways, strict=True)),
        "example": runs.map(make_example, looks[:1], label="example")[0],
    }


def _repeat(runs: Runs, seeds: Sequence[int]) -> Json:
    """The figures of the paper's own setting, by method and seed."""
    places = sorted(range(len(REPLICAS)), key=lambda place: -REPLICAS[place].choice.epochs)
    jobs = [Repeat(seed=seed, place=place) for place in places for seed in seeds]
    done = runs.map(repeat_paper, jobs, label="paper's setting")
    found: Json = {one.method.name: {} for one in REPLICAS}
    for job, result in zip(jobs, done, strict=True):
        found[REPLICAS[job.place].method.name][str(job.seed)] = result
    return found


def _tune(
    place: Place, runs: Runs, seeds: Sequence[int]
) -> tuple[dict[tuple[int, str], Choice], Json]:
    """The choice of each tuned method for each seed, and all that was tried."""
    tuned = [method for method in METHODS if method.rates]
    pairs = [(seed, method) for seed in seeds for method in tuned]
    jobs = [
        Try(seed=seed, method=method.name, choice=choice)
        for seed, method in pairs
        for choice in (method.first()[-1:] if place.quick else method.first())
    ]
    scores = {
        job: _worth(one)
        for job, one in zip(jobs, runs.map(try_choice, jobs, label="tuning"), strict=True)
    }
    last = [
        Try(seed=seed, method=method.name, choice=method.second(_best(scores, seed, method)))
        for seed, method in pairs
    ]
    scores |= {
        job: _worth(one)
        for job, one in zip(last, runs.map(try_choice, last, label="tuning on"), strict=True)
    }
    chosen = {(seed, method.name): _best(scores, seed, method) for seed, method in pairs}
    told = [asdict(job) | {"score": score} for job, score in scores.items()]
    return chosen, {
        "runs": told,
        "chosen": [
            {"seed": seed, "method": name, **asdict(choice)}
            for (seed, name), choice in chosen.items()
        ],
    }


def _worth(found: Json) -> float:
    """What a choice is chosen by: AUC and accuracy on validation rows, on average."""
    return float(found["auc"] + found["accuracy"]) / 2


def _best(scores: dict[Try[Choice], float], seed: int, method: Method) -> Choice:
    """The choice with the highest score, the first of equals."""
    own = [job for job in scores if job.seed == seed and job.method == method.name]
    return max(own, key=lambda job: scores[job]).choice


def _test(
    runs: Runs,
    seeds: Sequence[int],
    drifts: Sequence[str],
    choices: dict[tuple[int, str], Choice],
) -> Json:
    """The figures of each method after each drift, by drift, method and seed."""
    slowest_first = sorted(METHODS, key=lambda method: method.name != OURS.name)
    jobs = [
        Trial(
            seed=seed,
            method=method.name,
            choice=choices.get((seed, method.tuned_as or method.name), Choice()),
            drift=drift,
        )
        for method in slowest_first
        for drift in drifts
        for seed in seeds
    ]
    found: Json = {drift: {method.name: {} for method in METHODS} for drift in drifts}
    for job, result in zip(jobs, runs.map(measure_method, jobs, label="drifts"), strict=True):
        found[job.drift][job.method][str(job.seed)] = result
    return found


def _test_wrong_columns(runs: Runs, seeds: Sequence[int]) -> Json:
    """What the defaults do where rules see the drifted column, and not the true one."""
    jobs = [
        Trial(seed=seed, method=OURS.name, choice=Choice(), drift=STRONG, rules_see="drifted")
        for seed in seeds
    ]
    done = runs.map(measure_method, jobs, label="wrong columns")
    return {str(job.seed): one for job, one in zip(jobs, done, strict=True)}


def draw(result: Json, path: Path) -> None:
    """Write the figure: a rule after a drift, and a patient."""
    draw_example(result["example"], tell_patient(result["example"]), path)
