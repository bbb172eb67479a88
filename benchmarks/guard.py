"""Time of one row through `sqrl.guard`, beside a check of the same row.

    python benchmarks/guard.py [--rows N] [--rules N] [--seed N] [-o FILE]

Rules are learned from a table of people and about single rows; rows to come are as those that were
learned from, so that some break a rule or two and their sentences are made too.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import sqrl
from first_use import N_CHECKED, N_TRAIN, write_people
from measure import HERE, LIBRARIES, Json, bar, describe_run
from sqrl._data.formats import read_arrow

RESULTS = HERE / "results" / "guard.json"
SCHEMA = """
let:
  A: [age, years, hours, weight, gain, loss]
  B: [age, years, hours, weight, gain, loss]
  Y: values(income)
  J: values(job)
  S: values(role)
rules:
  - ? <= A <= ?
  - ? <= B <= ? by A/4
  - income = Y => ? <= A <= ?
  - income = Y => ? <= B <= ? by A/4
  - job = J => ? <= A <= ?
  - role = S => ? <= A <= ?
  - role = S => ? <= B <= ? by A/4
validate: false
"""
N_BY_CHECK = 20


def plain_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file as dicts of plain values, as a service gets them."""
    rows: list[dict[str, Any]] = read_arrow(path).to_pylist()
    return rows


def microseconds(call: Any, rows: list[dict[str, Any]]) -> list[float]:
    """How long each row takes."""
    taken = []
    for row in rows:
        start = time.perf_counter()
        call(row)
        taken.append(1e6 * (time.perf_counter() - start))
    return taken


def measure(n_rows: int, n_rules: int, seed: int) -> Json:
    """Times of all rows and of those that break something, and of checks of a few."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "train.csv", N_TRAIN, seed)
        write_people(folder / "new.csv", N_CHECKED, seed + 1)
        (folder / "schema.yaml").write_text(SCHEMA)
        rules = sqrl.learn(folder / "train.csv", str(folder / "schema.yaml"), seed=seed)
        rows = plain_rows(folder / "new.csv")[:n_rows]
    rules = rules[:n_rules]
    start = time.perf_counter()
    accept = sqrl.guard(rules)
    compiling = time.perf_counter() - start
    n_broken = [len(accept.broken(row)) for row in rows]
    taken = microseconds(accept, rows)
    few = rows[:N_BY_CHECK]
    by_check = microseconds(
        lambda row: sqrl.check(rules, {name: [value] for name, value in row.items()}), few
    )
    broken = [time for time, n in zip(taken, n_broken, strict=True) if n]
    return {
        "n_rules": len(rules),
        "n_left_out": accept.n_left_out,
        "n_rows": len(rows),
        "rows_that_break_a_rule": len(broken),
        "rules_broken_by_a_row": float(np.mean(n_broken)),
        "compile_ms": 1e3 * compiling,
        "microseconds": {
            "median": median(taken),
            "p95": float(np.percentile(taken, 95)),
            "p99": float(np.percentile(taken, 99)),
            "median_of_broken": median(broken) if broken else None,
        },
        "check_of_one_row_microseconds": median(by_check),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=N_CHECKED)
    parser.add_argument("--rules", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    measured = measure(given.rows, given.rules, given.seed)
    times = measured["microseconds"]
    result: Json = {
        **describe_run(LIBRARIES, given.seed),
        **measured,
        "bars": [bar("median of a row", times["median"] / 1e3, "ms", at_most=1.0)],
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{measured['n_rules']} rules, {measured['n_rows']} rows")
    print(f"median {times['median']:.0f} us, 99 % within {times['p99']:.0f} us")
    print(f"a check of one row {measured['check_of_one_row_microseconds']:.0f} us")


if __name__ == "__main__":
    main()
