"""Writes docs/time-results.md from the results of order_examples.py.

python benchmarks/render_order.py [--results DIR] [--docs DIR]
"""

import argparse
import json
from pathlib import Path

from measure import HERE, Json

OPENING = """\
# What rules about rows before find

Every figure here is written by `benchmarks/render_order.py` from
`benchmarks/results/order_examples.json`.
[What has changed since](measured.md).
To measure anew, with `DIR` holding the data:

```
python benchmarks/order_examples.py --data DIR
python benchmarks/render_order.py
```

What `delta`, `lag` and the others are: [time and order](time.md). Faults are planted in rows that
rules were not learned from; a person would point at the rows counted as *changed*, of a swap the
first of each entity after it."""
KITTI = """\
## KITTI tracking

Eleven drives, with `order: frame`, entity and unit `[seq, track]`. `step` is how far a box moves in
widths of its own, `growth` how much higher it gets. Some of the {n_rules} rules learned from half
of the tracks ({train_rows:,} boxes):

{rules}

The other tracks ({test_rows:,} boxes), as they are and with faults:

{faults}

Boxes of a track are alike, so tracks are the unit; unchanged ones break {clean} rules beyond
chance.
Tracks of drives that no rule was learned from break {other} of {of}: drives differ, too, and eleven
are too few to compare. What lies beyond all that was seen is worth a look all the same."""
PHYSIONET = """\
## PhysioNet 2012

A row for each minute at which a heart rate was noted; `order: minute`, the patient entity and unit.
The {n_rules} rules learned from {train_rows:,} rows, of three quarters of the patients, in
{learn_seconds:.1f} s, but for distances:

{rules}

The other patients ({test_rows:,} rows), as they are and with faults:

{faults}

A sensor that freezes breaks no interval, for every value of it is usual; that so many moves are
zero is not. Patients that were swapped make unusual moves, one each: too few among all rows to be
told from chance."""
HEAD = (
    "| fault | changed rows | of them outside usual moves | of them beyond all seen "
    "| rules beyond chance | first findings |"
)


def render(result: Json) -> str:
    """The page."""
    one, other, patients = (result[name] for name in ("kitti", "other_drives", "physionet"))
    drives = {"clean": one["clean"]["significant"], "other": other["significant"]}
    parts = [
        OPENING,
        KITTI.format(**_filled(one), **drives, of=other["n_rules"]),
        PHYSIONET.format(**_filled(patients)),
        f"Measured on {result['date'][:10]} with seed {result['seed']}.",
    ]
    return "\n\n".join(parts) + "\n"


def _filled(one: Json) -> Json:
    plain = {key: one[key] for key in ("n_rules", "train_rows", "test_rows", "learn_seconds")}
    rules = "\n".join(["```", *one["rules"], "```"])
    return plain | {"rules": rules, "faults": "\n".join(_faults(one))}


def _faults(one: Json) -> list[str]:
    lines = [HEAD, "|---|--:|--:|--:|--:|---|"]
    for name, found in {"none": one["clean"], **one["faults"]}.items():
        is_clean = name == "none"
        marked = found["rows"] if is_clean else found["marked"]
        shares = [found[f"marked_{key}"] for key in ("outside_usual", "beyond_all_seen")]
        cells = [f"{count:,} ({count / max(marked, 1):.1%})" for count in shares]
        told = "; ".join(f"*{text}*" for text in found["findings"][:2]) or "none"
        changed = f"0 of {found['rows']:,}" if is_clean else f"{marked:,}"
        rest = [f"{cell} of all" if is_clean else cell for cell in cells]
        lines.append(
            f"| {name} | {changed} | {rest[0]} | {rest[1]} | {found['significant']} | {told} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    given = parser.parse_args()
    result = json.loads((given.results / "order_examples.json").read_text())
    (given.docs / "time-results.md").write_text(render(result))


if __name__ == "__main__":
    main()
