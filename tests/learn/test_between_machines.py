"""Rules and counts are the same bits with other instructions of the processor."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import made_scans
import sqrl

# `exp` and `log` are promised to rounding only; these rules speak of neither.
SCHEMAS = [
    made_scans.schema("kind = Y => ? <= a - b <= ?", "? <= c <= ? by b/4"),
    made_scans.schema("kind = Y => ? <= mean(a) <= ? over 8", "? <= std(c) <= ? over 5"),
    made_scans.schema("? <= f1(M{1..2} => kind = Y) <= ? over 8"),
    made_scans.schema("distance(b/8) <= ? over 8", "distance(c/16) <= ? over 8", unit="image"),
]


def _of_images(table):
    """The table with a unit of a few rows each."""
    return table.append_column("image", [[row // 4 for row in range(table.num_rows)]])


def digest():
    """What is learned from one table, and how often another one breaks it."""
    train, other = (_of_images(made_scans.made_table(*given)) for given in ((1, 600), (2, 300)))
    found = []
    for schema in SCHEMAS:
        rules = sqrl.learn(train, schema, keep="all")
        checked = sqrl.check(rules, other)
        found.append((made_scans.bits(rules), checked.applicable.tolist(), checked.broken.tolist()))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def test_rules_and_counts_do_not_depend_on_numpys_instructions():
    """What `docs/decisions/0015` promises between machines."""
    from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched

    here = Path(__file__)
    places = (here.parent, here.parents[1] / "helpers", Path(sqrl.__file__).parents[1])
    plain = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched),
        "PYTHONPATH": os.pathsep.join(map(str, places)),
    }
    done = subprocess.run(
        [sys.executable, "-c", f"import {here.stem} as here; print(here.digest())"],
        env=os.environ | plain,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == digest()
