"""Measures what rules that hold from drive to drive are worth, without the rest of the bench.

python benchmarks/detection_rows.py --data DIR [--rules-alone] [-o FILE]

Rules about boxes that the drives of KITTI's tracking labels show to hold. With --rules-alone no
model is trained: what true boxes break of the rules, and no method that follows them. A whole run
of `sqrl bench detection` has them too; `render_tasks.py` takes them from here.
"""

import argparse
from pathlib import Path

import msgspec

from measure import HERE
from sqrl.commands import Bar, write_atomically
from sqrl_paper.bench import run_bench


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description="Rows of other rules for detection.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rules-alone", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    default = HERE / "results" / "detection_rows.json"
    parser.add_argument("-o", "--output", type=Path, default=default)
    given = parser.parse_args()
    with Bar(quiet=False) as bar:
        found = run_bench(
            "detection",
            folder=given.data,
            quick=given.quick,
            n_workers=given.workers,
            part="rules_alone" if given.rules_alone else "rows",
            track=bar,
        )
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    write_atomically(given.output, text + b"\n")


if __name__ == "__main__":
    main()
