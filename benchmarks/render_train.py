"""Writes docs/train-results.md, docs/images/train.png and a table in README.md from train.json.

python benchmarks/render_train.py [--results FILE] [--docs DIR] [--readme FILE]
"""

import argparse
import json
from pathlib import Path

import numpy as np

from measure import HERE, Json, put_between
from sqrl_paper.bench import load_task
from sqrl_paper.table import markdown_table
from sqrl_paper.terminal import tell_aim
from sqrl_paper.train.pages import ADDITIVE, NETWORK, PRIVATE, SUPERVISED, values

PAGE = "train-results.md"
BEGIN, END = "<!-- begin: benchmarks/render_train.py -->", "<!-- end: render_train -->"


def render(result: Json) -> str:
    """The page."""
    task = load_task("train")
    sheets = ["\n".join(sheet.markdown()) for sheet in task.sheets(result)]
    aims = "\n".join(f"- {tell_aim(one)}" for one in result["aims"])
    return (
        "\n\n".join([_opening(result), task.protocol(result), *sheets, f"**Aims**\n\n{aims}"])
        + "\n"
    )


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


def readme_table(result: Json) -> str:
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
    return "\n".join(markdown_table(["AUC", *names], lines))


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
        load_task("train").draw(result, options.docs / "images" / "train.png")


if __name__ == "__main__":
    main()
