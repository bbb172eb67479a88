"""What the runs of the sentiment bench say together: choices, means over seeds, aims."""

from collections.abc import Mapping
from typing import Any

from sqrl_paper.results import aim, spread
from sqrl_paper.sentiment.drifts import CLEAN
from sqrl_paper.sentiment.methods import BOTH, LOSS, NONE, OURS, PAPER, Choice

Json = dict[str, Any]
FIGURES = ("accuracy", "macro_f1", "entropy", "violations", "expected", "per_sample", "seconds")
FEWER_IN_PAPER = 15.7  # % of violations
SELECTION = (
    "Of the tries whose accuracy on valid sentences is not below the source's the one is taken "
    "that breaks the fewest rules there; where there is none, the most accurate one."
)


def choose(tried: Mapping[Choice, Json], source: Json) -> Choice:
    """The choice by the rule in SELECTION, the first of equals.

    >>> def found(accuracy, violations): return {"accuracy": accuracy, "violations": violations}
    >>> slow, fast = Choice(lr=0.1), Choice(lr=0.9)
    >>> choose({slow: found(0.8, 50), fast: found(0.8, 40)}, found(0.8, 60)).lr
    0.9
    >>> choose({slow: found(0.8, 50), fast: found(0.7, 40)}, found(0.8, 60)).lr
    0.1
    """
    as_good = [c for c, one in tried.items() if one["accuracy"] >= source["accuracy"]]
    if as_good:
        return min(as_good, key=lambda choice: int(tried[choice]["violations"]))
    return max(tried, key=lambda choice: float(tried[choice]["accuracy"]))


def summarise(found: Json) -> Json:
    """The summary and the aims."""
    conditions = found["conditions"]
    summary = {
        "conditions": {name: figures_of(methods) for name, methods in conditions.items()},
        "ablation": figures_of({NONE.name: conditions[CLEAN][NONE.name], **found["ablation"]}),
    }
    return {"summary": summary, "aims": _aims(summary)}


def figures_of(methods: Json) -> Json:
    """Of each method the mean and spread over seeds, and what changed from the source's."""
    source = methods[NONE.name]
    return {
        name: {
            **{figure: spread([run[figure] for run in seeds.values()]) for figure in FIGURES},
            "predicted": [
                spread(list(shares))["mean"]
                for shares in zip(*(run["predicted"] for run in seeds.values()), strict=True)
            ],
            "reduced": spread([fewer(run, source[seed]) for seed, run in seeds.items()]),
            "gain": spread(
                [100 * (run["accuracy"] - source[seed]["accuracy"]) for seed, run in seeds.items()]
            ),
        }
        for name, seeds in methods.items()
    }


def fewer(run: Json, source: Json) -> float:
    """By how many % fewer rules the likeliest labels break; 0 where the source breaks none.

    >>> fewer({"violations": 15}, {"violations": 20})
    25.0
    """
    before, after = source["violations"], run["violations"]
    return float(100 * (before - after) / max(1, before))


def _aims(summary: Json) -> list[Json]:
    """The promise for each of the methods that follow rules."""
    clean, aims = summary["conditions"][CLEAN], []
    for method in (PAPER, LOSS, BOTH, OURS):
        one = clean[method.name]
        aims += [
            aim(
                f"{method.name}: violations fewer",
                one["reduced"]["mean"],
                "%",
                at_least=FEWER_IN_PAPER,
            ),
            aim(f"{method.name}: accuracy gained", one["gain"]["mean"], "points", at_least=0.0),
        ]
    return aims
