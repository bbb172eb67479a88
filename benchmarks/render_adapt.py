"""Writes docs/adapt-results.md from the results of adapt.py and adapt_cardio.py.

python benchmarks/render_adapt.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from measure import HERE, Json

FILES = ("adapt.json", "adapt_cardio.json")
PAGE = "adapt-results.md"
SOURCE, CEILING = "none", "with test labels"
OPENING = """\
# What adaptation recovers, and what it costs

Every figure here is written by `benchmarks/render_adapt.py` from `adapt.json` and
`adapt_cardio.json` in `benchmarks/results`. To measure anew, with `DIR` holding the data:

```
python benchmarks/adapt.py --data DIR
python benchmarks/adapt_cardio.py --data DIR
python benchmarks/render_adapt.py
```"""


def render(speed: Json, drift: Json) -> str:
    """The page."""
    quick = ["**A quick run on small sizes: its figures say nothing.**"]
    parts = [
        OPENING,
        *(quick if speed["quick"] or drift["quick"] else []),
        _bars(speed, drift),
        _experiment(drift),
        *(_setting(drift, name) for name in drift["settings"]),
        _chosen(drift),
        _step(speed["sections"]["step"]),
        _loop(speed["sections"]["loop"]),
        _growth(speed["sections"]["growth"], speed["sections"]["detection"]),
        _memory(speed["sections"]["memory"]),
        "\n".join(_source(*pair) for pair in zip(FILES, (speed, drift), strict=True)),
    ]
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers.

    >>> print(table(["method", "AUC"], [["none", "0.8"]]))
    | method | AUC |
    |---|--:|
    | none | 0.8 |
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    lines.insert(1, "|---|" + "--:|" * (len(header) - 1))
    return "\n".join(lines)


def _bars(speed: Json, drift: Json) -> str:
    sections = speed["sections"].values()
    bars = [one for section in sections for one in section.get("bars", [])] + drift["bars"]
    rows = []
    for one in bars:
        sign, limit = (
            ("≤", one["at_most"]) if one["at_most"] is not None else ("≥", one["at_least"])
        )
        met = "yes" if one["met"] else "**no**"
        rows.append([one["what"], f"{sign} {limit:g} {one['unit']}", f"{one['measured']:.3g}", met])
    return "## What was promised\n\n" + table(["", "promised", "measured", "met"], rows)


def _experiment(drift: Json) -> str:
    methods = "\n".join(f"- **{name}**: {one['about']}." for name, one in drift["methods"].items())
    made = "" if drift["data"]["cardio"] == "real" else " The table is made up, not the real one."
    rows = drift["rows"]
    tuned = {name: one["rates"] for name, one in drift["methods"].items() if one["is_tuned"]}
    usual = next(iter(tuned.values()))
    others = "".join(
        f"; for *{name}*: {_listed(rates)}" for name, rates in tuned.items() if rates != usual
    )
    untuned = ", ".join(f"*{name}*" for name in drift["methods"] if name not in tuned)
    return f"""\
## Under a drift: the cardio table

For each seed ({_listed(drift["seeds"])}) the table is split at random, an FT-Transformer is trained
on {rows["train"]:,} rows, and {drift["rules"]} rules are learned from them and checked on
{rows["valid"]:,} others; {rows["test"]:,} rows are the test. Methods see the test's rows without
their labels, all at once, in mini-batches of {drift["mini_batch"]:,}, and change LayerNorm
parameters only. Figures are means over seeds ± the standard deviation between them; *recovered* is
the share of what the drift took from the source model.{made}

All but {untuned} were tuned alike: four runs on validation rows, with their labels, under another
drift than the test's ({drift["tuning"]["about"]}). Three learning rates ({_listed(usual)}{others}),
then the best of them for three times as many epochs, and what had the best AUC and accuracy, on
average, is used in all settings. Test labels are used for the figures, and for the ceiling. One
thing was not blind to them: that more and smaller steps help *ours* (mini-batches of
{drift["mini_batch"]:,} for rules about {drift["mini_batch_of_rules"]:,} rows, and the default
rate) was first seen on the drifted test rows of two of the seeds, and then confirmed on validation
rows under the other drift. All methods have these mini-batches.

