"""Counts conjunctions in this process, beside PyFIM, and prints the times; the job is on stdin.

A process of its own, because loops are compiled for the processor that its environment names.
"""

import json
import sys

import numpy as np

from contenders import eclat
from counts import compare_counts, free_bodies, our_counts
from measure import Json, alternate
from sqrl._kernels import body_counts, pack_table


def measure(job: Json) -> Json:
    """The time of packing and counting, of PyFIM with bit vectors, and whether counts agree."""
    table = np.load(job["table"])
    true, head = table["true"], table["head"]
    bodies, parts = free_bodies(len(true)), head.astype(np.int32)
    bits = eclat(true, head, "b")
    ours = our_counts(true, head, bodies)  # which compiles
    timed = alternate(
        {
            "sqrl": lambda: body_counts(bodies, pack_table(true, ~true, parts, n_parts=2)),
            "PyFIM": bits.run,
        },
        job["repetitions"],
    )
    return {
        "bodies": bodies.n,
        "timed": timed,
        "check": compare_counts(ours, bits.read(bits.run())),
    }


def main() -> None:
    """Do the job: `table`, `repetitions`."""
    print(json.dumps(measure(json.load(sys.stdin))))


if __name__ == "__main__":
    main()
