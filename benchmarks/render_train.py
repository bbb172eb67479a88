"""Writes docs/train-results.md, docs/images/train.png and a table in README.md from train.json.

python benchmarks/render_train.py [--results FILE] [--docs DIR] [--readme FILE]
"""

import argparse
import json
from pathlib import Path

import numpy as np

from measure import HERE, Json, put_between
from sqrl_paper.table import markdown_table as table_lines

PAGE = "train-results.md"
BEGIN, END = "<!-- begin: benchmarks/render_train.py -->", "<!-- end: render_train -->"
SUPERVISED = "supervised network|1"
NO_LABEL = (
    "rules, additive|0",
    "rules, network|0",
    "rules and pairs, additive|0",
    "rules of the same rows, additive|0",
    "private rules, additive|0",
    "hinge at bounds, network|0",
    "label proportions, network|0",
    "generalised expectation|0",
    "label model, network|0",
)
LABELLED = (
    "supervised network",
    "logistic regression",
    "pseudo-labels",
    "rules and labels, additive",
    "boosted trees",
)
SHARES = (0.01, 0.05, 1.0)


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A table as text."""
    return "\n".join(table_lines(head, rows))


def values(table: Json, name: str, key: str = "auc") -> list[float]:
    """A figure of a method, one for each seed, in percent."""
    return [100 * run[name][key] for run in table["runs"] if name in run]


def cell(found: list[float]) -> str:
    """Mean and spread."""
    if not found:
        return "-"
    return f"{np.mean(found):.1f} ± {np.std(found):.1f}"


def of_supervised(table: Json, name: str) -> float:
    """The mean AUC in percent of that of the supervised network."""
    return float(100 * np.mean(values(table, name)) / np.mean(values(table, SUPERVISED)))


def render(result: Json) -> str:
    """The page."""
    return (
        "\n\n".join(
            [
                _opening(result),
                _no_label(result),
                _calibration(result),
                _labelled(result),
                _sites(result),
            ]
        )
        + "\n"
    )


def _code(result: Json) -> str:
    commit, machine = result["commit"], result["machine"]
    changes = " with changes" if commit["dirty"] else ""
    return f"commit {(commit['id'] or 'none')[:12]}{changes}, {machine['processor']}"


def _opening(result: Json) -> str:
    rows = [
        [
            name,
            f"{one['rows']:,}",
            f"{one['columns']}",
            f"{one['classes']}",
            f"{one['behind']:,}",
            f"{one['train']:,}",
            f"{one['test']:,}",
            f"{np.mean([run['rules, additive|0']['rules'] for run in one['runs']]):.0f}",
        ]
        for name, one in result["tables"].items()
    ]
    head = ["table", "rows", "columns", "classes", "behind the rules", "to train on", "to test"]
    table = markdown_table([*head, "rules"], rows)
    seeds = ", ".join(map(str, result["seeds"]))
    return f"""# Training by rules: what was measured

Every figure here is written by `benchmarks/render_train.py`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding
the real tables: `python benchmarks/train.py --data DIR`, then `python benchmarks/render_train.py`.

Rows are divided at random: rules are learned (`--schema supervise`) from the first part, models are
trained on the second, whose labels only the methods with labels see, and tested on the third. AUC
in percent, of several classes the mean of each against the rest; mean and standard deviation over
seeds {seeds}. Nothing was tuned on these splits: all networks have two layers of 64 and one setting
(`benchmarks/train_methods.py`), all else the defaults of its library. The strength of the additive
model, and the weight of rates in `fit`, were settled on other splits (seeds 0 to 12) of cardio,
physionet, kitti and scikit-learn's tables, test labels in view; test rows here are among the rows
seen then. Tables that had no part in it say more.
Measured: {_code(result)}.

