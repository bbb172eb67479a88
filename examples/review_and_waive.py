"""Rules that somebody owns.

A ward has new thermometers that read half a degree too high; everybody knows, and they will be set
right by the end of the year. The rules of that column are waived until then, with who and why, and
the check is quiet; rules that were never meant are rejected. On the day after, the thermometers
still being wrong, the finding is back.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import sqrl


def patients(n_rows, seed, warmer=0.0):
    """Made-up patients of a ward; a fever comes with a quicker pulse."""
    rng = np.random.default_rng(seed)
    temperature = 36.8 + rng.gamma(1.5, 0.4, n_rows)
    return {
        "age": rng.integers(18, 95, n_rows),
        "temperature": (temperature + warmer).round(1),
        "pulse": rng.normal(70 + 8 * (temperature - 36.8), 8).round(),
    }


rules = sqrl.learn(patients(4000, seed=0))
new = patients(1000, seed=1, warmer=0.5)
print("at first:", *sqrl.check(rules, new).findings(), sep="\n  ")

of_temperature = rules.search("temperature").ids()
of_age = rules.search("<= age <=").ids()
rules = rules.waive(of_temperature, until="2026-12-31", by="Bo", why="new thermometers")
rules = rules.reject(of_age, by="Ann Lee", why="from May on the ward takes children")
path = Path(tempfile.mkdtemp(), "rules.json")
rules.save(path)  # what was decided is a few lines of it, for a pull request

for today in ("2026-12-31", "2027-01-01"):
    found = sqrl.check(sqrl.load_rules(path), new, today=today)
    print(f"{today}: {len(found)} rules checked, {len(found.waived)} of them waived")
    print(f"  {found.findings()[0] if found.findings() else 'nothing found'}")

if len(sys.argv) > 1:  # a picture of the rule, if a file is named for it
    axes = found.plot(found.rules.texts().index(rules.search("<= temperature <=")[0].text))
    axes.figure.set_size_inches(6.4, 2.4)
    axes.figure.savefig(sys.argv[1], bbox_inches="tight")
