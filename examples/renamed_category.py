"""A category that somebody renamed.

After a migration the plan that was called "pro" arrives as "Pro", and only from the web. No code
fails, and a report by plan is silently wrong. One line on the dataframe names the value, how
many rows have it and what it looks like; mended, the same check is clean.
"""

import sys

import numpy as np

try:
    import pandas as pd

    import sqrl.frames  # noqa: F401  (gives frames `df.sqrl`)
except ImportError:
    sys.exit('This example needs pandas: pip install "sqrl-rules[frames]"')


def customers(n_rows, seed):
    """Made-up customers of three plans."""
    rng = np.random.default_rng(seed)
    plan = rng.choice(["free", "plus", "pro"], n_rows, p=[0.6, 0.3, 0.1])
    price = pd.Series(plan).map({"free": 0, "plus": 9, "pro": 29})
    source = rng.choice(["app", "web", "shop"], n_rows)
    seats = rng.poisson(1 + price / 10) + 1
    return pd.DataFrame({"plan": plan, "source": source, "seats": seats, "paid": seats * price})


train, new = customers(4000, seed=0), customers(1500, seed=1)
is_renamed = (new["plan"] == "pro") & (new["source"] == "web")
new.loc[is_renamed, "plan"] = "Pro"

rules = train.sqrl.learn()
found = new.sqrl.check(rules)
for finding in found.findings():
    print(finding)
    print("  next:", finding.advice)

mended = new.replace({"plan": {"Pro": "pro"}})
print("mended:", *mended.sqrl.check(rules).findings() or ["nothing found"])

if len(sys.argv) > 1:  # a picture, if a file is named for it
    import matplotlib.pyplot as plt

    frames = {"training": train, "new": new, "mended": mended}
    shares = pd.DataFrame({name: one["plan"].value_counts(True) for name, one in frames.items()})
    shares.plot.barh(figsize=(6.4, 3), xlabel="share of rows", ylabel="plan")
    plt.savefig(sys.argv[1], bbox_inches="tight")
