"""The tables of the bench of training by rules, its figure and its aims, from results alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqrl_paper.results import aim
from sqrl_paper.table import Sheet

Json = dict[str, Any]
SUPERVISED = "supervised network|1"
ADDITIVE, NETWORK, PRIVATE = "rules, additive|0", "rules, network|0", "private rules, additive|0"
NO_LABEL = (
    ADDITIVE,
    NETWORK,
    "rates alone, additive|0",
    "rules of the same rows, additive|0",
    PRIVATE,
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
    "FT-Transformer",
)
SHARES = (0.01, 0.05, 1.0)
LARGE = 12_000  # rows behind the rules from which private ones are promised something


def values(table: Json, name: str, key: str = "auc") -> list[float]:
    """A figure of a method, one for each seed, in percent."""
    return [100 * run[name][key] for run in table["runs"] if key in run.get(name, {})]


def cell(found: Sequence[float]) -> str:
    """Mean and spread."""
    return f"{np.mean(found):.1f} ± {np.std(found):.1f}" if found else "-"


def of_supervised(table: Json, name: str) -> float:
    """The mean AUC in percent of that of the supervised network."""
    return float(100 * np.mean(values(table, name)) / np.mean(values(table, SUPERVISED)))


def sheets_of(result: Json) -> list[Sheet]:
    """All tables."""
    made = [_tables(result), _no_label(result), _calibration(result), _labelled(result)]
    return [*made, _sites(result)] if result["sites"] else made


def _tables(result: Json) -> Sheet:
    rows = [
        [
            name,
            f"{one['rows']:,}",
            f"{one['columns']}",
            f"{one['classes']}",
            f"{one['behind']:,}",
            f"{one['train']:,}",
            f"{one['test']:,}",
            f"{np.mean([run[ADDITIVE]['rules'] for run in one['runs']]):.0f}",
            f"{np.mean([run[ADDITIVE]['learned'] for run in one['runs']]):.0f} s",
        ]
        for name, one in result["tables"].items()
    ]
    head = ["table", "rows", "columns", "classes", "behind the rules", "to train on", "to test"]
    return Sheet(title="The tables", header=[*head, "rules", "learned in"], rows=rows)


def _no_label(result: Json) -> Sheet:
    tables = result["tables"]
    rows = [
        ["supervised network, all labels", *(cell(values(t, SUPERVISED)) for t in tables.values())]
    ]
    for method in NO_LABEL:
        shown = method.partition("|")[0].replace("private rules", "private rules, epsilon = 1")
        rows.append([shown, *(cell(values(t, method)) for t in tables.values())])
    for method in (ADDITIVE, NETWORK, PRIVATE):
        shown = f"{method.partition('|')[0]}, % of supervised"
        rows.append([shown, *(f"{of_supervised(t, method):.1f}" for t in tables.values())])
    return Sheet(title="Without a label: AUC", header=["AUC", *tables], rows=rows)


def _calibration(result: Json) -> Sheet:
    tables = result["tables"]
    rows = []
    for method in (ADDITIVE, NETWORK, PRIVATE, SUPERVISED):
        shown = method.partition("|")[0]
        rows.append([shown, *(cell(values(t, method, "ece")) for t in tables.values())])
        by_chance = [cell(values(t, method, "ece_by_chance")) for t in tables.values()]
        rows.append([f"what chance alone gives {shown}", *by_chance])
    title = "Calibration error (15 bins of the likeliest class, percent)"
    note = (
        "A model whose probabilities are perfect has a calibration error too: among few rows of a"
        " bin the share that is right is seldom the one expected. What chance alone gives is that"
        " error, on as many rows and with each method's own probabilities: the mean of 200 draws of"
        " labels from them. It is larger where rows are few, and where a model is less sure. The"
        " two do not add up: where chance alone gives much, what is wrong with a model adds less"
        " than it would by itself, so that a small difference shows little on few rows."
    )
    return Sheet(title=title, header=["ECE", *tables], rows=rows, note=note)


def _labelled(result: Json) -> Sheet:
    tables = result["tables"]
    rows = []
    for share in SHARES:
        for method in LABELLED:
            key = f"{method}|{share:g}"
            if any(key in run for t in tables.values() for run in t["runs"]):
                cells = [cell(values(t, key)) for t in tables.values()]
                rows.append([f"{share:.0%} of labels: {method}", *cells])
    note = "Shares are of the rows to train on, at least two of each class."
    return Sheet(title="With labels: AUC", header=["AUC", *tables], rows=rows, note=note)


def _sites(result: Json) -> Sheet:
    sites = result["sites"]
    rows = []
    for name in sites[0]:
        cells = [
            cell([100 * one[name][which]["auc"] for one in sites])
            for which in ("supervised", "same site", "other site")
        ]
        ece = cell([100 * one[name]["other site"]["ece"] for one in sites])
        moved = f"{100 * np.mean([one[name]['moved'] for one in sites]):.0f} %"
        warned = f"{sum(one[name]['warned'] for one in sites)} of {len(sites)}"
        rows.append([name, *cells, ece, moved, warned])
    head = ["from, to", "supervised", "own rules", "other site's rules", "their ECE"]
    note = (
        "Rules are learned at one site, models trained and tested at the other. Facts are called"
        " moved where they hold for another share of the rows, numbers where their mean is another;"
        " with more than a tenth of them `fit` warns."
    )
    header = [*head, "facts moved", "warned"]
    return Sheet(title="Rules of another site: AUC", header=header, rows=rows, note=note)


def aims_of(result: Json) -> list[Json]:
    """What was aimed at: the AUC of rules alone beside all labels, calibration, privacy."""
    tables = result["tables"]
    best = {
        name: max(of_supervised(t, m) for m in (ADDITIVE, NETWORK)) for name, t in tables.items()
    }
    shares = sorted((of_supervised(t, ADDITIVE) for t in tables.values()), reverse=True)
    ece = [float(np.mean(values(t, ADDITIVE, "ece"))) for t in tables.values()]
    beyond = [
        one - float(np.mean(values(t, ADDITIVE, "ece_by_chance")))
        for one, t in zip(ece, tables.values(), strict=True)
    ]
    private = [of_supervised(t, PRIVATE) for t in tables.values() if t["behind"] >= LARGE]
    rules = [run[ADDITIVE]["rules"] for t in tables.values() for run in t["runs"]]
    made = [
        aim("most rules", float(max(rules)), "rules", at_most=300),
        aim(
            "AUC of RuleClassifier, of supervised, third best table",
            shares[min(2, len(shares) - 1)],
            "%",
            at_least=99,
        ),
        aim("AUC of RuleClassifier, of supervised, worst table", shares[-1], "%", at_least=98),
        aim(
            "AUC of the better of RuleClassifier and fit, worst table",
            min(best.values()),
            "%",
            at_least=98,
        ),
        aim("ECE of RuleClassifier, worst table", max(ece), "%", at_most=3),
        aim(
            "ECE of RuleClassifier less what chance alone gives, worst table",
            max(beyond),
            "%",
            at_most=3,
        ),
    ]
    if private:
        made.append(
            aim("AUC at epsilon = 1 and 12,000 rows, worst table", min(private), "%", at_least=97)
        )
    return made


def tell_protocol(result: Json) -> str:
    """How it was measured."""
    splits = ", ".join(map(str, result["splits"]))
    return f"""\
