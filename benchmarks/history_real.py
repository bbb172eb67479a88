"""Alarms of windows of real rows: in file order, and shuffled, where all of them are false.

python benchmarks/history_real.py --data DIR
"""

import argparse
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from datasets import Columns, data_folder
from measure import HERE, LIBRARIES, Json, describe_commit, describe_machine, describe_versions
from real_checks import read_cardio
from sqrl import check, learn
from sqrl._history.detector import replay
from sqrl._history.promise import Promise
from sqrl._history.record import CheckRecord, record_of

RESULTS = HERE / "results" / "history_real.json"
LEARNED, A_WINDOW, N_WINDOWS = 10_000, 400, 150
PROMISES = ("1/year", "1/month", "1/week")


def rows_of(table: Columns, first: int, n_rows: int) -> Columns:
    """Some of the rows, one after the other."""
    return {name: values[first : first + n_rows] for name, values in table.items()}


def records_of(table: Columns, seed: int) -> list[CheckRecord]:
    """Default rules of the first rows, and checks of the windows after them."""
    rules = learn(rows_of(table, 0, LEARNED), label="cardio", seed=seed)
    records = []
    for number in range(N_WINDOWS):
        found = check(rules, rows_of(table, LEARNED + A_WINDOW * number, A_WINDOW))
        day = date(2026, 1, 1) + timedelta(days=number)
        records.append(record_of(found, at=day.isoformat()))
    return records


def alarms(orders: list[Columns]) -> Json:
    """For each promise the alarms in all windows, and how many false ones it allows."""
    found = [records_of(table, seed) for seed, table in enumerate(orders)]
    n_windows, result = sum(map(len, found)), {}
    for text in PROMISES:
        promise = Promise(false_alarms=text, every="day")
        raised = [alarm for one in found for alarm in replay(one, promise).alarms]
        allowed = n_windows / promise.n_checks
        result[text] = {"alarms": len(raised), "allowed": allowed}
    return {
        "windows": n_windows,
        "rules": [len(one[0].ids) for one in found],
        "promises": result,
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Alarms of windows of real rows.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    table = read_cardio(data_folder(given.data))
    n_rows = len(table["cardio"])
    orders = [np.random.default_rng(seed).permutation(n_rows) for seed in range(given.shuffles)]
    shuffled = [{name: values[order] for name, values in table.items()} for order in orders]
    result: Json = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(LIBRARIES),
        "a_window": A_WINDOW,
        "cardio, rows shuffled": alarms(shuffled),
        "cardio, rows in file order": alarms([table]),
    }
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({name: one for name, one in result.items() if name.startswith("cardio")}))


if __name__ == "__main__":
    main()
