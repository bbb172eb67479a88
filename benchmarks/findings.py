"""How many findings are false: simulated tables of which some columns have changed.

    python benchmarks/findings.py [--quick] [-o benchmarks/results/findings.json]

Columns are independent, or go together. Of each table rules are learned, then batches are drawn in
which none, some or half of the columns have changed (a number is shifted, a category has other
shares, values are missing or new). A finding is false where it names no column that has changed.
The mean share of false ones among the findings of a batch, none counting as 0, must not be above
the level.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator

import sqrl
from measure import Json, describe_run

N_NUMBERS, N_WORDS = 8, 4
NUMBERS = [f"x{place}" for place in range(N_NUMBERS)]
WORDS = [f"c{place}" for place in range(N_WORDS)]
CORRELATION = {"independent": 0.0, "dependent": 0.6}
CHANGED = (0, 2, 6)  # columns
LEVEL = 0.01
SCHEMA = {
    "let": {
        "A": NUMBERS,
        "B": NUMBERS[:2],
        "C": WORDS,
        "D": WORDS[:1],
        "V": f"values({WORDS[0]})",
        "X": [*NUMBERS, *WORDS],
    },
    "rules": [
        "known(X)",
        "C in ?",
        "? <= A <= ?",
        "distance(A/10) <= ? over 128",
        "distance(C) <= ? over 128",
        f"{WORDS[0]} = V => ? <= A <= ?",
        "distance(D given A/4) <= ? over 128",
        "distance(A/4 given B/4) <= ? over 128",
    ],
}
Columns = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--tables", type=int, default=51, help="of each dependence")
    parser.add_argument("--batches", type=int, default=10, help="of each table and number changed")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.tables = 2
    runs: list[Json] = []
    for seed in range(arguments.tables):
        for name in CORRELATION:
            runs += simulate(name, seed, batches=arguments.batches, n_rows=arguments.rows)
        print(f"{seed + 1} of {arguments.tables} tables", file=sys.stderr)
        if arguments.output:
            _write(arguments, runs)
    print(json.dumps(summary(runs), indent=1))


def _write(arguments: argparse.Namespace, runs: list[Json]) -> None:
    """What was found so far."""
    result = {
        **describe_run(("sqrl-rules", "numpy", "scipy"), seed=0),
        "level": LEVEL,
        "rows": arguments.rows,
        "summary": summary(runs),
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def simulate(name: str, seed: int, *, batches: int, n_rows: int) -> Iterator[Json]:
    """Every batch of one table: its findings, and how many are false."""
    rng = np.random.default_rng([seed, len(name)])
    rules = sqrl.learn(draw(3000, CORRELATION[name], rng), SCHEMA, seed=seed)
    for n_changed in CHANGED:
        for _ in range(batches):
            rows = draw(n_rows, CORRELATION[name], rng)
            changed = [str(one) for one in rng.choice([*rows], n_changed, replace=False)]
            for column in changed:
                rows[column] = change(rows[column], rng)
            findings = sqrl.check(rules, rows, level=LEVEL).findings()
            named = [set(finding.columns) for finding in findings]
            yield {
                "dependence": name,
                "changed": n_changed,
                "findings": len(findings),
                "false": sum(not columns & set(changed) for columns in named),
                "found": len(set(changed) & set().union(*named)),
            }


def draw(n_rows: int, correlation: float, rng: Generator) -> Columns:
    """Numbers, some of them skewed, and categories; what they have in common is one number."""
    common = np.sqrt(correlation) * rng.normal(size=(n_rows, 1))
    values = common + np.sqrt(1 - correlation) * rng.normal(size=(n_rows, N_NUMBERS + N_WORDS))
    rows = {name: values[:, place] for place, name in enumerate(NUMBERS)}
    for name in NUMBERS[::3]:
        rows[name] = np.exp(rows[name])
    letters = np.array(list("abcd"), object)
    for place, name in enumerate(WORDS):
        rows[name] = letters[np.digitize(values[:, N_NUMBERS + place], (-0.5, 0.3, 1.2))]
    return rows


def change(values: np.ndarray, rng: Generator) -> np.ndarray:
    """A column with one of a few faults."""
    values, kind = values.copy(), rng.integers(3)
    some = rng.random(values.size) < 0.15
    if values.dtype == object:
        values[some] = (None, "new", "a")[kind]
    elif kind == 0:
        values[some] = np.nan
    else:
        values += (0.0, 0.5, -0.5)[kind] * values.std()
    return values


def summary(runs: list[Json]) -> list[Json]:
    """The false discovery rate of each dependence and number of columns changed."""
    lines: list[Json] = []
    for name in CORRELATION:
        for n_changed in CHANGED:
            mine = [r for r in runs if (r["dependence"], r["changed"]) == (name, n_changed)]
            shares = np.array([r["false"] / max(r["findings"], 1) for r in mine])
            lines.append(
                {
                    "dependence": name,
                    "changed": n_changed,
                    "runs": len(mine),
                    "false_discovery_rate": round(float(shares.mean()), 5),
                    "standard_error": round(float(shares.std() / max(len(mine), 1) ** 0.5), 5),
                    "runs_with_a_false_one": int((shares > 0).sum()),
                    "columns_found": round(
                        sum(r["found"] for r in mine) / max(1, n_changed * len(mine)), 4
                    ),
                    "findings_a_run": round(float(np.mean([r["findings"] for r in mine])), 3),
                }
            )
    return lines


if __name__ == "__main__":
    main()
