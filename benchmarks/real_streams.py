"""What alarms over real time: cardio's rows in file order, PhysioNet's patients and KITTI's drives.

    python benchmarks/real_streams.py [--data DIR] [-o benchmarks/results/real_streams.json]

Rules are learned from the first rows of a table, the rest is checked window by window, with at most
one false alarm a year promised for daily windows. The same windows in a shuffled order say what
the order has to do with it.
"""

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

import sqrl
from datasets import data_folder
from measure import Json, describe_run
from unit_tables import read_patients, unit_tables

FIRST_DAY = date(2026, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Rows to learn from, and the windows after them."""

    name: str
    learned: pd.DataFrame
    windows: list[pd.DataFrame]
    unit: tuple[str, ...] = ()


def main() -> None:
    """Watch every stream, in order and shuffled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of real tables")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = []
    for stream in streams(data_folder(arguments.data)):
        for seed in (None, 0, 1, 2):
            lines.append(watch(stream, seed))
            print(json.dumps(lines[-1]), file=sys.stderr)
    result = {
        **describe_run(("sqrl-rules", "numpy", "scipy", "pandas"), seed=0),
        "streams": lines,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def streams(folder: Path) -> Iterator[Stream]:
    """The streams whose data is there."""
    cardio = folder / "cardio" / "cardio_train.csv"
    if cardio.exists():
        rows = pd.read_csv(cardio, sep=";").drop(columns="id")
        yield _cut("cardio, rows in file order", rows, 20_000, 1_000)
    patients = folder / "physionet2012" / "set-a.tar.gz"
    if patients.exists():
        rows = read_patients(patients)
        yield _by_unit("PhysioNet, patients by record number", rows, "patient", 500, 25)
    for table in unit_tables(folder):
        if table.unit == ("seq", "frame"):
            name = "KITTI tracking, frames in order, the first six drives learned from"
            yield _drives(name, table.rows)


def _cut(name: str, rows: pd.DataFrame, n_learned: int, size: int) -> Stream:
    windows = [rows[first : first + size] for first in range(n_learned, len(rows) - size + 1, size)]
    return Stream(name, rows[:n_learned], windows)


def _by_unit(name: str, rows: pd.DataFrame, unit: str, n_learned: int, size: int) -> Stream:
    units = np.unique(rows[unit])
    learned = rows[rows[unit].isin(units[:n_learned])]
    rest = units[n_learned:]
    windows = [
        rows[rows[unit].isin(rest[first : first + size])]
        for first in range(0, rest.size - size + 1, size)
    ]
    return Stream(name, learned, windows, (unit,))


def _drives(name: str, rows: pd.DataFrame) -> Stream:
    """Frames of a second together are the unit; windows are ten seconds of a drive."""
    rows = rows.assign(second=rows["frame"] // 10)
    drives = np.unique(rows["seq"])
    learned = rows[rows["seq"].isin(drives[:6])].drop(columns="frame")
    rest = rows[rows["seq"].isin(drives[6:])]
    pieces = rest.groupby([rest["seq"], rest["frame"] // 100])
    windows = [piece.drop(columns="frame") for _, piece in pieces]
    return Stream(name, learned, windows, ("seq", "second"))


def watch(stream: Stream, seed: int | None) -> Json:
    """The alarms of one stream: in order, or with all rows (or units) shuffled."""
    learned, windows = stream.learned, stream.windows
    if seed is not None:
        learned, windows = _shuffled(stream, seed)
    rules = sqrl.learn(learned, unit=stream.unit or None)
    monitor = sqrl.Monitor(rules, false_alarms="1/year", every="day")
    alarms = []
    for day, rows in enumerate(windows):
        decided = monitor.update(rows, at=FIRST_DAY + timedelta(days=day))
        if decided.alarm is not None:
            alarms.append({"window": day + 1, "cause": decided.alarm.cause})
    return {
        "stream": stream.name,
        "order": "as it is" if seed is None else f"shuffled, seed {seed}",
        "rules": len(rules),
        "learned_rows": len(learned),
        "windows": len(windows),
        "alarms": alarms,
    }


def _shuffled(stream: Stream, seed: int) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """As many rows, or units, in each part, drawn at random from all."""
    rows = pd.concat([stream.learned, *stream.windows])
    rng = np.random.default_rng(seed)
    if stream.unit:
        code = rows.groupby(list(stream.unit)).ngroup().to_numpy()
        sizes = [
            part.groupby(list(stream.unit)).ngroups for part in (stream.learned, *stream.windows)
        ]
        order = rng.permutation(code.max() + 1)
        ends = np.cumsum([0, *sizes])
        parts = [rows[np.isin(code, order[begin:end])] for begin, end in itertools.pairwise(ends)]
        return parts[0], parts[1:]
    rows = rows.iloc[rng.permutation(len(rows))]
    ends = np.cumsum([len(stream.learned), *(len(window) for window in stream.windows)])
    return rows[: ends[0]], [rows[begin:end] for begin, end in itertools.pairwise(ends)]


if __name__ == "__main__":
    main()
