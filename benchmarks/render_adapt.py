"""Writes docs/adapt-results.md from the results of adapt.py and harm.py.

python benchmarks/render_adapt.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from measure import HERE, Json
from render_harm import FILE as HARM_FILE
from render_harm import LOOKED_FILE, OTHER_FILE, UNSEEN_FILE, render_harm
from sqrl_paper.table import markdown_table

FILE = "adapt.json"
PAGE = "adapt-results.md"
OPENING = """\
# What adaptation gains, harms and costs

Every figure here is written by `benchmarks/render_adapt.py` from `harm.json` and `adapt.json` in
`benchmarks/results`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding the data:

```
python benchmarks/harm.py --data DIR
python benchmarks/adapt.py --data DIR
python benchmarks/render_adapt.py
```

What adaptation recovers is told [task by task](tasks.md)."""


def render(speed: Json, harms: Sequence[Json | None]) -> str:
    """The page; without a part where that was not measured.

    `harms` are those of the first seed, another seed, tables looked at last, and tables unseen.
    """
    harm = harms[0]
    quick = ["**A quick run on small sizes: its figures say nothing.**"]
    parts = [
        OPENING,
        *(quick if speed["quick"] else []),
        *([] if harm is None else [render_harm(harm, *harms[1:])]),
        _bars(speed),
        _step(speed["sections"]["step"]),
        _loop(speed["sections"]["loop"]),
        _growth(speed["sections"]["growth"], speed["sections"]["detection"]),
        _memory(speed["sections"]["memory"]),
        _source(FILE, speed),
    ]
    return "\n\n".join(parts) + "\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(markdown_table(header, rows))


def _bars(speed: Json) -> str:
    sections = speed["sections"].values()
    bars = [one for section in sections for one in section.get("bars", [])]
    rows = []
    for one in bars:
        sign, limit = (
            ("≤", one["at_most"]) if one["at_most"] is not None else ("≥", one["at_least"])
        )
        met = "yes" if one["met"] else "**no**"
        rows.append([one["what"], f"{sign} {limit:g} {one['unit']}", f"{one['measured']:.3g}", met])
    return "## What the rule loss costs\n\n" + _table(["", "promised", "measured", "met"], rows)


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
        f"{_table(header, rows)}"
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
    return f"## How the loss grows\n\n{_table(header, rows)}"


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
        f"beyond what it held before.\n\n{_table(header, rows)}"
    )


def _source(name: str, result: Json) -> str:
    machine, commit, versions = result["machine"], result["commit"], result["versions"]
    changed = " with changes" if commit["dirty"] else ""
    return (
        f"- `{name}`: {result['date'][:10]}, commit {str(commit['id'])[:12]}{changed}, "
        f"{machine['processor']}, {machine['cores']} cores, {machine['torch_threads']} thread; "
        f"torch {versions['torch']}, data: "
        + ", ".join(f"{what} {how}" for what, how in result["data"].items())
    )


def main() -> None:
    """Read the results and write the page."""
    parser = argparse.ArgumentParser(description=f"Writes docs/{PAGE}.")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    speed = json.loads((given.results / FILE).read_text())
    paths = [given.results / name for name in (HARM_FILE, OTHER_FILE, LOOKED_FILE, UNSEEN_FILE)]
    harms = [json.loads(path.read_text()) if path.exists() else None for path in paths]
    (given.docs / PAGE).write_text(render(speed, harms))


if __name__ == "__main__":
    main()
