"""What the runs of the cardio bench say together: means, shares recovered, aims."""

from statistics import fmean
from typing import Any

from sqrl_paper.cardio.data import CLEAN
from sqrl_paper.cardio.methods import BALANCE, CEILING, HELD_OUT, NONE, OURS
from sqrl_paper.results import aim, spread

Json = dict[str, Any]
FIGURES = ("auc", "accuracy")
EITHER = "ours, or class balance"
STOPPED = "Nothing was done: the columns that the rules "  # judge by, or rely on: earlier runs too
LEAST_RECOVERED = 80.0  # % of what the ceiling recovers
MOST_LOST = 0.2  # points, where there is nothing to gain


def summarise(found: Json) -> Json:
    """The summary and the aims."""
    with_balance = found["drifts"] | {
        drift: {**methods, EITHER: either(methods)} for drift, methods in found["drifts"].items()
    }
    summary = {
        "paper_setting": {
            name: figures_of(seeds) | {"reduced": _reduced(found["paper_setting"], name)}
            for name, seeds in found["paper_setting"].items()
        },
        "drifts": {
            drift: {name: figures_of(seeds) for name, seeds in methods.items()}
            for drift, methods in with_balance.items()
        },
        "recovered": recovered(with_balance),
        "rules_see_drift": figures_of(found["rules_see_drift"]),
    }
    return {"summary": summary, "aims": _aims(found["drifts"], summary)}


def is_of_the_feed(drift: str) -> bool:
    """Whether a drift is of what the model is fed alone, so that the table has the true column.

    >>> is_of_the_feed("ap_hi shifted, +1 sd"), is_of_the_feed("class balance, 30% with cardio")
    (True, False)
    """
    return drift != CLEAN and not drift.startswith("class balance")


def fed(drifts: Json, figure: str) -> dict[str, float]:
    """Means over drifts of the feed: the source, ours, what labels give, the true column fed.

    `drifts` has the summary of each drift.
    """
    names = [drift for drift in drifts if is_of_the_feed(drift)]
    means = {
        name: fmean(drifts[drift][name][figure]["mean"] for drift in names)
        for name in (NONE.name, OURS.name, CEILING.name)
    }
    return means | {"true column fed": float(drifts[CLEAN][NONE.name][figure]["mean"])}


def summarise_rows(found: Json) -> Json:
    """Means and spreads of the released setting and of labels made otherwise."""
    released = {
        name: {
            **{figure: spread([run[figure] for run in seeds.values()]) for figure in FIGURES},
            "broken": spread([run["likeliest"]["broken"] for run in seeds.values()]),
            "reduced": _reduced(found["released"], name),
        }
        for name, seeds in found["released"].items()
    }
    ways = [one["ways"] for one in found["thresholds"].values()]
    thresholds = {
        name: {
            "accuracy": spread([one[name]["accuracy"] for one in ways]),
            "reduced": spread(
                [100 * (1 - one[name]["broken"] / one["likeliest"]["broken"]) for one in ways]
            ),
        }
        for name in ways[0]
    }
    return {"released": released, "thresholds": thresholds}


def either(methods: Json) -> Json:
    """Ours; but where its columns have drifted, and it did nothing, another class balance."""
    return {
        seed: methods[BALANCE.name][seed] if STOPPED in run["ending"] else run
        for seed, run in methods[OURS.name].items()
    }


def figures_of(seeds: Json) -> Json:
    """Mean and spread over seeds of all that is shown."""
    runs = list(seeds.values())
    plain = {name: spread([run[name] for run in runs]) for name in (*FIGURES, "f1", "seconds")}
    counted = {
        f"{way}_{what}": spread([run[way][what] for run in runs])
        for way in ("likeliest", "expected")
        for what in ("broken", "share", "excess")
    }
    return plain | counted


def _reduced(methods: Json, name: str) -> Json:
    """By how many percent fewer rules are broken than by the source, by likeliest labels."""
    return spread(
        [
            100 * (1 - run["likeliest"]["broken"] / methods[NONE.name][seed]["likeliest"]["broken"])
            for seed, run in methods[name].items()
        ]
    )


def recovered(drifts: Json) -> Json:
    """Of each method: points gained over all drifts, and that in percent of the ceiling's gain.

    Gains are averaged over the drifts before they are divided: where a drift took nothing the
    ceiling gains next to nothing, and a share of that would mean nothing.
    """
    names = [name for name in drifts if name != CLEAN]
    methods = list(next(iter(drifts.values())))
    found: Json = {}
    for method in methods:
        found[method] = {}
        for figure in FIGURES:
            gains = _gains(drifts, names, method, figure)
            found[method][figure] = {
                "points": spread([100 * gain for gain in gains]),
                **{
                    title: _shares(gains, _gains(drifts, names, ceiling.name, figure))
                    for title, ceiling in (("of_ceiling", CEILING), ("of_held_out", HELD_OUT))
                },
            }
    return found


def _shares(gains: list[float], most: list[float]) -> Json:
    """In percent of the most, over the seeds where that is something."""
    shares = [100 * gain / top for gain, top in zip(gains, most, strict=True) if top > 0]
    return spread(shares or [0.0])


def _gains(drifts: Json, names: list[str], method: str, figure: str) -> list[float]:
    """The mean gain over the source, for each seed."""
    seeds = list(drifts[names[0]][method])
    return [
        fmean(
            drifts[drift][method][seed][figure] - drifts[drift][NONE.name][seed][figure]
            for drift in names
        )
        for seed in seeds
    ]


def _aims(drifts: Json, summary: Json) -> list[Json]:
    aims = []
    others = [
        name
        for name in summary["recovered"]
        if name not in {OURS.name, EITHER, CEILING.name, HELD_OUT.name}
    ]
    for figure in FIGURES:
        ours = summary["recovered"][OURS.name][figure]
        best = max(summary["recovered"][name][figure]["points"]["mean"] for name in others)
        aims += [
            aim(
                f"{figure}: what ours recovers over all drifts, of what test labels recover",
                ours["of_ceiling"]["mean"],
                "%",
                at_least=LEAST_RECOVERED,
            ),
            aim(
                f"{figure}: the same, of what the labels of the other half of the rows recover",
                ours["of_held_out"]["mean"],
                "%",
                at_least=LEAST_RECOVERED,
            ),
            aim(
                f"{figure}: mean gain of ours beyond that of the best other method",
                ours["points"]["mean"] - best,
                "points",
                at_least=0.0,
            ),
            aim(
                f"{figure}: what ours loses without drift, the most of any seed",
                max(
                    100 * (drifts[CLEAN][NONE.name][seed][figure] - run[figure])
                    for seed, run in drifts[CLEAN][OURS.name].items()
                ),
                "points",
                at_most=MOST_LOST,
            ),
            aim(
                f"{figure}: what ours loses under any drift, the most on average over seeds",
                max(
                    -100 * (one[OURS.name][figure]["mean"] - one[NONE.name][figure]["mean"])
                    for one in summary["drifts"].values()
                ),
                "points",
                at_most=MOST_LOST,
            ),
        ]
    return aims
