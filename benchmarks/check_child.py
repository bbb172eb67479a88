"""Checks the detection rules on many boxes in this process, and prints time and peak memory."""

import json
import sys
import time
from pathlib import Path

import sqrl
from boxes import boxes_like, read_boxes
from child import memory, peak_memory


def main() -> None:
    """Do the job: `folder`, `rows`, `seed`."""
    job = json.load(sys.stdin)
    boxes, _ = read_boxes(Path(job["folder"]), seed=job["seed"])
    rules = sqrl.learn(boxes, "detection")
    sqrl.check(rules, boxes)  # compiles
    table = sqrl.as_table(boxes_like(boxes, job["rows"], seed=job["seed"]))
    before = memory()
    start = time.perf_counter()
    found = sqrl.check(rules, table)
    print(
        json.dumps(
            {
                "seconds": round(time.perf_counter() - start, 3),
                "table_and_program": before,
                "peak": peak_memory(),
                "violations": found.total,
            }
        )
    )


if __name__ == "__main__":
    main()
