"""A credit model that treats one group otherwise than it did.

A bank's model says who will repay; what became of the loans is known only years later. The shares
that it approves in each region are learned from predictions made by cross-validation, so no new
labels are needed. After a deployment the service no longer knows who owns a home in the north, and
the check names the region.
"""

import sys

import numpy as np

import sqrl

try:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
except ImportError:
    sys.exit('This example needs scikit-learn: pip install "sqrl-rules[explain]"')

SCHEMA = {
    "label": "repaid",
    "let": {"G": "values(region)"},
    "rules": ["? <= precision(region = G => repaid = yes) <= ? over 500"],
}


def applicants(n_rows, seed):
    """Made-up applicants; those who own their home, and borrow little, repay more often."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "east", "south", "west"], n_rows)
    owner, share = rng.random(n_rows) < 0.4, rng.uniform(0.1, 0.9, n_rows)
    repaid = rng.random(n_rows) < 1 / (1 + np.exp(-(0.8 + 2 * owner - 4 * (share - 0.4))))
    return region, np.column_stack([owner, share]), np.where(repaid, "yes", "no")


model = LogisticRegression()
region, X, y = applicants(6000, seed=0)
known = {"region": region, "repaid": y, "predicted": cross_val_predict(model, X, y, cv=5)}
rules = sqrl.learn(known, SCHEMA, prediction="predicted")
print(*(rule.short_text for rule in rules), sep="\n")

model.fit(X, y)
region, X, _ = applicants(2000, seed=1)
broken = X.copy()
broken[region == "north", 0] = 0  # the join with the land register returns nothing
for name, inputs in {"before": X, "after": broken}.items():
    scored = {"region": region, "predicted": model.predict(inputs)}
    found = sqrl.check(rules, scored, prediction="predicted")
    print(f"{name} the deployment:", *found.findings() or ["nothing found"], sep="\n  ")

if len(sys.argv) > 1:  # a picture, if a file is named for it
    worst = int(found.worst(1)[0])
    axes = found.plot(worst)
    axes.figure.set_size_inches(6.4, 2.4)
    axes.figure.savefig(sys.argv[1], bbox_inches="tight")
