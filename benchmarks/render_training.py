"""Writes the tables of docs/training.md and docs/extract.md from results, and nothing else there.

python benchmarks/render_training.py [--results DIR] [--docs DIR]
"""

import argparse
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

from measure import HERE, Json, put_between
from sqrl_paper.results import show_spread

BEGIN, END = "<!-- begin: benchmarks/render_training.py -->", "<!-- end -->"
WIDTH = 125
SHOWN = {
    "labels alone": "labels alone",
    "default rules of all labels, weight 1": "+ 1 x RuleLoss, default rules of all labels",
    "default rules of all labels, weight 10": "+ 10 x RuleLoss, default rules of all labels",
    "logic rules of all labels, weight 1": "+ 1 x RuleLoss, logic rules of all labels",
    "logic rules of all labels, weight 10": "+ 10 x RuleLoss, logic rules of all labels",
    "default rules of the same few labels, weight 10": "+ 10 x RuleLoss, rules of the few labels",
    "logistic regression": "logistic regression, labels alone",
}


def training(result: Json) -> str:
    """Scores of training from few labels, by share of labels and method."""
    methods, settings = result["methods"], result["settings"]
    shares = list(dict.fromkeys(name.partition(":")[0] for name in methods))
    few, full = shares[:-1], shares[-1]
    counts = [round(float(one[:-1]) / 100 * settings["train_rows"]) for one in few]
    about = f"""A small network on the cardio table ({settings["train_rows"]:,} train rows), AUC and
        accuracy on the test rows in percent, mean and standard deviation of
        {len(result["seeds"])} seeds. A quarter of the labels at hand decides when to stop, with
        rules and without; all take {settings["n_steps"]} steps. Rules of all labels stand for a
        rules file from somebody who had them. {full} of the labels and no rules:
        {_cell(methods[f"{full}: labels alone"])}."""
    heads = [f"{one[:-1]} % ({count:,} labels)" for one, count in zip(few, counts, strict=True)]
    lines = [
        *textwrap.wrap(" ".join(about.split()), WIDTH),
        "",
        f"| AUC / accuracy | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(few)}",
    ]
    for name, title in SHOWN.items():
        cells = [_cell(methods.get(f"{one}: {name}")) for one in few]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(one: Json | None) -> str:
    if one is None:
        return "-"
    return " / ".join(show_spread(one[key], 1, factor=100) for key in ("auc", "accuracy"))


def sentences(result: Json) -> str:
    """In how many seeds each fault was found, without scores and with them."""
    runs = result["runs"]
    about = f"""{result["n_sentences"]:,} sentences of financial news with their sentiment
        (Financial PhraseBank, where all annotators agree), half to learn from and half to check,
        {len(runs)} seeds. Scores are how near a sentence is to
        {", ".join(result["phrases"])}, by {result["model"]}:
        {result["sentences_a_cpu_second"]:.0f} sentences a second of one processor. In how many
        seeds there is a finding:"""
    ways = list(runs[0])
    lines = [
        *textwrap.wrap(" ".join(about.split()), WIDTH),
        "",
        f"| fault | {' | '.join(ways)} | first finding with scores |",
        f"|---|{'---:|' * len(ways)}---|",
    ]
    for fault in runs[0][ways[0]]["faults"]:
        caught = [sum(bool(run[way]["faults"][fault]) for run in runs) for way in ways]
        told = [text for run in runs for text in run[ways[1]]["faults"][fault][:1]]
        first = f"*{told[0]}*".replace("|", "\\|") if told else "-"
        cells = " | ".join(f"{n} of {len(runs)}" for n in caught)
        lines.append(f"| {fault} | {cells} | {first} |")
    return "\n".join(lines)


def replaced(page: str, made: str) -> str:
    """The page with this between its marks."""
    return put_between(page, BEGIN, END, made)


PAGES: dict[str, tuple[str, Callable[[Json], str]]] = {
    "training.md": ("training_loops.json", training),
    "extract.md": ("extract.json", sentences),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    for name, (file, render) in PAGES.items():
        path = given.docs / name
        result = json.loads((given.results / file).read_text())
        path.write_text(replaced(path.read_text(), render(result)))


if __name__ == "__main__":
    main()
