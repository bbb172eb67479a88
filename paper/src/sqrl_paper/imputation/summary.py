"""What the runs of the imputation bench say together: choices, means, aims."""

from collections.abc import Mapping
from typing import Any

from sqrl_paper.imputation.methods import BOTH, NONE, Choice
from sqrl_paper.results import aim, spread

Json = dict[str, Any]
LEAST_REDUCED = 95.0  # % fewer violations than by the source model
SELECTION = (
    "On the valid patients of the same seed: the lowest MSE on hidden values among the choices "
    f"with at least {LEAST_REDUCED:g} % fewer violations than the source model, or among all if "
    "none has."
)
SELECTION_BY_ERROR = "On the same patients: the lowest MSE among all choices."
FIGURES = ("mse", "mae", "range_mse", "violations", "share")


def choose(tried: Mapping[Choice, Json], source: Json) -> Choice:
    """The choice by the rule in SELECTION, the first of equals.

    >>> def found(mse, violations): return {"plain": {"mse": mse, "violations": violations}}
    >>> slow, fast = Choice(parameters="norm", lr=0.1), Choice(parameters="norm", lr=0.9)
    >>> choose({slow: found(0.3, 50), fast: found(0.4, 5)}, found(0.5, 100)).lr
    0.9
    >>> choose({slow: found(0.3, 50), fast: found(0.4, 6)}, found(0.5, 100)).lr
    0.1
    """
    few = [choice for choice, one in tried.items() if reduced(one, source) >= LEAST_REDUCED]
    return choose_by_error({choice: tried[choice] for choice in few} or tried)


def choose_by_error(tried: Mapping[Choice, Json]) -> Choice:
    """The choice with the lowest MSE, whatever it breaks; the first of equals.

    >>> slow, fast = Choice(parameters="norm", lr=0.1), Choice(parameters="norm", lr=0.9)
    >>> choose_by_error({slow: {"plain": {"mse": 0.3}}, fast: {"plain": {"mse": 0.4}}}).lr
    0.1
    """
    return min(tried, key=lambda choice: float(tried[choice]["plain"]["mse"]))


def reduced(one: Json, source: Json, *, way: str = "plain") -> float:
    """By how many percent fewer values break rules than by the source model.

    >>> reduced({"plain": {"violations": 5}}, {"plain": {"violations": 20}})
    75.0
    """
    before, after = source["plain"]["violations"], one[way]["violations"]
    return float(100 * (before - after) / max(1, before))


def summarise(measured: Json, by_error: Json, ablation: Json) -> Json:
    """The summary and the aims; all of the three have a run for each seed.

    `measured` has those chosen by SELECTION, `by_error` those of SELECTION_BY_ERROR.
    """
    sources = measured[NONE.name]
    summary, lowest = (
        {name: _figures(seeds, sources) for name, seeds in runs.items()}
        for runs in (measured, by_error)
    )
    kinds = {
        name: {kind: _figures(seeds, sources) for kind, seeds in kinds.items()}
        for name, kinds in ablation.items()
    }
    return {
        "summary": summary,
        "by_error_summary": lowest,
        "ablation_summary": kinds,
        "aims": _aims(summary),
    }


def _figures(seeds: Json, sources: Json) -> Json:
    """Mean and spread over seeds, without and with clipping.

    Changes are taken within each seed: its patients are the same for all methods.
    """
    return {way: _figures_one_way(seeds, sources, way) for way in ("plain", "clipped")}


def _figures_one_way(seeds: Json, sources: Json, way: str) -> Json:
    pairs = [(one, sources[seed]) for seed, one in seeds.items()]
    figures = {name: spread([one[way][name] for one, _ in pairs]) for name in FIGURES}
    return figures | {
        "reduced": spread([reduced(*pair, way=way) for pair in pairs]),
        "beyond_source": spread([_beyond(*pair, way, "plain") for pair in pairs]),
        "beyond_clip": spread([_beyond(*pair, way, "clipped") for pair in pairs]),
    }


def _beyond(one: Json, source: Json, way: str, other: str) -> float:
    """By how many percent the MSE is above that of the source, as it is or clipped."""
    return float(100 * (one[way]["mse"] / source[other]["mse"] - 1))


def _aims(summary: Json) -> list[Json]:
    ours = summary[BOTH.name]
    others = {f"{name}, then clip": one["clipped"]["mse"]["mean"] for name, one in summary.items()}
    best = min(others, key=lambda name: others[name])
    return [
        aim(
            f"{BOTH.name}: fewer violations",
            ours["plain"]["reduced"]["mean"],
            "%",
            at_least=LEAST_REDUCED,
        ),
        aim(
            f"{BOTH.name}: MSE against the source model",
            ours["plain"]["beyond_source"]["mean"],
            "%",
            at_most=0.0,
        ),
        aim(
            f"{BOTH.name}: MSE against the source model clipped",
            ours["plain"]["beyond_clip"]["mean"],
            "%",
            at_most=0.0,
        ),
        aim(
            f"{BOTH.name}, then clip: MSE against that of {best}, the best without violations",
            100 * (ours["clipped"]["mse"]["mean"] / others[best] - 1),
            "%",
            at_most=0.0,
        ),
    ]
