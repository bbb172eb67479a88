"""Writes docs/train-results.md, docs/images/train.png and a table in README.md from train.json.

python benchmarks/render_train.py [--results FILE] [--others FILE] [--docs DIR] [--readme FILE]
"""

import argparse
import json
from pathlib import Path
from textwrap import fill

import numpy as np

from measure import HERE, Json, put_between
from sqrl_paper.bench import load_task
from sqrl_paper.table import markdown_table
from sqrl_paper.terminal import tell_aim
from sqrl_paper.train.pages import ADDITIVE, NETWORK, PRIVATE, SUPERVISED, cell, values

PAGE = "train-results.md"
BEGIN, END = "<!-- begin: benchmarks/render_train.py -->", "<!-- end: render_train -->"


OTHER_ROWS = {
    "supervised network, all labels": "supervised network",
    "logistic regression, all labels": "logistic regression",
    "boosted trees, all labels": "boosted trees",
    "rules, additive": "rules, additive",
    "rules, network": "rules, network",
    "rules without pairs, additive": "rules without pairs, additive",
    "private rules, epsilon = 1, additive": "private rules, additive",
}


def render(result: Json, others: Json | None) -> str:
    """The page; `others` are tables that nothing was built on."""
    task = load_task("train")
    sheets = ["\n".join(sheet.markdown()) for sheet in task.sheets(result)]
    aims = "\n".join(f"- {tell_aim(one)}" for one in result["aims"])
    return (
        "\n\n".join(
            [
                _opening(result),
                task.protocol(result),
                *sheets,
                f"**Aims**\n\n{aims}",
                *([] if others is None else [_others(others)]),
            ]
        )
        + "\n"
    )


def _others(result: Json) -> str:
    """Tables that had no part in how training by rules was built."""
    tables = result["tables"]

    def figures(name: str, method: str, key: str) -> list[float]:
        return [100 * run[method][key] for run in tables[name]["runs"]]

    def share(name: str, method: str) -> float:
        return of_supervised(tables[name], method)

    rows = [
        ["rows behind the rules", *(f"{one['behind']:,}" for one in tables.values())],
        [
            "rules (without pairs)",
            *(
                f"{np.mean([run['rules'] for run in one['runs']]):.0f}"
                f" ({np.mean([run['rules_without_pairs'] for run in one['runs']]):.0f})"
                for one in tables.values()
            ),
        ],
        *(
            [shown, *(cell(figures(n, key, "auc")) for n in tables)]
            for shown, key in OTHER_ROWS.items()
        ),
        *(
            [f"{method}, % of supervised", *(f"{share(n, method):.1f}" for n in tables)]
            for method in ("rules, additive", "rules, network", "private rules, additive")
        ),
        ["ECE of rules, additive", *(cell(figures(n, "rules, additive", "ece")) for n in tables)],
        [
            "what chance alone gives it",
            *(cell(figures(n, "rules, additive", "ece_by_chance")) for n in tables),
        ],
    ]
    looked = [name for name, one in tables.items() if one["looked_at"]]
    unseen = [name for name, one in tables.items() if not one["looked_at"]]
    worst = min(unseen, key=lambda name: share(name, "rules, additive"))
    commit, machine = result["commit"], result["machine"]
    about = (
        f"{', '.join(looked)} were looked at last of all. The label of one of them depends on"
        " columns that act together, which is why there are rules about pairs of facts: these"
        f" tables are no longer new. {', '.join(unseen)} had no part in any choice for"
        f" `RuleClassifier`: there it has {share(worst, 'rules, additive'):.1f} % of the"
        f" supervised AUC at worst ({worst}). For *rules, network* they are not new: a first"
        " measurement showed that rates in mini-batches made it worse (credit most), and `fit`"
        " leaves them out since, as another split confirmed. To measure anew, write the tables by"
        " `benchmarks/other_tables.py`, then run `python benchmarks/train_others.py`"
        f" ({(commit['id'] or 'none')[:12]}, {machine['processor']}, splits 40 to 42)."
    )
    table = "\n".join(markdown_table(["AUC", *tables], rows))
    return "\n\n".join(["## On tables that nothing was built on", fill(about, 100), table])


def _opening(result: Json) -> str:
    commit, machine = result["commit"], result["machine"]
    changes = " with changes" if commit["dirty"] else ""
    minutes = result["seconds"]["of_all_runs"] / 60
    return f"""# Training by rules: what was measured

Every figure here is written by `benchmarks/render_train.py`.
[What has changed since](measured.md). To measure anew, with `DIR` holding
the real tables ({minutes:.0f} minutes of one core):

```
sqrl bench train --data DIR -o benchmarks/results/train.json
python benchmarks/render_train.py
```

Measured: commit {(commit["id"] or "none")[:12]}{changes}, {machine["processor"]}."""


def of_supervised(table: Json, method: str) -> float:
    """The mean AUC of a method on a table of `train_others.py` in percent of the network's."""
    means = [
        np.mean([run[one]["auc"] for run in table["runs"]])
        for one in (method, "supervised network")
    ]
    return float(100 * means[0] / means[1])


def readme_table(result: Json, others: Json | None) -> str:
    """What rules give without a label beside labels, on the tables that have most rows."""
    names = [n for n in ("cardio", "physionet", "kitti", "phrasebank") if n in result["tables"]]
    rows = [
        ["network, all labels", SUPERVISED],
        ["**rules alone**, `RuleClassifier`", ADDITIVE],
        ["**rules alone**, `fit` of the network", NETWORK],
        ["rules under noise, epsilon = 1", PRIVATE],
        ["network, 5 % of labels", "supervised network|0.05"],
        ["network, 1 % of labels", "supervised network|0.01"],
    ]
    lines = []
    for shown, key in rows:
        cells = [f"{np.mean(values(result['tables'][name], key)):.1f}" for name in names]
        lines.append([shown, *cells])
    table = "\n".join(markdown_table(["AUC", *names], lines))
    if others is None:
        return table
    unseen = {name: one for name, one in others["tables"].items() if not one["looked_at"]}
    found = [of_supervised(one, "rules, additive") for one in unseen.values()]
    return (
        f"{table}\n\nOn {len(unseen)} tables that had no part in any choice ({', '.join(unseen)}),"
        f" `RuleClassifier` has\n{min(found):.1f} to {max(found):.1f} % of the network's AUC."
    )


def replaced(text: str, made: str) -> str:
    """A text with this between its marks."""
    return put_between(text, BEGIN, END, made)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what training by rules was measured to do.")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "train.json")
    parser.add_argument("--others", type=Path, default=HERE / "results" / "train_others.json")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    parser.add_argument("--readme", type=Path, default=HERE.parent / "README.md")
    parser.add_argument("--no-figure", action="store_true")
    options = parser.parse_args()
    result = json.loads(options.results.read_text())
    others = json.loads(options.others.read_text()) if options.others.exists() else None
    (options.docs / PAGE).write_text(render(result, others))
    table = readme_table(result, others)
    options.readme.write_text(replaced(options.readme.read_text(), table))
    if not options.no_figure:
        load_task("train").draw(result, options.docs / "images" / "train.png")


if __name__ == "__main__":
    main()
