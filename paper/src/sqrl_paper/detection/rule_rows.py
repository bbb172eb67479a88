"""What rules are worth that hold from drive to drive: what truth breaks, and adapting by them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from sqrl import RuleSet, load_schema
from sqrl_paper.detection.as_seen import see, see_tuning
from sqrl_paper.detection.data import CONDITIONS, RAIN, Prepared, images_of, prepared
from sqrl_paper.detection.drives import learn_by_drive, read_drives
from sqrl_paper.detection.methods import DROP, NONE, RESCORE, RULES, Choice, Method, method_of
from sqrl_paper.detection.runs import run
from sqrl_paper.detection.scores import score, score_truth
from sqrl_paper.detection.summary import best_of, figures_of
from sqrl_paper.detection.task import (
    SCHEMA,
    learn_detection,
    ranges_of,
    read_train_boxes,
    schema_in,
)
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs

Json = dict[str, Any]
ROW_METHODS = (NONE, DROP, RESCORE, RULES)
# How often drives must show that rules hold; the first is the paper's: nothing is asked.
SOURCES: dict[str, float | None] = {"all rules": None, "holds 0.9": 0.9, "holds 0.95": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules that are described, by their name."""

    rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A method that follows some rules, in a test, or tried on the images for tuning."""

    seed: int
    rules: str
    method: str
    choice: Choice
    condition: str | None  # none: the images for tuning


@cache
def rules_of(place: Place, name: str) -> tuple[RuleSet, RuleSet]:
    """The rules of this name, in pixels and in shares of the range of each statistic."""
    boxes, holds = read_train_boxes(place.folder), SOURCES[name]
    units = ranges_of(boxes)
    if holds is None:
        return learn_detection(boxes), learn_detection(boxes, units=units)
    drives = read_drives(place.folder)
    plain, scaled = (
        learn_by_drive(boxes, drives, schema, holds=holds)
        for schema in (load_schema(SCHEMA), schema_in(units))
    )
    return plain, scaled


def describe_rules(place: Place, job: Rules) -> Json:
    """How many rules there are, and what true boxes of each test break of them; no model."""
    rules, _ = rules_of(place, job.rules)
    made = rules.provenance
    assert made is not None
    kinds = [text.partition(" =>")[0] for text in rules.texts()]
    return {
        "rules": len(rules),
        "counts": made.counts,
        "classes": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "drives": sorted(set(read_drives(place.folder)["drive"].categories)),
        "boxes_of_drives": read_drives(place.folder).n_rows,
        "images": {name: len(images_of(place, name)) for name in CONDITIONS},
        "truth": {name: score_truth(images_of(place, name), rules) for name in CONDITIONS},
        "unproven": list(made.unproven or [])[:3],
    }


def measure_row(place: Place, job: Row) -> Json:
    """How good a method is that follows these rules; labels are for these figures alone."""
    rules, scaled = rules_of(place, job.rules)
    data: Prepared = replace(prepared(place, job.seed), rules=rules, scaled=scaled)
    seen = (
        see_tuning(place, job.seed)
        if job.condition is None
        else see(place, job.seed, job.condition)
    )
    found, told = run(data, seen, method_of(job.method), job.choice)
    return score(found, seen.images, rules) | told


def describe_all(runs: Runs) -> Json:
    """All rules described, without a model."""
    jobs = [Rules(rules=name) for name in SOURCES]
    told = runs.map(describe_rules, jobs, label="rules")
    return {job.rules: one for job, one in zip(jobs, told, strict=True)}


def measure_rules(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """All rules described, and methods that follow them in rain."""
    described = describe_all(runs)
    followed = list(SOURCES)[:2] if place.quick else list(SOURCES)
    found = {name: _adapted(place, runs, seeds, name) for name in followed}
    return {"rule_sets": described, "rule_rows": found}


def _adapted(place: Place, runs: Runs, seeds: Sequence[int], rules: str) -> Json:
    """Each method in rain, tuned as in the bench."""
    tries = [
        Row(seed=seed, rules=rules, method=method.name, choice=choice, condition=None)
        for seed in seeds
        for method in ROW_METHODS
        for choice in _choices(place, method)
    ]
    tried = dict(zip(tries, runs.map(measure_row, tries, label=f"{rules}: tuning"), strict=True))
    source = [one for job, one in tried.items() if job.method == NONE.name]
    chosen = {
        method.name: best_of(
            {
                choice: [
                    one
                    for job, one in tried.items()
                    if (job.method, job.choice) == (method.name, choice)
                ]
                for choice in _choices(place, method)
            },
            source,
        )
        for method in ROW_METHODS
    }
    jobs = [
        Row(seed=seed, rules=rules, method=name, choice=choice, condition=RAIN)
        for seed in seeds
        for name, choice in chosen.items()
    ]
    measured: Json = {name: {} for name in chosen}
    for job, one in zip(jobs, runs.map(measure_row, jobs, label=f"{rules}: adapt"), strict=True):
        measured[job.method][str(job.seed)] = one
    return {
        "chosen": {name: asdict(choice) for name, choice in chosen.items()},
        "measured": measured,
        "summary": {
            name: figures_of(by_seed, measured[NONE.name]) for name, by_seed in measured.items()
        },
    }


def _choices(place: Place, method: Method) -> Sequence[Choice]:
    """All that is tried of a method; one of them for a quick run."""
    choices = method.choices or (Choice(),)
    return choices[len(choices) // 2 :][:1] if place.quick else choices
