"""`sqrl bench imputation`: the time series column of the paper's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from sqrl_paper.imputation.example import Show, draw_example, make_example
from sqrl_paper.imputation.made import made_values, write_values
from sqrl_paper.imputation.methods import (
    ABLATED,
    BOTH,
    KINDS,
    METHODS,
    NONE,
    STEPS,
    Method,
)
from sqrl_paper.imputation.pages import sheets_of as sheets
from sqrl_paper.imputation.physionet_files import find_records
from sqrl_paper.imputation.protocol import tell_protocol as protocol
from sqrl_paper.imputation.runs import UNTUNED, Run, describe_source, run_method
from sqrl_paper.imputation.summary import (
    SELECTION,
    SELECTION_BY_ERROR,
    choose,
    choose_by_error,
    summarise,
)
from sqrl_paper.jobs import Look
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs

__all__ = ["ABOUT", "LIBRARIES", "bench", "draw", "files", "make_files", "protocol", "sheets"]

Json = dict[str, Any]
ABOUT = "Time series imputation: the PhysioNet Challenge 2012, SAITS."
LIBRARIES: tuple[str, ...] = ()
MADE_PATIENTS = 80


def files(folder: Path) -> list[Path]:
    """The archive of the data set, or the files that it unpacks to."""
    path, _ = find_records(folder)
    return sorted(path.iterdir()) if path.is_dir() else [path]


def make_files(folder: Path) -> None:
    """A small archive in the same format."""
    write_values(folder, made_values(MADE_PATIENTS, alike=True))


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:  # noqa: ARG001  (as all tasks)
    """Each method on test patients, with the choices that were best on valid ones."""
    looks = [Look(seed=seed) for seed in seeds]
    sources = runs.map(describe_source, looks, label="train and learn")
    tried = _run_all(runs, _tries(seeds), label="tuning")
    chosen = {
        method.name: {seed: _choose(tried, seed, method) for seed in seeds} for method in METHODS
    }
    lowest = {
        method.name: {seed: _choose(tried, seed, method, by_error=True) for seed in seeds}
        for method in METHODS
        if method.is_tuned
    }
    ablated = {
        method.name: {
            kind: {seed: _choose(tried, seed, method, kind=kind) for seed in seeds}
            for kind in KINDS
        }
        for method in ABLATED
    }
    kinds = [seeds for kinds in ablated.values() for seeds in kinds.values()]
    jobs = dict.fromkeys(
        job for runs in (*chosen.values(), *lowest.values(), *kinds) for job in runs.values()
    )
    tested = _run_all(runs, list(jobs), label="test")
    measured, by_error = (
        {name: _by_seed(tested, jobs) for name, jobs in one.items()} for one in (chosen, lowest)
    )
    ablation = {
        name: {kind: _by_seed(tested, jobs) for kind, jobs in kinds.items()}
        for name, kinds in ablated.items()
    }
    example = Show(seed=seeds[0], choice=chosen[BOTH.name][seeds[0]].choice)
    return {
        "sources": dict(zip(map(str, seeds), sources, strict=True)),
        "methods": {method.name: asdict(method) for method in METHODS},
        "steps": STEPS,
        "selection": SELECTION,
        "selection_by_error": SELECTION_BY_ERROR,
        "tried": [asdict(job) | one for job, one in tried.items()],
        "measured": measured,
        "by_error": by_error,
        "ablation": ablation,
        "example": runs.map(make_example, [example], label="example")[0],
        **summarise(measured, by_error, ablation),
    }


def _tries(seeds: Sequence[int]) -> list[Run]:
    """What is run on valid patients: the source, and all choices of all methods that have some."""
    tuned = [
        Run(seed=seed, method=method.name, choice=choice, on="valid")
        for method in METHODS
        for choice in method.choices
        for seed in seeds
    ]
    return [*tuned, *(_source(seed, on="valid") for seed in seeds)]


def _source(seed: int, *, on: Literal["valid", "test"]) -> Run:
    return Run(seed=seed, method=NONE.name, choice=UNTUNED, on=on)


def _run_all(runs: Runs, jobs: Sequence[Run], *, label: str) -> dict[Run, Json]:
    return dict(zip(jobs, runs.map(run_method, jobs, label=label), strict=True))


def _choose(
    tried: Mapping[Run, Json],
    seed: int,
    method: Method,
    *,
    kind: str | None = None,
    by_error: bool = False,
) -> Run:
    """The run on test patients that the runs on valid ones speak for."""
    if not method.is_tuned:
        return Run(seed=seed, method=method.name, choice=UNTUNED, on="test")
    own = {
        job.choice: one
        for job, one in tried.items()
        if (job.seed, job.method) == (seed, method.name) and kind in {None, job.choice.parameters}
    }
    source = tried[_source(seed, on="valid")]
    choice = choose_by_error(own) if by_error else choose(own, source)
    return Run(seed=seed, method=method.name, choice=choice, on="test")


def _by_seed(tested: Mapping[Run, Json], jobs: Mapping[int, Run]) -> Json:
    """What was measured, beside the choice that it was measured with, if there was one."""
    return {
        str(seed): {"choice": None if job.choice is UNTUNED else asdict(job.choice)} | tested[job]
        for seed, job in jobs.items()
    }


def draw(result: Json, path: Path) -> None:
    """Write the figure: a feature of a patient over two days, before and after."""
    draw_example(result["example"], path)
