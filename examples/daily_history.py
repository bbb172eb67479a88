"""A year's promise for daily files.

Whoever tests a file every day at a level of one per cent is woken for nothing four times a year. A
history adds up the evidence of all days, and promises at most one false alarm a year on average.
Here a product becomes a little weaker on the first of October: no single day looks odd, the alarm
comes after some days, and says since when.
"""

import sys
import tempfile
from datetime import date, timedelta

import numpy as np

import sqrl


def bottles(n_rows, seed, weaker=0.0):
    """Made-up measurements of bottles: volume in millilitres, strength in per cent."""
    rng = np.random.default_rng(seed)
    return {
        "line": rng.choice(["A", "B"], n_rows),
        "volume": rng.normal(750, 4, n_rows).round(1),
        "strength": rng.normal(12.0 - weaker, 0.4, n_rows).round(2),
    }


shapes = {
    "let": {"A": ["volume", "strength"]},
    "rules": ["? <= A <= ?", "? <= mean(A) <= ? over 100"],
}
rules = sqrl.learn(bottles(4000, seed=0), shapes)
history = sqrl.History(tempfile.mkdtemp(), false_alarms="1/year", every="day")
first, odd = date(2026, 9, 1), []
for day in range(45):
    weaker = 0.06 if day >= 30 else 0.0  # from the first of October on
    found = sqrl.check(rules, bottles(200, seed=100 + day, weaker=weaker))
    history.add(found, at=first + timedelta(day))
    odd += [str(first + timedelta(day))] if found.findings() else []

print("days on which a check by itself found something:", ", ".join(odd) or "none")
for alarm in history.alarms():
    print(f"alarm of {alarm.at}, began about {alarm.started}: {alarm.cause}")

if len(sys.argv) > 1:  # the page of the history, if a file is named for it
    sqrl.write_report(history, sys.argv[1], title="Bottles")
