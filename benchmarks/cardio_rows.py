"""Measures what Table 2 of cardio has beside the tuned methods, without the rest of that bench.

python benchmarks/cardio_rows.py --data DIR [-o FILE]

The setting of the authors' released code, thresholds and drawn labels, and the example of the
figure. A whole run of `sqrl bench cardio` has them too; `render_tasks.py` takes them from here.
"""

import argparse
from pathlib import Path

import msgspec

from measure import HERE
from sqrl.commands import Bar, write_atomically
from sqrl_paper.bench import run_bench


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description="Rows of Table 2 for cardio.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "cardio_rows.json")
    given = parser.parse_args()
    with Bar(quiet=False) as bar:
        found = run_bench(
            "cardio",
            folder=given.data,
            quick=given.quick,
            n_workers=given.workers,
            part="rows",
            track=bar,
        )
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    write_atomically(given.output, text + b"\n")


if __name__ == "__main__":
    main()
