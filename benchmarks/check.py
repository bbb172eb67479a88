"""Measures checking beside the same predicates in DuckDB and in pandas, and writes it as JSON.

    python benchmarks/check.py [--data DIR] [--quick] [-o FILE]

Interval rules: the 252 rules of the detection schema over a million boxes. Logic rules: the 400
best rules of the cardio schema over 67 mini-batches of 4,096 rows. The data is looked for in
`--data`, `$SQRL_DATA` or `./data`; where it is absent, data of the same shape is made up, and the
JSON says so.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import sqrl
from boxes import boxes_like, read_boxes
from datasets import data_folder, read_cardio
from measure import (
    HERE,
    LIBRARIES,
    Json,
    Settings,
    alternate,
    bar,
    describe_commit,
    describe_machine,
    describe_versions,
    settings,
)
from predicates import batch_counts, sql_of_interval, sql_of_logic
from sqrl._check.mini_batches import make_batches, measure_batches
from sqrl._data.table import CHUNK_ROWS

RESULTS = HERE / "results" / "check.json"


def measure_intervals(folder: Path, chosen: Settings) -> Json:
    """252 interval rules over a million boxes: ours, DuckDB, pandas, counts compared."""
    boxes, real = read_boxes(folder, seed=chosen.seed)
    rules = sqrl.learn(boxes, "detection")
    columns = boxes_like(boxes, 20_000 if chosen.quick else 1_000_000, seed=chosen.seed)
    table = sqrl.as_table(columns)
    frame = pd.DataFrame(columns)
    base = duckdb.connect()
    base.execute("CREATE TABLE boxes AS SELECT * FROM frame")
    forms = [rules.form(index) for index in range(len(rules))]
    statistics = rules.schema.statistics if rules.schema else {}
    quoted = {name: re.sub(r"[a-z_]+", r'"\g<0>"', text) for name, text in statistics.items()}
    derived = ", ".join(f'{text} AS "{name}"' for name, text in quoted.items())
    sums = ", ".join(sql_of_interval(form, index) for index, form in enumerate(forms))
    query = f"SELECT {sums} FROM (SELECT *, {derived} FROM boxes)"

    found = sqrl.check(rules, table)  # also compiles
    theirs = np.array(base.execute(query).fetchone(), dtype=np.int64).reshape(-1, 2)
    assert (theirs[:, 0] == found.applicable).all()
    assert (theirs[:, 1] == found.broken).all()
    works = {
        "sqrl": lambda: sqrl.check(rules, table),
        "duckdb": lambda: base.execute(query).fetchone(),
    }
    times = alternate(works, chosen.few)
    times |= alternate({"pandas": lambda: _pandas_intervals(frame, forms, statistics)}, chosen.few)
    return _compared("252 interval rules", len(rules), len(frame), real, times)


def _pandas_intervals(frame: pd.DataFrame, forms: Sequence[Any], statistics: dict[str, str]) -> int:
    """The same counts with a mask for each rule and piece."""
    frame = frame.copy()
    for name, text in statistics.items():
        frame[name] = frame.eval(text)
    broken = 0
    for form in forms:
        kind = form.given[0].right.text
        left = (frame["type"] == kind) & frame[form.subject.name].notna()
        values = frame[form.subject.name]
        for piece in form.pieces:
            here = left
            if piece.test is not None:
                here = left & (frame[piece.test.left.name] <= piece.test.right.value)
                left = left & ~here
            outside = (values < piece.lower.value) | (values > piece.upper.value)
            broken += int((here & outside).sum())
    return broken


def measure_logic(folder: Path, chosen: Settings, scratch: Path) -> Json:
    """400 logic rules over 67 mini-batches of 4,096 rows: ours, DuckDB, pandas on a sample."""
    cardio = read_cardio(folder, scratch, quick=chosen.quick, seed=chosen.seed)
    table = sqrl.read_table(cardio.path)
    size, n_batches = (256, 5) if chosen.quick else (4096, 67)
    schema = {
        "label": "cardio",
        "let": {
            "Y": "values(cardio)",
            "L": "literals(age/8, height/8, weight/8, ap_hi/8, ap_lo/8, cholesterol, gluc, smoke)",
        },
        "rules": [f"? <= f1(L{{1..3}} => cardio = Y) <= ? over {size}"],
        "select": {"top": 200, "per": "Y"},
    }
    rules = sqrl.learn(table, schema)
    forms = [rules.form(index) for index in range(len(rules))]
    batches = make_batches(table.n_rows, size, n_batches, seed=chosen.seed, where="")
    drawn = pd.DataFrame({name: table[name].values[batches.ravel()] for name in table.names})
    drawn["batch"] = np.repeat(np.arange(n_batches), size)
    base = duckdb.connect()
    base.execute("CREATE TABLE drawn AS SELECT * FROM drawn")
    sums = ", ".join(sql_of_logic(form, index) for index, form in enumerate(forms))
    query = f"SELECT {sums} FROM drawn GROUP BY batch ORDER BY batch"

    found = sqrl.check(rules, table, batches=n_batches, seed=chosen.seed)
    counts = np.array(base.execute(query).fetchall(), np.float64).reshape(n_batches, -1, 3)
    values = 2 * counts[..., 2] / (counts[..., 0] + counts[..., 1])
    ours = np.stack([found.batch_values[index] for index in range(len(rules))], axis=1)
    np.testing.assert_allclose(values, ours)
    works = {
        "sqrl": lambda: measure_batches(forms, table, {}, batches, at_once=CHUNK_ROWS),
        "whole check": lambda: sqrl.check(rules, table, batches=n_batches, seed=chosen.seed),
        "duckdb": lambda: base.execute(query).fetchall(),
    }
    times = alternate(works, chosen.few)
    some = forms[:: max(1, len(forms) // 20)]
    sample = alternate({"pandas": lambda: [batch_counts(form, drawn) for form in some]}, chosen.few)
    scale = len(forms) / len(some)
    scaled = [seconds * scale for seconds in sample["pandas"]["seconds"]]
    times["pandas"] = {"seconds": scaled, "min": min(scaled), "median": scaled[0]}
    made = _compared("400 logic rules", len(rules), n_batches * size, cardio.is_real, times)
    return made | {"pandas_sample": len(some), "mini_batches": n_batches}


def _compared(what: str, n_rules: int, n_rows: int, real: bool, times: dict[str, Json]) -> Json:
    ratios = {name: times[name]["min"] / times["sqrl"]["min"] for name in ("duckdb", "pandas")}
    return {
        "what": what,
        "rules": n_rules,
        "rows": n_rows,
        "real": real,
        "times": times,
        "ratios": ratios,
        "bars": [
            bar(f"{what}: times as fast as DuckDB", ratios["duckdb"], "x", at_least=1.0),
            bar(f"{what}: times as fast as pandas", ratios["pandas"], "x", at_least=20.0),
        ],
    }


def measure_memory(folder: Path, chosen: Settings) -> Json:
    """Peak memory of checking 252 rules over 1 and over 10 million boxes, each in a new process."""
    found = {}
    for n_rows in (10_000, 20_000) if chosen.quick else (1_000_000, 10_000_000):
        job = json.dumps({"folder": str(folder), "rows": n_rows, "seed": chosen.seed})
        done = subprocess.run(
            [sys.executable, HERE / "check_child.py"],
            input=job,
            capture_output=True,
            text=True,
            check=True,
        )
        found[str(n_rows)] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="Measures checking.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    chosen = settings(quick=given.quick)
    folder = data_folder(given.data)
    with tempfile.TemporaryDirectory() as scratch:
        result: Json = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": describe_commit(),
            "machine": describe_machine(),
            "versions": describe_versions(LIBRARIES) | {"duckdb": duckdb.__version__},
            "seed": chosen.seed,
            "quick": chosen.quick,
            "sections": {
                "intervals": measure_intervals(folder, chosen),
                "logic": measure_logic(folder, chosen, Path(scratch)),
                "memory": measure_memory(folder, chosen),
            },
        }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    for section in ("intervals", "logic"):
        for one in result["sections"][section]["bars"]:
            print(f"{one['what']}: {one['measured']} ({'met' if one['met'] else 'NOT met'})")
    print(json.dumps(result["sections"]["memory"]))


if __name__ == "__main__":
    main()
