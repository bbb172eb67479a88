"""Which rows lie outside their interval, rule by rule, on threads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int64s, frozen
from sqrl._kernels.dispatch import is_plain, loops
from sqrl._kernels.threads import run

AT_ONCE = 16  # rules that a thread takes: each is quick, and handing it over is not


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """One rule: the rows it is about, the values it bounds, and its pieces.

    Shapes: rows (k,) row numbers; values and by (n,); cuts (pieces - 1,); lower and upper
    (pieces,), infinite where open. `by` is not looked at where there are no cuts.
    """

    rows: Array
    values: Floats
    by: Floats
    cuts: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, slots=True, eq=False)
class IntervalOutcomes:
    """What became of one rule: counts for each piece, and the broken rows with their excess.

    Shapes: applicable and broken (pieces,); rows and excess (n_broken,), excess in widths of the
    interval, infinite where that has none.
    """

    applicable: Int64s
    broken: Int64s
    rows: Array
    excess: Array


def evaluate_intervals(
    rules: Sequence[Intervals], *, threads: int | None = None
) -> list[IntervalOutcomes]:
    """Counts and broken rows of each rule.

    Cost: one pass over a rule's rows; memory for the broken ones, and for the rows of as many
    rules as there are threads.

    >>> rule = Intervals(np.arange(3), np.array([1.0, 5.0, np.nan]), np.empty(3), np.empty(0),
    ...                  np.array([0.0]), np.array([4.0]))
    >>> outcomes = evaluate_intervals([rule])[0]
    >>> outcomes.applicable.tolist(), outcomes.rows.tolist(), outcomes.excess.tolist()
    ([2], [1], [0.25])
    """
    kernel = loops("intervals", 10.0 * sum(rule.rows.size for rule in rules))
    outcomes: list[IntervalOutcomes | None] = [None] * len(rules)

    def work(begin: int) -> None:
        for index in range(begin, min(begin + AT_ONCE, len(rules))):
            outcomes[index] = evaluate(rules[index])

    def evaluate(rule: Intervals) -> IntervalOutcomes:
        applicable = np.zeros(rule.lower.size, np.int64)
        broken = np.zeros(rule.lower.size, np.int64)
        rows = np.empty(rule.rows.size, np.int32)
        excess = np.empty(rule.rows.size, np.float32)
        found = kernel.evaluate_rows(
            frozen(rule.rows, np.int32),
            frozen(rule.values, np.float64),
            frozen(rule.by, np.float64),
            frozen(rule.cuts, np.float64),
            frozen(rule.lower, np.float64),
            frozen(rule.upper, np.float64),
            applicable,
            broken,
            rows,
            excess,
        )
        return IntervalOutcomes(applicable, broken, rows[:found].copy(), excess[:found].copy())

    chunks = [partial(work, begin) for begin in range(0, len(rules), AT_ONCE)]
    run([chunks], threads=1 if is_plain(kernel) else threads, track=None)
    return [one for one in outcomes if one is not None]
