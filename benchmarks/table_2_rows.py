"""Measures the rows of Table 2 that nothing is tuned for, without the rest of a task's bench.

python benchmarks/table_2_rows.py cardio --data DIR [-o FILE]
python benchmarks/table_2_rows.py imagenet-x --data DIR [-o FILE]

Of cardio the setting of the authors' released code, thresholds and drawn labels, and the example of
the figure; of imagenet-x all crops, in the setting of the released code. A whole run of
`sqrl bench TASK` has them too; `render_tasks.py` takes them from here.
"""

import argparse
from pathlib import Path

import msgspec

from measure import HERE
from sqrl.commands import Bar, write_atomically
from sqrl_paper.bench import run_bench

FILES = {"cardio": "cardio_rows.json", "imagenet-x": "imagenet_x_rows.json"}


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description="Rows of Table 2 that nothing is tuned for.")
    parser.add_argument("task", choices=FILES)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="*", default=(0, 1, 2))
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    with Bar(quiet=False) as bar:
        found = run_bench(
            given.task,
            folder=given.data,
            quick=given.quick,
            seeds=given.seeds,
            n_workers=given.workers,
            part="rows",
            track=bar,
        )
    text = msgspec.json.format(msgspec.json.encode(found), indent=1)
    write_atomically(given.output or HERE / "results" / FILES[given.task], text + b"\n")


if __name__ == "__main__":
    main()
