"""What a history costs: a day of a million rows and 300 rules, with a year of windows and without.

    python benchmarks/history_cost.py [--rows N] [--windows N] [--runs N] [--seed N] [-o FILE]

Whole commands in processes of their own, by turns, so that whatever else the machine does falls on
both alike. The windows before are the day's own check with its counts drawn anew.
"""

import argparse
import json
import resource
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqrl
from measure import HERE, LIBRARIES, Json, bar, describe_run, sqrl_command
from sqrl._history.record import CheckRecord, record_of
from sqrl._history.store import Store

RESULTS = HERE / "results" / "history_cost.json"
N_KINDS, N_NUMBERS = 10, 25
SCHEMA = {
    "let": {"K": "values(kind)", "A": [f"x{place}" for place in range(N_NUMBERS)]},
    "rules": [
        "kind = K => ? <= A <= ?",
        "? <= A <= ?",
        "? <= mean(A) <= ? over 512",
    ],
    "validate": {"epsilon": 1},
}
TODAY = date(2026, 11, 16)


def made_rows(n_rows: int, seed: int) -> pa.Table:
    """Rows of ten kinds with 25 numbers, which differ between kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, N_KINDS, n_rows)
    columns = {"kind": pa.array(np.array([f"k{k}" for k in range(N_KINDS)])[kind])}
    for place in range(N_NUMBERS):
        columns[f"x{place}"] = pa.array(rng.normal(kind * 0.2, 1.0).round(4))
    return pa.table(columns)


def drawn_anew(record: CheckRecord, at: str, seed: int) -> CheckRecord:
    """The window of another day: as many rows, other rows that break rules."""
    rng = np.random.default_rng(seed)
    share = record.broken / np.maximum(record.applicable, 1)
    broken = rng.binomial(record.applicable, share).astype(np.int64)
    evidence = tuple(
        (float(of), float(count)) if layout == "outcomes" else old
        for of, count, layout, old in zip(
            record.applicable, broken, record.layout, record.evidence, strict=True
        )
    )
    return replace(record, at=at, broken=broken, evidence=evidence, findings=(), finding_rules=())


def cpu_and_wall(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds of CPU and of the clock that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), datetime.now(UTC)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, (datetime.now(UTC) - start).total_seconds()


def prepare(folder: Path, n_rows: int, n_windows: int, seed: int) -> Json:
    """Rules, the day's rows, and a history of the days before; what there is of each."""
    train = sqrl.as_table(made_rows(20_000, seed))
    rules = sqrl.learn(train, SCHEMA)
    rules.save(folder / "rules.json")
    pq.write_table(made_rows(n_rows, seed + 1), folder / "day.parquet")
    first = record_of(
        sqrl.check(rules, sqrl.as_table(made_rows(100_000, seed + 2))), at=TODAY.isoformat()
    )
    store = Store(folder / "history")
    for back in range(1, n_windows + 1):
        store.put(drawn_anew(first, (TODAY - timedelta(back)).isoformat(), seed + back))
    n_bytes = sum(file.stat().st_size for file in (folder / "history").rglob("*.parquet"))
    return {"rules": len(rules), "rows": n_rows, "windows": n_windows, "history_bytes": n_bytes}


def measure(folder: Path, runs: int) -> Json:
    """Medians of both commands, and their ratio."""
    plain = [*sqrl_command(), "check", "rules.json", "day.parquet", "--quiet"]
    kept = [*plain, "--history", "history", "--at", TODAY.isoformat()]
    times: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    for _ in range(runs):
        for name, command in (("without", plain), ("with", kept)):
            times[name].append(cpu_and_wall(command, folder))
    made: Json = {}
    for place, kind in enumerate(("cpu", "wall")):
        seconds = {
            name: [round(one[place], 2) for one in measured] for name, measured in times.items()
        }
        middle = {name: median(values) for name, values in seconds.items()}
        made[kind] = {**seconds, "medians": middle, "ratio": middle["with"] / middle["without"]}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=365)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sizes = prepare(folder, given.rows, given.windows, given.seed)
        measured = measure(folder, given.runs)
    ratio = round(measured["cpu"]["ratio"], 3)
    result: Json = {
        **describe_run(LIBRARIES, given.seed),
        **sizes,
        **measured,
        "bars": [bar("a day with a history, beside one without", ratio, "times", at_most=1.2)],
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(sizes)
    for kind in ("cpu", "wall"):
        medians = measured[kind]["medians"]
        print(
            f"{kind:5} {medians['without']:6.2f} s without, {medians['with']:6.2f} s with: "
            f"{measured[kind]['ratio']:.2f} times"
        )


if __name__ == "__main__":
    main()
