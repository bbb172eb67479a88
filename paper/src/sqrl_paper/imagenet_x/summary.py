"""What the runs of the image bench say together: means over seeds and corruptions, aims."""

from statistics import fmean
from typing import Any

from sqrl_paper.imagenet_x import all_crops
from sqrl_paper.imagenet_x.data import CLEAN
from sqrl_paper.imagenet_x.methods import NONE, OURS, RULES
from sqrl_paper.results import aim, spread

Json = dict[str, Any]
FIGURES = ("accuracy", "entropy", "expected", "likeliest", "n_expected", "n_likeliest", "excess")
FEWER_IN_PAPER = 22.2  # % of violations


def summarise(found: Json) -> Json:
    """The summary and the aims."""
    conditions = found["conditions"]
    summary = {
        "conditions": {name: _figures(methods) for name, methods in conditions.items()},
        "corrupted": _corrupted(conditions),
        "ablation": {
            name: _figures({NONE.name: conditions[name][NONE.name], **methods})
            for name, methods in found["ablation"].items()
        },
        "starts": _starts(conditions),
    }
    return {"summary": summary, "aims": _aims(summary)}


def summarise_all_crops(found: Json) -> Json:
    """Of each method on all crops: accuracy, and % fewer rules broken, by seed and together.

    `reduced` is of the task's rules, `released` of the released code's, both against the source;
    `beyond` is the latter against BatchNorm statistics of the test, as that code counts.
    """
    methods = found["all_crops"]
    source, normed = methods[all_crops.NONE], methods[all_crops.BATCH_NORM]
    return {
        name: {
            "accuracy": spread([run["accuracy"] for run in seeds.values()]),
            "entropy": spread([run["plain"]["entropy"] for run in seeds.values()]),
            "reduced": _less(seeds, source, "plain"),
            "released": _less(seeds, source, "released"),
            "beyond": _less(seeds, normed, "released"),
        }
        for name, seeds in methods.items()
    }


def _less(seeds: Json, others: Json, rules: str) -> Json:
    """By how many % fewer rules of a set are broken than by another method, over seeds."""
    return spread([_fewer(run[rules], others[seed][rules]) for seed, run in seeds.items()])


def _figures(methods: Json) -> Json:
    """Of each method the mean and spread over seeds, and by how many % fewer rules it breaks."""
    source = methods[NONE.name]
    return {
        name: {
            **{figure: spread([run[figure] for run in seeds.values()]) for figure in FIGURES},
            "seconds": spread([run["seconds"] for run in seeds.values()]),
            "reduced": spread([_fewer(run, source[seed]) for seed, run in seeds.items()]),
        }
        for name, seeds in methods.items()
    }


def _fewer(run: Json, source: Json) -> float:
    """By how many % fewer rules the likeliest labels break; 0 where the source breaks none."""
    if not source["n_likeliest"]:
        return 0.0
    return float(100 * (1 - run["n_likeliest"] / source["n_likeliest"]))


def _corrupted(conditions: Json) -> Json:
    """Of each method the means over all corruptions, with their spread over seeds."""
    names = [name for name in conditions if name != CLEAN]
    found: Json = {}
    for method in conditions[names[0]]:
        seeds = list(conditions[names[0]][method])
        found[method] = {
            figure: spread(
                [fmean(conditions[name][method][seed][figure] for name in names) for seed in seeds]
            )
            for figure in FIGURES
        }
        found[method]["gain"] = spread(
            [
                100
                * fmean(
                    conditions[name][method][seed]["accuracy"]
                    - conditions[name][NONE.name][seed]["accuracy"]
                    for name in names
                )
                for seed in seeds
            ]
        )
    return found


def _starts(conditions: Json) -> Json:
    """Under each condition, how many seeds kept the statistics of training."""
    return {
        name: sum(run["start"] == "source" for run in methods[OURS.name].values())
        for name, methods in conditions.items()
    }


def _aims(summary: Json) -> list[Json]:
    clean, corrupted = summary["conditions"][CLEAN], summary["corrupted"]
    others = [name for name in corrupted if name != OURS.name]
    best = max(others, key=lambda name: corrupted[name]["gain"]["mean"])
    gains = {
        name: methods[OURS.name]["accuracy"]["mean"] - methods[NONE.name]["accuracy"]["mean"]
        for name, methods in summary["conditions"].items()
    }
    worst = min(gains, key=gains.__getitem__)
    aims = []
    for name in (RULES.name, OURS.name):
        gained = clean[name]["accuracy"]["mean"] - clean[NONE.name]["accuracy"]["mean"]
        fewer = clean[name]["reduced"]["mean"]
        aims += [
            aim(f"clean, {name}: violations fewer", fewer, "%", at_least=FEWER_IN_PAPER),
            aim(f"clean, {name}: accuracy gained", 100 * gained, "points", at_least=0.0),
        ]
    return [
        *aims,
        aim(
            f"corruptions: mean accuracy of ours beyond that of the best other ({best})",
            corrupted[OURS.name]["gain"]["mean"] - corrupted[best]["gain"]["mean"],
            "points",
            at_least=0.0,
        ),
        aim(
            f"what ours gains over the source where it gains least ({worst})",
            100 * gains[worst],
            "points",
            at_least=0.0,
        ),
    ]
