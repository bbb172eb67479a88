"""Predictions that cannot be, moved to the nearest that can.

A model predicts how long repairs will take, and extrapolates: some take less than no time. Rules of
how long each kind of repair took in the past say which predictions are off, and `repair`
moves these, and no others, to the nearest value that keeps the rules. The truth is at hand here, so
the gain is measured and not assumed.
"""

import sys

import numpy as np

import sqrl

try:
    from sklearn.linear_model import LinearRegression
except ImportError:
    sys.exit('This example needs scikit-learn: pip install "sqrl-rules[explain]"')

SHAPES = {"let": {"K": "values(kind)"}, "rules": ["kind = K => ? <= hours <= ?"]}


def repairs(n_rows, seed, spread=1.0):
    """Made-up repairs: hours grow with the square of the damage; few are badly damaged."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["brakes", "engine", "paint"], n_rows)
    damage = rng.gamma(2, spread, n_rows)
    base = np.vectorize({"brakes": 1.0, "engine": 6.0, "paint": 3.0}.get)(kind)
    hours = base * (1 + 0.1 * damage**2) * rng.lognormal(0, 0.1, n_rows)
    inputs = np.column_stack([kind == "engine", kind == "paint", damage, damage**2])
    return {"kind": kind, "hours": hours}, inputs


past, X = repairs(3000, seed=0)
model = LinearRegression().fit(X[:300], past["hours"][:300])
rules = sqrl.learn(past, SHAPES)
print(*(rule.short_text for rule in rules), sep="\n")

new, X = repairs(1000, seed=1)
predicted = {"kind": new["kind"], "hours": model.predict(X)}
mended = sqrl.repair(rules, predicted, columns=["hours"])
print(mended)

after = np.array(mended.table["hours"])
has_changed = after != predicted["hours"]
for name, rows in {"all predictions": slice(None), "those that were moved": has_changed}.items():
    before = np.abs(predicted["hours"] - new["hours"])[rows].mean()
    now = np.abs(after - new["hours"])[rows].mean()
    print(f"{name}: mean error {before:.2f} hours, repaired {now:.2f}")

if len(sys.argv) > 1:  # a picture, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
    axes.scatter(predicted["hours"], new["hours"], s=6, c="#bbbbbb", label="predicted")
    axes.scatter(after[has_changed], new["hours"][has_changed], s=12, c="#c8452d", label="repaired")
    axes.axline((0, 0), slope=1, color="black", linewidth=1)
    axes.set(xlabel="predicted hours", ylabel="hours it took")
    axes.legend(frameon=False)
    plt.savefig(sys.argv[1])
