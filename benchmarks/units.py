"""Alarms where rows belong together: real tables, halved at random by unit, nothing changed.

    python benchmarks/units.py [--quick] [--data DIR] [-o benchmarks/results/units.json]

Rules are learned from half of the units with and without saying so, and the other half is checked
as it is, and with the boxes of cars (or heart rates of one unit's patients) a tenth larger. An
alarm is a rule broken beyond chance at 5 %. Without units far more clean halves alarm than 5 %;
what that power is worth is told by the threshold at which as few clean halves alarm as with units.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

import sqrl
from datasets import data_folder
from measure import Json, describe_run
from unit_tables import UnitTable, unit_tables

LEVEL = 0.05
MOST_UNITS = 1_200  # of a table: splits are many


def main() -> None:
    """Measure every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few splits")
    parser.add_argument("--data", type=Path, help="the folder of real tables")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--tables", nargs="+", help="words in the names of the tables")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    splits = 4 if arguments.quick else arguments.splits
    lines = []
    for table in unit_tables(data_folder(arguments.data)):
        if arguments.tables and not any(word in table.name for word in arguments.tables):
            continue
        lines.append(measure(table, splits))
        print(json.dumps(lines[-1]), file=sys.stderr)
        if arguments.output:
            _write(arguments.output, lines, splits)
    print(json.dumps(lines, indent=1))


def _write(path: Path, lines: list[Json], splits: int) -> None:
    result = {
        **describe_run(("sqrl-rules", "numpy", "scipy", "pandas"), seed=0),
        "level": LEVEL,
        "splits": splits,
        "tables": lines,
    }
    path.write_text(json.dumps(result, indent=1) + "\n")


def measure(table: UnitTable, splits: int) -> Json:
    """The least adjusted p-value of clean and of changed halves, with units and without."""
    codes, keys = table.rows.groupby(list(table.unit)).ngroup().to_numpy(), {}
    found: dict[tuple[str, str], list[float]] = {
        (way, what): [] for way in ("units", "rows") for what in ("clean", "changed")
    }
    n_units = int(codes.max()) + 1
    for split in range(splits):
        rng = np.random.default_rng(split)
        chosen = rng.permutation(n_units)[: min(n_units, MOST_UNITS)]
        half = chosen.size // 2
        train = table.rows[np.isin(codes, chosen[:half])]
        clean = table.rows[np.isin(codes, chosen[half:])]
        for way, unit in (("units", table.unit), ("rows", ())):
            try:
                rules = sqrl.learn(train, table.schema, unit=unit, seed=split)
            except sqrl.SqrlError as error:
                keys[type(error).__name__] = str(error).splitlines()[0]
                continue
            for what, rows in (("clean", clean), ("changed", table.changed(clean))):
                found[way, what].append(_least(sqrl.check(rules, rows, level=LEVEL).p_value))
    return _line(table, n_units, found, keys)


def _least(p: np.ndarray) -> float:
    """The least p-value adjusted by Benjamini and Hochberg."""
    known = np.sort(p[~np.isnan(p)])
    if not known.size:
        return 1.0
    return float((known * known.size / np.arange(1, known.size + 1)).min())


def _line(
    table: UnitTable, n_units: int, found: dict[tuple[str, str], list[float]], errors: Json
) -> Json:
    units, rows = (np.array(found[way, "clean"]) for way in ("units", "rows"))
    share = float((units <= LEVEL).mean()) if units.size else 0.0
    # The threshold at which rows raise as few false alarms as units do, and at least none.
    allowed = int(np.floor(share * rows.size))
    threshold = np.sort(rows)[allowed] if rows.size else 0.0
    changed = {way: np.array(found[way, "changed"]) for way in ("units", "rows")}
    return {
        "table": table.name,
        "rows": len(table.rows),
        "units": n_units,
        "splits": int(units.size),
        "clean_by_units": round(share, 4),
        "clean_by_rows": round(float((rows <= LEVEL).mean()), 4),
        "changed_by_units": round(float((changed["units"] <= LEVEL).mean()), 4),
        "changed_by_rows_at_the_same_level": round(float((changed["rows"] < threshold).mean()), 4),
        "errors": errors,
    }


if __name__ == "__main__":
    main()
