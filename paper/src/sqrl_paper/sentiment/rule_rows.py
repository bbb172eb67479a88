"""What other rules about sentences are worth: what true labels break, and adapting by them."""

from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from sqrl_paper.place import Place
from sqrl_paper.runs import Runs
from sqrl_paper.sentiment.as_seen import Seen, see_by
from sqrl_paper.sentiment.data import Learned, prepared
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.methods import MASK, NONE, OURS, PAPER, Choice, method_of
from sqrl_paper.sentiment.phrasebank import CLASSES
from sqrl_paper.sentiment.rule_sets import SOURCES, learned_by
from sqrl_paper.sentiment.runs import run
from sqrl_paper.sentiment.scores import NEUTRAL, score
from sqrl_paper.sentiment.summary import choose

Json = dict[str, Any]
ROW_METHODS = (NONE, MASK, PAPER, OURS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules that are described, by their name."""

    rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A method that follows some rules, on a part of the sentences."""

    seed: int
    rules: str
    method: str
    choice: Choice
    on: Literal["valid", "test"]


def describe_rules(place: Place, job: Rules) -> Json:
    """How many rules there are, and what true labels of the test break of them; no model."""
    known = learned_by(place, job.rules)
    provenance = known.rules.provenance
    assert provenance is not None
    labels = known.parts.test.labels
    heads = np.array([CLASSES.index(text.rpartition("= ")[2]) for text in known.rules.texts()])
    bodies = _bodies(known)
    wrong = bodies & (heads[:, None] != labels)
    return {
        "sentences": len(labels),
        "counts": provenance.counts,
        "rules": len(known.rules),
        "judged_sentences": int(bodies.any(0).sum()),
        "judged": int(bodies.sum()),
        "broken": int(wrong.sum()),
        "neutral_broken": int((bodies & (heads[:, None] != NEUTRAL)).sum()),
        "heads": {name: int((heads == at).sum()) for at, name in enumerate(CLASSES)},
        "unproven": list(provenance.unproven or [])[:3],
    }


def measure_row(place: Place, job: Row) -> Json:
    """How good a method is that follows these rules; labels are for these figures alone."""
    seen = _seen(place, job.seed, job.rules, job.on)
    logits, told = run(place, seen, method_of(job.method), job.choice)
    return score(seen, logits) | told


def measure_rules(place: Place, runs: Runs, seeds: list[int]) -> Json:
    """All other rules described, and methods that follow some of them."""
    described = describe_all(runs)
    followed = [one.name for one in SOURCES if one.is_adapted_by and described[one.name]["rules"]]
    found = {
        name: _adapted(place, runs, seeds, name)
        for name in (followed[:1] if place.quick else followed)
    }
    return {"rule_sets": described, "rule_rows": found}


def describe_all(runs: Runs) -> Json:
    """All rules described, without a model."""
    jobs = [Rules(rules=source.name) for source in SOURCES]
    told = runs.map(describe_rules, jobs, label="rules")
    return {job.rules: one for job, one in zip(jobs, told, strict=True)}


def _adapted(place: Place, runs: Runs, seeds: list[int], rules: str) -> Json:
    """Each method on the test, tuned as in the bench: on valid sentences of the first seed."""
    choices = PAPER.choices[1:2] if place.quick else PAPER.choices
    tries = [
        Row(seed=seeds[0], rules=rules, method=method.name, choice=choice, on="valid")
        for method, choice in (*((PAPER, choice) for choice in choices), (NONE, Choice()))
    ]
    tried = dict(zip(tries, runs.map(measure_row, tries, label=f"{rules}: tuning"), strict=True))
    *_, source = tried.values()
    best = choose(
        {job.choice: one for job, one in tried.items() if job.method == PAPER.name}, source
    )
    jobs = [
        Row(
            seed=seed,
            rules=rules,
            method=method.name,
            choice=best if method is PAPER else Choice(),
            on="test",
        )
        for method in ROW_METHODS
        for seed in seeds
    ]
    found: Json = {method.name: {} for method in ROW_METHODS}
    for job, one in zip(jobs, runs.map(measure_row, jobs, label=f"{rules}: adapt"), strict=True):
        found[job.method][str(job.seed)] = one
    return {"measured": found, "chosen": asdict(best)}


@cache
def _seen(place: Place, seed: int, rules: str, on: Literal["valid", "test"]) -> Seen:
    return see_by(replace(prepared(place, seed), known=learned_by(place, rules)), on, CLEAN)


def _bodies(known: Learned) -> np.ndarray:
    """Of which test sentences each rule speaks: (rules, sentences)."""
    n = len(known.parts.test)
    found = [known.rules.condition_holds(at, known.features.test) for at in range(len(known.rules))]
    return np.array(found, np.bool_).reshape(len(found), n)
