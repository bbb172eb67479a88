"""What the runs of the detection bench say together: choices, means, aims."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from sqrl_paper.detection.data import CITY, KITTI, RAIN
from sqrl_paper.detection.methods import BOTH, NONE, PAPER, RULES, Choice
from sqrl_paper.results import aim, spread

Json = dict[str, Any]
FIGURES = ("map", "map50", "recall", "boxes", "violations", "share", "breaking", "seconds")
FEWER_IN_PAPER = 31.4  # % of violations, under rain
SELECTION = (
    "the lowest share of broken pairs among the tries whose mAP is not below the source's, or the "
    "highest mAP where there are none"
)


def best_of(tried: Mapping[Choice, Sequence[Json]], source: Sequence[Json]) -> Choice:
    """The choice by the rule in SELECTION, given the runs of each on the images for tuning.

    By means over the seeds; the first of equals.

    >>> def found(precision, share): return [{"map": precision, "share": share}]
    >>> slow, fast = Choice(lr=1.0), Choice(lr=2.0)
    >>> best_of({slow: found(0.4, 0.09), fast: found(0.3, 0.05)}, found(0.3, 0.1)).lr
    2.0
    >>> best_of({slow: found(0.4, 0.09), fast: found(0.2, 0.05)}, found(0.5, 0.1)).lr
    1.0
    """
    precision = {choice: _mean(runs, "map") for choice, runs in tried.items()}
    kept = [choice for choice in tried if precision[choice] >= _mean(source, "map")]
    if kept:
        return min(kept, key=lambda choice: _mean(tried[choice], "share"))
    return max(tried, key=precision.__getitem__)


def _mean(runs: Sequence[Json], figure: str) -> float:
    return fmean(run[figure] for run in runs)


def summarise(measured: Json, ablation: Json) -> Json:
    """The summary and the aims; both hold a run for each condition, method and seed."""
    summary = {
        condition: {name: figures_of(seeds, methods[NONE.name]) for name, seeds in methods.items()}
        for condition, methods in measured.items()
    }
    kinds = {name: figures_of(seeds, measured[RAIN][NONE.name]) for name, seeds in ablation.items()}
    return {"summary": summary, "ablation_summary": kinds, "aims": _aims(summary)}


def figures_of(seeds: Json, sources: Json) -> Json:
    """The mean and the spread over seeds; changes are within a seed, whose images are the same."""
    pairs = [(run, sources[seed]) for seed, run in seeds.items()]
    return {
        **{name: spread([run[name] for run, _ in pairs]) for name in FIGURES},
        "reduced": spread([fewer(run, source, "violations") for run, source in pairs]),
        "share_reduced": spread([fewer(run, source, "share") for run, source in pairs]),
        "gain": spread([100 * (run["map"] - source["map"]) for run, source in pairs]),
    }


def fewer(run: Json, source: Json, figure: str) -> float:
    """By how many % a figure is below that of the source; 0 where that is 0.

    >>> fewer({"share": 0.25}, {"share": 0.5}, "share")
    50.0
    """
    before, after = source[figure], run[figure]
    return float(100 * (before - after) / before) if before else 0.0


def _aims(summary: Json) -> list[Json]:
    aims = []
    for method in (RULES, BOTH, PAPER):
        rain = summary[RAIN][method.name]
        aims += [
            aim(
                f"rain, {method.name}: fewer violations",
                rain["reduced"]["mean"],
                "%",
                at_least=FEWER_IN_PAPER,
            ),
            aim(
                f"rain, {method.name}: mAP against the source's",
                rain["gain"]["mean"],
                "points",
                at_least=0.0,
            ),
        ]
    gains = {name: summary[name][RULES.name]["gain"]["mean"] for name in (KITTI, CITY, RAIN)}
    worst = min(gains, key=gains.__getitem__)
    what = f"{RULES.name}: mAP against the source's where it gains least ({worst})"
    return [*aims, aim(what, gains[worst], "points", at_least=0.0)]