Rows are divided at random: rules are learned (`--schema supervise`) from the first part, models are
trained on the second, whose labels only the methods with labels see, and tested on the third. AUC
in percent, of several classes the mean of each against the rest; mean and standard deviation over
splits {splits}. All networks have two layers of 64 and one setting
(`paper/src/sqrl_paper/train/methods.py`), the FT-Transformer is that of the cardio bench with at
most 15 epochs, all else has the defaults of its library. Baselines that need rates within bags have
those of *rates alone*, at most 300 too.

**What was looked at while this was built.** How finely numbers are told, how strongly effects are
held back and their scale are chosen in each run by halves of the rows behind the rules; no other
row has a part in it. That means of numbers are stated at all, that they are held between limits,
which strengths are tried, and the constants of private rules were settled by likelihoods of such
halves, and by figures on test rows of other splits (seeds 0 to 4, and a few rows of 30; how long
`fit` waits for a better epoch on seeds 0 to 12; how private rules limit what a row adds to all
numbers together, and which numbers they leave out, on seeds 50 to 57; pairs of facts on seed 0, and
that `fit` leaves rates in mini-batches out on seed 20, both with other tables beside these) of
these same tables, test labels in view. The test rows here are among the rows seen then: the splits
are new, the tables are not."""


def draw_curves(result: Json, path: Path) -> None:
    """AUC against the number of rules, and of labels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [n for n in ("cardio", "physionet") if n in result["tables"]]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=False)
    for name, colour in zip(names, ("#2563a8", "#b3541e"), strict=False):
        table = result["tables"][name]
        whole = np.mean(values(table, SUPERVISED))
        few = [m for m in table["runs"][0] if m.startswith("at most")] or [ADDITIVE]
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
        rules = np.mean(values(table, ADDITIVE))
        axes[1].axhline(rules, color=colour, lw=1.2, ls="--", label=f"{name}, rules alone")
    for axis, title in zip(axes, ("rules", "labels"), strict=True):
        axis.set(xscale="log", xlabel=f"number of {title}", ylabel="AUC, %")
        axis.legend(fontsize=7, frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_title("dotted: supervised, all labels", fontsize=8)
    figure.tight_layout()
    metadata = {"Software": None} if path.suffix == ".png" else {}
    figure.savefig(path, dpi=120, metadata=metadata)
    plt.close(figure)
