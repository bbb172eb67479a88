"""A sensor that froze.

Twelve pumps report their temperature every half hour, and one day a third of them begin to send the
same number again and again. Every value is a usual one, so no limit on temperatures can see it.
Told which rows follow one another, and which belong together, sqrl also learns how far temperatures
move from row to row, and says that they stand still too often.
"""

import sys

import numpy as np

import sqrl

PUMPS = [f"pump {number:02}" for number in range(1, 13)]


def readings(first_day, n_days, seed):
    """Made-up temperatures: those of each pump wander around a mean of its own."""
    rng = np.random.default_rng(seed)
    values = np.empty((48 * n_days, 12))
    usual = values[0] = np.linspace(50, 61, 12)
    for row in range(1, 48 * n_days):
        values[row] = usual + 0.5 * (values[row - 1] - usual) + rng.normal(0, 1, 12)
    hour = np.tile(24 * first_day + np.arange(48 * n_days) / 2, 12)
    return {
        "pump": np.repeat(PUMPS, 48 * n_days),
        "day": hour // 24,
        "hour": hour,
        "temperature": values.T.ravel().round(3),
    }


told = {"order": "hour", "entity": "pump", "unit": ["pump", "day"]}
rules = sqrl.learn(readings(0, 30, seed=0), **told)
print(*(rule.short_text for rule in rules.search("delta").head(3)), sep="\n")

days = readings(30, 5, seed=1)
print("good days:", *sqrl.check(rules, days).findings() or ["nothing found"], sep="\n  ")
for pump in PUMPS[1::3]:
    stuck = np.flatnonzero((days["pump"] == pump) & (days["hour"] >= 24 * 32))
    days["temperature"][stuck] = days["temperature"][stuck[0]]
found = sqrl.check(rules, days)
print("days with frozen sensors:", *found.findings(), sep="\n  ")

if len(sys.argv) > 1:  # a picture, if a file is named for it
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
    for pump in PUMPS[3:6]:
        is_it = days["pump"] == pump
        axes.plot(days["hour"][is_it] / 24, days["temperature"][is_it], label=pump)
    axes.set(xlabel="day", ylabel="temperature")
    axes.set_title(found.findings()[0], fontsize="small", loc="left")
    axes.legend(loc="lower left")
    plt.savefig(sys.argv[1])
