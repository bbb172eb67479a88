"""What `sqrl learn` costs without any option, on a tall table and on a wide one.

    python benchmarks/default_costs.py [--quick] [--runs N] [--seed N] [-o FILE]

Each run is a process of its own, from a Parquet file to a rules file; its CPU time and peak of
memory are those that the system has counted. The first run is left out: kernels are compiled once.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measure import (
    HERE,
    Json,
    bar,
    describe_commit,
    describe_machine,
    describe_versions,
    sqrl_command,
)

RESULTS = HERE / "results" / "default_costs.json"
SHARE_OF_WORDS = 0.3  # of the columns
GROUP = 5  # columns that have something in common
QUICK_ROWS, QUICK_COLUMNS = 2_000, 20
WATCH = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss]))
sys.exit(status)
"""


@dataclass(frozen=True, slots=True)
class Size:
    """A table, and what learning from it may cost."""

    name: str
    n_rows: int
    n_columns: int
    most_seconds: float
    most_gib: float | None

    def bars(self, cpu: float, gib: float) -> list[Json]:
        """What was measured beside what is allowed.

        CPU time, since other work on the machine makes everything wait.
        """
        about = f"{self.n_rows:,} rows x {self.n_columns:,} columns"
        listed = [bar(about, round(cpu, 1), "s", at_most=self.most_seconds)]
        if self.most_gib is not None:
            listed.append(bar(f"{about}, peak", round(gib, 2), "GiB", at_most=self.most_gib))
        return listed


SIZES: tuple[Size, ...] = (
    Size("tall", 1_000_000, 30, 20.0, None),
    Size("wide", 10_000, 1_000, 60.0, 2.0),
)


def make_table(n_rows: int, n_columns: int, seed: int) -> pa.Table:
    """Numbers, some skewed, some whole, and words; of each five columns all go together."""
    rng = np.random.default_rng(seed)
    n_words = round(SHARE_OF_WORDS * n_columns)
    columns: dict[str, object] = {}
    for place in range(n_columns):
        if place % GROUP == 0:
            common = rng.normal(size=n_rows)
        values = 0.7 * common + 0.7 * rng.normal(size=n_rows)
        if place % n_columns < n_columns - n_words:
            columns[f"x{place}"] = _number(values, place % 3)
        else:
            words = np.array([f"w{code}" for code in range(4 + place % 9)])
            edges = np.linspace(-1.5, 1.5, len(words) - 1)
            codes = np.digitize(values, edges).astype(np.int32)
            columns[f"c{place}"] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
    return pa.table(columns)


def _number(values: np.ndarray, kind: int) -> np.ndarray:
    if kind == 0:
        return values
    return np.exp(values) if kind == 1 else (100 * values).round().astype(np.int64)


def run(command: list[str]) -> tuple[float, float, float]:
    """Seconds, CPU seconds and GiB at most of a command.

    A small process starts it and asks what it has used: a command that a large one starts would be
    counted with the memory of that one.
    """
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2000:]}")
    seconds, cpu, kib = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, kib / 2**20


def measure_size(size: Size, folder: Path, *, runs: int, seed: int) -> Json:
    """The costs of learning from a table, run by run and as medians."""
    table, rules = folder / f"{size.name}.parquet", folder / "rules.json"
    pq.write_table(make_table(size.n_rows, size.n_columns, seed), table)
    command = [*sqrl_command(), "learn", str(table), "-q", "-o", str(rules)]
    costs = [run(command) for _ in range(runs + 1)][1:]
    seconds, cpu, gib = (median(column) for column in zip(*costs, strict=True))
    return {
        "rows": size.n_rows,
        "columns": size.n_columns,
        "rules": len(json.loads(rules.read_text())["rules"]),
        "runs": [[round(value, 3) for value in one] for one in costs],
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_gib": round(gib, 3),
        "bars": size.bars(cpu, gib),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small tables, one run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    sizes = SIZES
    if given.quick:
        given.runs = 1
        sizes = tuple(Size(one.name, QUICK_ROWS, QUICK_COLUMNS, 20.0, 2.0) for one in SIZES)
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(("sqrl-rules", "numpy", "numba", "pyarrow")),
        "seed": given.seed,
        "load": round(os.getloadavg()[0], 1),
        "tables": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measured = measure_size(size, Path(folder), runs=given.runs, seed=given.seed)
            result["tables"][size.name] = measured
            print(f"{size.name}: {measured['seconds']} s", file=sys.stderr)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for name, one in result["tables"].items():
        costs = f"{one['seconds']} s, {one['cpu_seconds']} s of CPU, {one['peak_gib']} GiB"
        print(f"{name:6} {one['rows']:,} x {one['columns']:,}: {costs}, {one['rules']} rules")


if __name__ == "__main__":
    main()
