"""How well the test of units keeps its level: made-up units, nothing changed.

    python benchmarks/unit_levels.py [--quick] [-o benchmarks/results/unit_levels.json]

Prints how often p-values are at most 5, 1, 0.1 and 0.01 %, as multiples of these. The test by rows
is that of two means, or shares, whose rows were all drawn by themselves.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.random import Generator

from measure import Json, describe_run
from sqrl._check.unit_lines import Line, powers
from sqrl._check.unit_tests import Sides, unit_p_value

LEVELS = (0.05, 0.01, 0.001, 0.0001)
SIZES = ((742, 500), (1000, 60), (1000, 10), (200, 30), (60, 20), (30, 200), (10, 10))
Kind = tuple[str, float | None, float | str]
KINDS: dict[str, Kind] = {
    "shares of 2 %, about 5 rows a unit": ("poisson", 0.02, 0.3),
    "shares of 30 %, lognormal sizes": ("lognormal", 0.3, 0.3),
    "means, lognormal sizes": ("lognormal", None, "normal"),
    "lognormal means, about 5 rows a unit": ("poisson", None, "lognormal"),
}


def main() -> None:
    """Measure every kind and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    runs = 200 if arguments.quick else arguments.runs
    lines = []
    for kind in KINDS:
        for n, m in SIZES:
            lines.append(measure(kind, n, m, runs))
            print(json.dumps(lines[-1]), file=sys.stderr)
    result = {
        **describe_run(("sqrl-rules", "numpy", "scipy"), seed=0),
        "runs": runs,
        "levels": LEVELS,
        "lines": lines,
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


def measure(kind: str, n: int, m: int, runs: int) -> Json:
    """The multiples of the levels for one kind of units, so many old and so many new."""
    rng = np.random.default_rng([n, m, len(kind)])
    sides = Sides(both=True, hits=False)
    by_unit, by_row = np.empty(runs), np.empty(runs)
    for run in range(runs):
        old, new = (draw(KINDS[kind], size, rng) for size in (n, m))
        by_unit[run] = unit_p_value(powers(old).tolist(), powers(new).tolist(), sides)
        by_row[run] = _by_row(old, new)
    return {
        "units": kind,
        "old": n,
        "new": m,
        "by_unit": [round(float((by_unit <= level).mean() / level), 2) for level in LEVELS],
        "by_row": [round(float((by_row <= level).mean() / level), 2) for level in LEVELS],
    }


def draw(kind: Kind, n: int, rng: Generator) -> Line:
    """Trials and hits of some units; rows of a unit have something in common."""
    sizes, share, spread = kind
    is_even = sizes == "poisson"
    drawn = 1.0 + rng.poisson(4, n) if is_even else np.ceil(rng.lognormal(1.5, 1.2, n))
    a = np.asarray(drawn, np.float64)
    if share is not None and isinstance(spread, float):
        scale = 1 / spread - 1
        q = rng.beta(share * scale, (1 - share) * scale, n)
        return Line(a, rng.binomial(a.astype(np.int64), q).astype(np.float64))
    common = rng.normal(size=n) if spread == "normal" else rng.lognormal(size=n)
    return Line(a, a * common + np.sqrt(a) * rng.normal(size=n))


def _by_row(old: Line, new: Line) -> float:
    """The p-value if every row were drawn by itself, with the variance that rows then have."""
    from scipy.special import ndtr

    n, m = old.trials.sum(), new.trials.sum()
    first, second = old.hits.sum() / n, new.hits.sum() / m
    both = (old.hits.sum() + new.hits.sum()) / (n + m)
    is_share = (old.hits >= 0).all() and (old.hits <= old.trials).all() and (new.hits >= 0).all()
    variance = both * (1 - both) if is_share else 2.0
    error = np.sqrt(max(variance, 1e-12) * (1 / n + 1 / m))
    return float(2 * ndtr(-abs(first - second) / error))


if __name__ == "__main__":
    main()