{table}"""


def _no_label(result: Json) -> str:
    names = list(result["tables"])
    lines = [
        [
            "supervised network, all labels",
            *(cell(values(result["tables"][n], SUPERVISED)) for n in names),
        ]
    ]
    for method in NO_LABEL:
        shown = method.partition("|")[0].replace("private rules", "private rules, epsilon = 1")
        lines.append([shown, *(cell(values(result["tables"][n], method)) for n in names)])
    for method in ("rules, additive|0", "rules, network|0", "private rules, additive|0"):
        shown = f"{method.partition('|')[0]}, % of supervised"
        lines.append([shown, *(f"{of_supervised(result['tables'][n], method):.1f}" for n in names)])
    return "## Without a label\n\n" + markdown_table(["AUC", *names], lines)


def _calibration(result: Json) -> str:
    names = list(result["tables"])
    methods = (*NO_LABEL[:2], NO_LABEL[4], SUPERVISED)
    lines = [
        [m.partition("|")[0], *(cell(values(result["tables"][n], m, "ece")) for n in names)]
        for m in methods
    ]
    return "Calibration error (15 bins of the likeliest class, percent):\n\n" + markdown_table(
        ["ECE", *names], lines
    )


def _labelled(result: Json) -> str:
    names = list(result["tables"])
    lines = []
    for share in SHARES:
        for method in LABELLED:
            key = f"{method}|{share:g}"
            if any(key in run for n in names for run in result["tables"][n]["runs"]):
                cells = [cell(values(result["tables"][n], key)) for n in names]
                lines.append([f"{share:.0%}", method, *cells])
    return (
        "## With labels\n\nShares are of the rows to train on, at least two of each class.\n\n"
        + markdown_table(["labels", "AUC", *names], lines)
    )


def _sites(result: Json) -> str:
    sites = result["sites"]
    lines = []
    for name in sites[0] if sites else ():
        cells = [
            cell([100 * one[name][which]["auc"] for one in sites])
            for which in ("supervised", "same site", "other site")
        ]
        ece = cell([100 * one[name]["other site"]["ece"] for one in sites])
        moved = f"{100 * np.mean([one[name]['moved'] for one in sites]):.0f} %"
        warned = f"{sum(one[name]['warned'] for one in sites)} of {len(sites)}"
        lines.append([name, *cells, ece, moved, warned])
    head = ["from, to", "supervised", "own rules", "other site's rules", "their ECE"]
    return (
        "## Rules of another site\n\nRates are learned at one site, models trained and tested at"
        " the other. Facts are called moved where they hold for another share of the rows; with"
        " more than a tenth of them `fit` warns.\n\n"
        + markdown_table([*head, "facts moved", "warned"], lines)
    )


def readme_table(result: Json) -> str:
    """What rules give without a label beside labels, on the tables that have most rows."""
    names = [n for n in ("cardio", "physionet", "kitti", "phrasebank") if n in result["tables"]]
    rows = [
        ["network, all labels", SUPERVISED],
        ["**rules alone**, `RuleClassifier`", "rules, additive|0"],
        ["**rules alone**, `fit` of the network", "rules, network|0"],
        ["rules under noise, epsilon = 1", "private rules, additive|0"],
        ["network, 5 % of labels", "supervised network|0.05"],
        ["network, 1 % of labels", "supervised network|0.01"],
    ]
    lines = []
    for shown, key in rows:
        cells = [f"{np.mean(values(result['tables'][name], key)):.1f}" for name in names]
        lines.append([shown, *cells])
    return markdown_table(["AUC", *names], lines)


def draw(result: Json, path: Path) -> None:
    """AUC against the number of rules, and of labels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [n for n in ("cardio", "physionet") if n in result["tables"]]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=False)
    for name, colour in zip(names, ("#2563a8", "#b3541e"), strict=False):
        table = result["tables"][name]
        whole = np.mean(values(table, SUPERVISED))
        few = [m for m in table["runs"][0] if m.startswith("at most")]
        points = [
            (np.mean([run[m]["rules"] for run in table["runs"]]), np.mean(values(table, m)))
            for m in few
        ]
        axes[0].plot(
            *zip(*sorted(points), strict=True), "o-", color=colour, label=f"{name}, no label"
        )
        axes[0].axhline(whole, color=colour, lw=0.8, ls=":")
        shares = sorted(
            float(m.partition("|")[2]) for m in table["runs"][0] if m.startswith("supervised")
        )
        labels = [table["train"] * share for share in shares]
        means = [np.mean(values(table, f"supervised network|{share:g}")) for share in shares]
        axes[1].plot(labels, means, "s-", color=colour, label=f"{name}, supervised")
        rules = np.mean(values(table, "rules, additive|0"))
        axes[1].axhline(rules, color=colour, lw=1.2, ls="--", label=f"{name}, rules alone")
    for axis, title in zip(axes, ("rules", "labels"), strict=True):
        axis.set(xscale="log", xlabel=f"number of {title}", ylabel="AUC, %")
        axis.legend(fontsize=7, frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_title("dotted: supervised, all labels", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def replaced(text: str, made: str) -> str:
    """A text with this between its marks."""
    return put_between(text, BEGIN, END, made)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what training by rules was measured to do.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "train.json")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    parser.add_argument("--readme", type=Path, default=HERE.parent / "README.md")
    parser.add_argument("--no-figure", action="store_true")
    options = parser.parse_args()
    result = json.loads(options.results.read_text())
    (options.docs / PAGE).write_text(render(result))
    options.readme.write_text(replaced(options.readme.read_text(), readme_table(result)))
    if not options.no_figure:
        draw(result, options.docs / "images" / "train.png")


if __name__ == "__main__":
    main()
