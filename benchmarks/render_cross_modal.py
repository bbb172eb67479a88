"""Writes the figures of docs/cross-modal.md from cross_modal.json.

python benchmarks/render_cross_modal.py [--results FILE] [--docs DIR]
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

from measure import HERE, Json, put_between
from sqrl_paper.table import markdown_table

PAGE = "cross-modal.md"
BEGIN, END = "<!-- begin: benchmarks/render_cross_modal.py -->", "<!-- end: render_cross_modal -->"
FIGURES = ("auc", "accuracy", "ece")
TITLES = {
    "kitti": "Boxes of KITTI: pixels, by rules about geometry",
    "text": "Sentences of PhraseBank: words, by rules about lists of words",
    "imagenet-x": "Images of ImageNet-X: pixels, by rules about what annotators ticked",
}
ABOUT = {
    "kitti": "Crops of boxes, all scaled to one square, through EfficientNet-Lite0; rules see"
    " width, height, their ratio, area, and where a box stands. Images of the usual validation part"
    " are the test, which comes from other drives; those of the other part are halved by image for"
    " each seed: labels and geometry of one half are behind the rules, pixels and geometry of the"
    " other are trained on.",
    "text": "Sentences through MiniLM; rules see shares of words with an emotion or of a topic, and"
    " whether a few words occur. Rows are divided at random.",
    "imagenet-x": "Crops through EfficientNet-Lite0; rules see 16 factors and are learned from the"
    " train annotations, of whose images there is none.",
}
SHOWN = {
    "rules, fit|0": "**rules, `sqrl.fit`**",
    "rules' likeliest class|0": "the additive model's likeliest class as label",
    "rules' probabilities|0": "its probabilities as labels",
    "votes of rules|0": "votes of rules as labels",
    "k-means, named by rules|0": "k-means, clusters named by rules",
    "class shares|0": "class shares alone",
    "rules and labels, fit|0.01": "**rules and labels, `sqrl.fit`**",
    "rules and labels, fit|0.05": "**rules and labels, `sqrl.fit`**",
    "supervised|0.01": "supervised",
    "supervised|0.05": "supervised",
    "supervised|1": "supervised",
    "logistic regression|0.01": "logistic regression",
    "logistic regression|0.05": "logistic regression",
    "logistic regression|1": "logistic regression",
    "columns: rules, additive|0": "*columns needed*: rules, `RuleClassifier`",
    "columns: boosted trees|1": "*columns needed*: boosted trees",
}
UNLABELLED = [key for key in SHOWN if key.endswith("|0") and not key.startswith("columns")]
SOURCES = {
    "other drives": "the head was trained with all labels",
    "the same drives, other images": "the head was trained with all labels of the images behind the"
    " rules",
    "validation images": "the network's own classes, added up to metaclasses",
}
ADAPTED = {
    "source": "source",
    "BN": "BN",
    "Tent": "Tent",
    "rules": "**rules, `sqrl.adapt`**",
    "rules, trusted": "rules, `trust_rules=True`",
    "rules, fit on": "rules, `sqrl.fit` goes on",
    "test labels": "*labels of the other half of the test*",
}


def cell(found: list[float], digits: int = 1) -> str:
    """Mean and standard deviation over seeds, in percent."""
    return f"{100 * np.mean(found):.{digits}f} ± {100 * np.std(found):.{digits}f}"


def mean(task: Json, method: str, figure: str) -> float:
    """A figure of a method over seeds, in percent."""
    return float(100 * np.mean([run[method][figure] for run in task["runs"]]))


def render(result: Json) -> str:
    """All that stands between the marks."""
    parts = [_opening(result)]
    for name, task in result["tasks"].items():
        parts += [f"### {TITLES[name]}", ABOUT[name], _sizes(task), _sentence(task), _trained(task)]
        for where in task["adapted"][0] if task["adapted"] else ():
            found = [run[where] for run in task["adapted"]]
            parts += [_adaptation(where, task), _adapted(found), _refused(found)]
    return "\n\n".join(part for part in parts if part)


def _opening(result: Json) -> str:
    seeds = ", ".join(map(str, result["seeds"]))
    minutes = sum(task["cpu_seconds"] for task in result["tasks"].values()) / 60
    commits = {str(task["commit"]["id"])[:12] for task in result["tasks"].values()}
    machine = result["machine"]
    return (
        "Percent; mean and standard deviation over seeds "
        f"{seeds}. All heads are one layer of 64 on a normalised embedding that stays as it is, and"
        " are trained in one setting; nothing was tuned on test rows, one other seed having been"
        f" looked at. `cross_modal.json`: {result['made']}, commit {', '.join(sorted(commits))},"
        f" {machine['processor']}, {minutes:.0f} minutes of one core, embeddings computed before"
        " not counted again. To measure anew: `python benchmarks/cross_modal.py --data DIR`."
    )


def _sizes(task: Json) -> str:
    rows = task["rows"]
    return (
        f"{task['rules']} rules of {rows['behind']:,} rows; {rows['train']:,} rows to train on,"
        f" {rows['test']:,} to test; {task['columns']} columns, {task['classes']} classes."
    )


def _sentence(task: Json) -> str:
    """Who is right how often, in words."""
    mine = mean(task, "rules, fit|0", "accuracy")
    others = {
        "all labels": mean(task, "supervised|1", "accuracy"),
        "5 % of them": mean(task, "supervised|0.05", "accuracy"),
        "the rules themselves, with the columns at hand,": mean(
            task, "columns: rules, additive|0", "accuracy"
        ),
        "the commonest class": mean(task, "class shares|0", "accuracy"),
    }
    told = ", ".join(f"{name} {value:.1f}" for name, value in others.items())
    best = {}
    for figure in ("accuracy", "auc"):
        values = {key: mean(task, key, figure) for key in UNLABELLED}
        best[figure] = max(values, key=values.__getitem__)
    return (
        f"Trained by rules alone the model is right in {mine:.1f} % of test rows; {told}. Of all"
        f" ways without a label the highest accuracy is that of *{_plain(best['accuracy'])}*, the"
        f" highest AUC that of *{_plain(best['auc'])}*."
    )


def _plain(key: str) -> str:
    return SHOWN[key].replace("**", "")


def _trained(task: Json) -> str:
    rows = []
    for key, shown in SHOWN.items():
        if not all(key in run for run in task["runs"]):
            continue
        share = float(key.rpartition("|")[2])
        labels = "none" if not share else f"{share:.0%}"
        cells = [cell([run[key][figure] for run in task["runs"]]) for figure in FIGURES]
        rows.append((shown, labels, *cells))
    header = ("what is learned from", "labels", "AUC", "accuracy", "ECE")
    return "\n".join(markdown_table(header, rows, n_words=2))


def _adaptation(where: str, task: Json) -> str:
    return (
        f"**Adapted: {where}.** {task['rows']['adapted']:,} rows whose columns are true and whose"
        f" pixels have changed; {SOURCES[where]}. What adapts is the norm layer of the network's"
        " last convolution and, where there is one, that of the head. Labels of the other half are"
        " learned at the same rate, in as many epochs. Accuracy, and in brackets AUC."
    )


def _adapted(found: list[Json]) -> str:
    conditions = list(found[0])
    rows = []
    for method, shown in ADAPTED.items():
        cells = []
        for condition in conditions:
            accuracy, auc = (
                [run[condition][method][figure] for run in found] for figure in ("accuracy", "auc")
            )
            cells.append(f"{cell(accuracy)} ({100 * np.mean(auc):.1f})")
        rows.append((shown, *cells))
    return "\n".join(markdown_table(("method", *conditions), rows))


def _refused(found: list[Json]) -> str:
    """How often `adapt` left the model as it was, by condition, and what it said."""
    told = []
    for condition in found[0]:
        kept = [run[condition]["rules"]["kept"] for run in found]
        told.append(f"{condition} {sum(not n for n in kept)} of {len(kept)}")
    said = Counter(run[condition]["rules"]["ending"] for run in found for condition in run)
    ending, n = said.most_common(1)[0]
    return (
        f"Seeds for which `adapt` left the source as it was: {', '.join(told)}. What it said most"
        f" often ({n} of {said.total()}): *{ending}*"
    )


def main() -> None:
    """Read the results and write the page's figures."""
    parser = argparse.ArgumentParser(description=f"Writes the figures of docs/{PAGE}.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "cross_modal.json")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    made = render(json.loads(given.results.read_text()))
    path = given.docs / PAGE
    path.write_text(put_between(path.read_text(), BEGIN, END, made))


if __name__ == "__main__":
    main()
