"""Which rows lie outside their interval, rule by rule, on threads."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int64s, frozen
from sqrl._kernels.dispatch import is_plain, loops
from sqrl._kernels.threads import run

AT_ONCE = 16  # rules that a thread takes: each is quick, and handing it over is not


class Intervals(NamedTuple):
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


class IntervalOutcomes(NamedTuple):
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
    >>> found = evaluate_intervals([rule])[0]
    >>> found.applicable.tolist(), found.rows.tolist(), found.excess.tolist()
    ([2], [1], [0.25])
    """
    steps = (rule.rows.size * (25.0 if rule.cuts.size else 15.0) for rule in rules)
    kernel = loops("intervals", sum(steps))
    outcomes: dict[int, list[IntervalOutcomes]] = {}

    def work(begin: int) -> None:
        outcomes[begin] = [evaluate(rule) for rule in rules[begin : begin + AT_ONCE]]

    def evaluate(rule: Intervals) -> IntervalOutcomes:
        pieces, n_rows = rule.lower.size, rule.rows.size
        counts = np.zeros(pieces, np.int64), np.zeros(pieces, np.int64)
        room = IntervalOutcomes(*counts, np.empty(n_rows, np.int32), np.empty(n_rows, np.float32))
        floats = (frozen(column, np.float64) for column in rule[1:])
        found = kernel.evaluate_rows(Intervals(frozen(rule.rows, np.int32), *floats), room)
        return IntervalOutcomes(*counts, room.rows[:found].copy(), room.excess[:found].copy())

    begins = range(0, len(rules), AT_ONCE)
    chunks = [partial(work, begin) for begin in begins]
    run([chunks], threads=1 if is_plain(kernel) else threads, track=None)
    return [found for begin in begins for found in outcomes[begin]]
