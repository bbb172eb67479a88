"""CPU time of first and short commands, beside what importing numpy and pyarrow takes.

    python benchmarks/first_use.py [--data DIR] [--runs N] [--seed N] [-o FILE]

Commands run in processes of their own, one after the other and round by round, each beside the
measure, so that whatever else the machine does falls on all alike; medians are compared. Those with
an empty cache have a folder of their own for what numba compiles.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from os import environ
from pathlib import Path
from statistics import median

import numpy as np

from datasets import data_folder
from measure import HERE, LIBRARIES, Json, bar, describe_run, sqrl_command

RESULTS = HERE / "results" / "first_use.json"
MEASURE = [sys.executable, "-c", "import numpy, pyarrow.parquet"]
N_TRAIN, N_CHECKED, N_RULES = 30_000, 4_000, 100
CLASSES = ("low", "high")
SIZES = {
    "work": 8,
    "school": 16,
    "family": 7,
    "job": 14,
    "role": 6,
    "race": 5,
    "sex": 2,
    "land": 40,
}
MOST = {"learn, first": 10.0, "cardio, second": 5.0, "check, empty": 3.0, "check, full": 3.0}


def write_people(path: Path, n_rows: int, seed: int) -> None:
    """Six numbers, eight categories and a label that some of them tell."""
    rng = np.random.default_rng(seed)
    age, school = rng.integers(17, 90, n_rows), rng.integers(1, 17, n_rows)
    hours = np.clip(rng.normal(40, 12, n_rows).round(), 1, 99)
    score = 0.04 * (age - 40) + 0.3 * (school - 9) + 0.03 * (hours - 40) - 1
    columns = {"age": age, "years": school, "hours": hours.astype(int)}
    columns["weight"] = rng.integers(12_000, 900_000, n_rows)
    for name, share in (("gain", 0.1), ("loss", 0.05)):
        columns[name] = np.where(rng.random(n_rows) < share, rng.integers(100, 9999, n_rows), 0)
    for name, size in SIZES.items():
        names = np.array([f"{name}{code}" for code in range(size)])
        columns[name] = names[np.minimum(rng.geometric(2 / size, n_rows) - 1, size - 1)]
    columns["income"] = np.array(CLASSES)[(score + rng.logistic(size=n_rows) > 0).astype(int)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def cpu_seconds(command: Sequence[str], cache: Path) -> float:
    """User and system time of a command; its exit status may say that rules are broken."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"{command} failed: {done.stderr.strip()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def n_compiled(cache: Path) -> int:
    """How many kernels lie in a cache."""
    return len(list(cache.rglob("*.nbc")))


def prepare(folder: Path, data: Path, seed: int) -> dict[str, list[str]]:
    """The commands to measure, by name; their files are written."""
    train, checked, rules = folder / "train.csv", folder / "checked.csv", folder / "rules.json"
    write_people(train, N_TRAIN, seed)
    write_people(checked, N_CHECKED, seed + 1)
    sqrl = sqrl_command()
    learn = [*sqrl, "learn", str(train), "--label", "income", "-q", "-o"]
    subprocess.run([*learn, str(rules)], check=True, capture_output=True)
    content = json.loads(rules.read_text())
    content["rules"] = content["rules"][:N_RULES]
    rules.write_text(json.dumps(content))
    check = [*sqrl, "check", str(rules), str(checked)]
    works = {
        "check, empty": check,
        "check, full": check,
        "demo, first": [*sqrl, "demo", "--no-adapt"],
    }
    works |= {"learn, first": [*learn, str(folder / "first.json")]}
    cardio = data / "cardio" / "cardio_train.csv"
    if cardio.exists():
        out = str(folder / "cardio.json")
        works["cardio, second"] = [
            *sqrl,
            "learn",
            str(cardio),
            "--schema",
            "cardio",
            "-q",
            "-o",
            out,
        ]
    return works


def measure_commands(works: dict[str, list[str]], folder: Path, runs: int) -> Json:
    """CPU seconds of each command, and of the measure beside it, over several rounds."""
    full = folder / "full"
    for name in ("check, full", "cardio, second"):
        if name in works:
            cpu_seconds(works[name], full)
    seconds: dict[str, list[float]] = {name: [] for name in ("measure", *works)}
    compiled = dict.fromkeys(works, 0)
    for round_ in range(runs):
        for name, command in works.items():
            is_empty = name.endswith(("empty", "first"))
            cache = folder / f"{name}{round_}" if is_empty else full
            seconds["measure"].append(cpu_seconds(MEASURE, full))
            seconds[name].append(cpu_seconds(command, cache))
            compiled[name] = n_compiled(cache) if is_empty else 0
    medians = {name: median(values) for name, values in seconds.items()}
    return {
        "seconds": {name: [round(x, 3) for x in values] for name, values in seconds.items()},
        "medians": medians,
        "ratios": {name: medians[name] / medians["measure"] for name in works},
        "compiled": compiled,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        works = prepare(Path(folder), data_folder(given.data), given.seed)
        measured = measure_commands(works, Path(folder), given.runs)
    ratios, compiled = measured["ratios"], measured["compiled"]
    bars = [bar(n, round(ratios[n], 2), "times", at_most=MOST[n]) for n in MOST if n in ratios]
    bars.append(bar("kernels that the demo compiles", compiled["demo, first"], "", at_most=0))
    result: Json = {
        **describe_run(LIBRARIES, given.seed),
        "runs": given.runs,
        "writes_bytecode": not sys.dont_write_bytecode,
        **measured,
        "bars": bars,
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{'measure':16} {measured['medians']['measure']:6.2f} s of CPU")
    for name, ratio in ratios.items():
        most = f"at most {MOST[name]:g}" if name in MOST else f"{compiled[name]} compiled"
        print(f"{name:16} {measured['medians'][name]:6.2f} s {ratio:6.1f} times, {most}")


if __name__ == "__main__":
    main()
