"""A CSV file that drifted.

Every morning a shop gets a file of yesterday's parcels, and nobody ever wrote down what is normal.
sqrl learns it from a file of good days, and finds nothing wrong with Tuesday. On Wednesday one of
three depots weighs in pounds: the check says what has changed, and where to look for it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import sqrl

PRICES = {"home": 3.9, "europe": 8.9, "world": 15.9}


def parcels(n_rows, seed):
    """Made-up parcels: postage follows from the zone and the weight."""
    rng = np.random.default_rng(seed)
    zone = rng.choice(list(PRICES), n_rows, p=[0.6, 0.3, 0.1])
    weight = rng.gamma(3, 0.8, n_rows)
    postage = np.vectorize(PRICES.get)(zone) + 1.2 * weight + rng.normal(0, 0.2, n_rows)
    depot = rng.choice(["north", "south", "west"], n_rows)
    return {"depot": depot, "zone": zone, "weight": weight.round(2), "postage": postage.round(2)}


folder = Path(tempfile.mkdtemp())
wednesday = parcels(1000, seed=2)
wednesday["weight"][wednesday["depot"] == "west"] *= 2.205  # kilograms became pounds
days = {"good": parcels(5000, seed=0), "tuesday": parcels(1000, seed=1), "wednesday": wednesday}
for name, columns in days.items():
    pa.csv.write_csv(pa.table(columns), folder / f"{name}.csv")

rules = sqrl.learn(folder / "good.csv")
print(f"{len(rules)} rules, such as {rules[0].short_text}")

for day in ("tuesday", "wednesday"):
    found = sqrl.check(rules, folder / f"{day}.csv")
    print(f"{day}:", *found.findings() or ["nothing found"], sep="\n  ")

where = found.slices(most=1).to_pylist()[0]  # the condition under which most is broken
print(f"{where['share']:.0%} of rows with {where['condition']} break a rule", end=", ")
print(f"{where['share_outside']:.0%} of the others do")

if len(sys.argv) > 1:  # the report page, if a file is named for it
    sqrl.write_report(found, sys.argv[1], title="Parcels of Wednesday")