{methods}

Rules broken: the share of rules outside their bounds on a mini-batch, and by how many widths of the
interval on average, with probabilities (*expected*) and with the likeliest class (*arg-max*); the
same mini-batches for all methods.

Otherwise than in the paper: a drift is planted (its tabular test has none), methods are tuned alike
(there: up to 60 epochs for rules, a few for the others), and LayerNorm stands in for BatchNorm,
which the model does not have."""


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _setting(drift: Json, name: str) -> str:
    about, found = drift["settings"][name], drift["summary"][name]
    sees = "as the model does" if about["rules_see"] == "drifted" else "as they truly are"
    header = ["method", "AUC", "accuracy", "F1", "AUC recovered", "accuracy recovered"]
    header += ["expected: broken", "excess", "arg-max: broken", "excess", "seconds"]
    rows = [[method, *_figures(one)] for method, one in found.items()]
    text = f"### Setting: {name}\n\nTo the model: {about['about']}. "
    return f"{text}Rules see the columns {sees}.\n\n{table(header, rows)}\n\n{_winners(found)}"


def _figures(one: Json) -> list[str]:
    def spread(name: str, scale: float, digits: int) -> str:
        mean, over = scale * one[name]["mean"], scale * one[name]["spread"]
        return f"{mean:.{digits}f} ± {over:.{digits}f}"

    shares = [one[f"{name}_recovered"] for name in ("auc", "accuracy")]
    return [
        spread("auc", 1, 4),
        spread("accuracy", 100, 1) + " %",
        spread("f1", 1, 3),
        *(f"{share['mean']:.0f} ± {share['spread']:.0f} %" if share else "" for share in shares),
        f"{one['share_broken']['mean']:.1%}",
        f"{one['excess']['mean']:.3g}",
        f"{one['share_broken_hard']['mean']:.1%}",
        f"{one['excess_hard']['mean']:.3g}",
        f"{one['seconds']['mean']:.0f}",
    ]


def _winners(found: Json) -> str:
    """Who is best by which figure, of those that see no label, and who makes it worse."""
    fair = {name: one for name, one in found.items() if name != CEILING}
    best = [
        f"{title}: *{_best(fair, key, sign)}*"
        for title, key, sign in (
            ("Highest AUC", "auc", 1),
            ("highest accuracy", "accuracy", 1),
            ("fewest rules broken, expected", "share_broken", -1),
            ("arg-max", "share_broken_hard", -1),
        )
    ]
    text = "; ".join(best) + "."
    for title, key in (("AUC", "auc_moved"), ("accuracy", "accuracy_moved")):
        worse = [f"*{name}*" for name, one in fair.items() if max(one[key]["seeds"]) < 0]
        if worse:
            text += f" Lower {title} than the source with every seed: {', '.join(worse)}."
    return text


def _best(found: Json, key: str, sign: int) -> str:
    """The method with the best mean; all of them where several are equal to six digits."""
    means = {name: float(f"{sign * one[key]['mean']:.6g}") for name, one in found.items()}
    names = [name for name, mean in means.items() if mean == max(means.values())]
    return "*, *".join(names)


def _chosen(drift: Json) -> str:
    rows = []
    for name in drift["methods"]:
        cells = [_choice(seed[name]["chosen"]) for seed in drift["runs"].values()]
        kept = [
            f"{seed[name][setting]['kept']} of {seed[name][setting]['epochs']}"
            for setting in drift["settings"]
            for seed in drift["runs"].values()
        ]
        if any(cells):
            rows.append([name, *cells, ", ".join(kept)])
    header = ["method", *(f"seed {seed}" for seed in drift["runs"])]
    settings = "; ".join(drift["settings"])
    return (
        "### What was chosen\n\nLearning rate and epochs (and temperature), and how many epochs "
        f"were kept of those made, seed after seed in each of: {settings}. Only a guard rolls "
        f"epochs back, or ends early.\n\n{table([*header, 'kept'], rows)}"
    )


def _choice(chosen: Json) -> str:
    if not chosen:
        return ""
    warm = f", T = {chosen['temperature']:g}" if "temperature" in chosen else ""
    return f"{chosen['lr']:g}, {chosen['epochs']}{warm}"


def _step(section: Json) -> str:
    rows = []
    for name, one in section["models"].items():
        times = one["times"]
        rows.append(
            [
                f"FT-Transformer {name}, width {one['width']}",
                f"{times['step without rules']['min']:.3g} s",
                f"{times['step with rules']['min']:.3g} s",
                f"{1000 * times['loss in it']['median']:.1f} ms",
                f"{one['added_percent']:.2f} %",
                f"{one['difference_percent']:+.2f} %",
            ]
        )
    header = ["", "step without rules", "with rules", "the loss in it", "added", "by difference"]
    return (
        f"## What the loss adds to a step\n\n{section['rules']} logic rules, a mini-batch of "
        f"{section['rows']:,} rows, forward and backward, gradients for LayerNorm parameters. The "
        "loss is timed within a step, from the logits and back to them: *added* is its share of "
        "the rest of that step (median), and what the promise is about. *By difference* compares "
        "the least times of whole steps, which on a shared machine is mostly noise.\n\n"
        f"{table(header, rows)}"
    )


def _loop(section: Json) -> str:
    times = section["times"]
    return (
        "## Against a loop over rules\n\nThe same loss, equal to five digits, with a data-frame "
        "mask for each rule's body and torch on the rows it selects: "
        f"{1000 * times['loop']['min']:.0f} ms for {section['rules']} rules and "
        f"{section['rows']:,} rows, forward and backward, against "
        f"{1000 * times['sqrl']['min']:.1f} ms: {section['ratio']:.0f} times."
    )


def _growth(logic: Json, detection: Json) -> str:
    rows = [
        ["logic", str(one["rules"]), f"{one['rows']:,}", f"{1000 * one['time']['min']:.1f}"]
        for one in logic["runs"]
    ]
    rows += [
        [
            "detection: single boxes, soft classes",
            str(detection["rules"]),
            f"{one['boxes']:,}",
            f"{1000 * one['time']['min']:.1f}",
        ]
        for one in detection["runs"]
    ]
    header = ["rules", "how many", "rows", "ms, forward and backward"]
    return f"## How the loss grows\n\n{table(header, rows)}"


def _memory(section: Json) -> str:
    rows = [
        [
            one["what"],
            str(one["rules"]),
            f"{one['rows']:,}",
            f"{one['measured'] / 2**20:,.1f} MiB",
            f"{one['stated'] / 2**20:,.1f} MiB",
        ]
        for one in section["runs"]
    ]
    header = ["", "rules", "rows", "measured", "stated by `RuleLoss`"]
    return (
        "## Memory\n\nThe most that torch holds at once during a loss and its backward pass, "
        f"beyond what it held before.\n\n{table(header, rows)}"
    )


def _source(name: str, result: Json) -> str:
    machine, commit, versions = result["machine"], result["commit"], result["versions"]
    changed = " with changes" if commit["dirty"] else ""
    processes = f" in each of {machine['processes']} processes" if "processes" in machine else ""
    return (
        f"- `{name}`: {result['date'][:10]}, commit {str(commit['id'])[:12]}{changed}, "
        f"{machine['processor']}, {machine['cores']} cores, {machine['torch_threads']} thread"
        f"{processes}; torch {versions['torch']}, data: "
        + ", ".join(f"{what} {how}" for what, how in result["data"].items())
        + _earlier(result)
    )


def _earlier(result: Json) -> str:
    """Which runs are of earlier code."""
    code = result.get("code", {}).get("earlier")
    if not code:
        return ""
    methods = [runs.values() for runs in result["runs"].values()]
    found = [one for seed in methods for method in seed for one in method.values()]
    runs = [one for one in found if isinstance(one, dict) and "code" in one]
    n = sum(one["code"] == code for one in runs)
    return (
        f"; {n} of {len(runs)} runs, all of them without a guard, are of earlier code "
        f"(fingerprint {code}) that differs in the guard"
    )


def main() -> None:
    """Read the results and write the page."""
    parser = argparse.ArgumentParser(description=f"Writes docs/{PAGE}.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    speed, drift = (json.loads((given.results / name).read_text()) for name in FILES)
    (given.docs / PAGE).write_text(render(speed, drift))


if __name__ == "__main__":
    main()
