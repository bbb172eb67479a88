"""Writes docs/units-results.md from units.json, unit_levels.json and real_streams.json.

python benchmarks/render_units.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json
from sqrl_paper.table import markdown_table

PAGE = "units-results.md"


def render(units: Json, levels: Json, streams: Json) -> str:
    """The page."""
    return "\n\n".join([_opening(units), _tables(units), _levels(levels), _streams(streams)]) + "\n"


def _code(result: Json) -> str:
    commit, machine = result["commit"], result["machine"]
    changes = " with changes" if commit["dirty"] else ""
    code = f"commit {(commit['id'] or 'none')[:12]}{changes}"
    return f"{code}, seed {result['seed']}, {machine['processor']}"


def _opening(units: Json) -> str:
    return f"""# Rows that belong together, and real time: what was measured

Every figure here is written by `benchmarks/render_units.py`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding
the real tables:

```
python benchmarks/units.py --data DIR -o benchmarks/results/units.json
python benchmarks/unit_levels.py -o benchmarks/results/unit_levels.json
python benchmarks/real_streams.py --data DIR -o benchmarks/results/real_streams.json
python benchmarks/render_units.py
```

## Alarms on real tables

Each table is halved at random by unit, {units["splits"]} times (of at most 1,200 units). Rules are
learned from one half, and the other is checked as it is, and with the boxes of cars (or the heart
rates of the patients of one ward) a tenth larger. An alarm is a rule broken beyond chance at
{units["level"]:.0%}: of clean halves about that share may raise one. Without units many more do;
what their power is worth is told at the threshold at which as few clean halves alarm as with units.
Measured: {_code(units)}."""


def _tables(units: Json) -> str:
    head = ["table", "rows", "units", "clean, by unit", "clean, by row", "a tenth larger, by unit"]
    rows = [
        [
            line["table"],
            f"{line['rows']:,}",
            f"{line['units']:,}",
            f"{line['clean_by_units']:.1%}",
            f"{line['clean_by_rows']:.1%}",
            f"{line['changed_by_units']:.1%}",
            f"{line['changed_by_rows_at_the_same_level']:.1%}",
        ]
        for line in units["tables"]
    ]
    return "\n".join(markdown_table([*head, "by row, at the same level"], rows))


def _levels(levels: Json) -> str:
    names = [f"{100 * level:g} %" for level in levels["levels"]]
    rows = [
        [
            line["units"],
            f"{line['old']:,}, {line['new']:,}",
            *(f"{value:g}" for value in line["by_unit"]),
            f"{line['by_row'][1]:.0f}",
        ]
        for line in levels["lines"]
    ]
    table = "\n".join(markdown_table(["units", "old, new", *names, "by row, 1 %"], rows))
    return f"""## The level of the test

How often p-values of made-up units, nothing changed, are at most a level, as a multiple of it; of
{levels["runs"]:,} pairs each. The last column is a test that takes rows to be drawn one by one.
Measured: {_code(levels)}.

{table}"""


def _streams(streams: Json) -> str:
    rows = [
        [
            line["stream"],
            line["order"],
            f"{line['rules']:,}",
            f"{line['windows']:,}",
            "; ".join(f"{alarm['window']}: {alarm['cause']}" for alarm in line["alarms"]) or "none",
        ]
        for line in streams["streams"]
    ]
    head = ["stream", "order", "rules", "windows", "alarms, by window"]
    table = "\n".join(markdown_table(head, rows, n_words=2))
    return f"""## Real time

Rules are learned from the first rows of a table and the rest is watched window by window, with at
most one false alarm a year of daily windows promised. Shuffled, the same rows (or units) come in no
order, and nothing should alarm. Measured: {_code(streams)}.

{table}"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    arguments = parser.parse_args()
    names = ("units", "unit_levels", "real_streams")
    found = [json.loads((arguments.results / f"{name}.json").read_text()) for name in names]
    (arguments.docs / PAGE).write_text(render(*found))


if __name__ == "__main__":
    main()
