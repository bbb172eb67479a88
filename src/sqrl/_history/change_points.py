"""ChangePoints: since when a change is likeliest, and since when it may be, in constant memory.

For each kind of change of each rule the log-likelihood of a start s is the sum of log e-values from
s on: the total up to now less the total before s. So the likeliest start is where the total was
least, and those within `WITHIN` of it are an interval: where the change is of this kind, it holds
the true start in 95 of 100 cases (decision 25). Its first window is read off first-passage times,
of the few levels that the total was below last, so that it may begin a little early, never late.
"""

from dataclasses import dataclass, fields
from math import log

import numpy as np

from sqrl._history.window_evidence import N_KINDS
from sqrl._kernels.arrays import Floats, Int64s

WITHIN = log(40.0)  # twice 1 / 40 is one in twenty
N_LEVELS = int(WITHIN) + 2  # levels are 1 apart
NOT_YET = 1e15  # above all totals


@dataclass(slots=True, eq=False)
class ChangePoints:
    """Totals of log e-values, and the windows, by number, where they were least.

    Shapes: all (n_rules, kinds), `passed` (n_rules, kinds, levels): the first window before which
    the total was below a level, at the level modulo their number.
    """

    total: Floats
    least: Floats
    start: Int64s
    latest: Int64s
    passed: Int64s

    @classmethod
    def new(cls, n_rules: int) -> "ChangePoints":
        """Nothing seen yet."""
        shape = n_rules, N_KINDS
        totals, least = np.zeros(shape), np.full(shape, NOT_YET)
        passed = np.zeros((*shape, N_LEVELS), np.int64)
        return cls(totals, least, np.zeros(shape, np.int64), np.zeros(shape, np.int64), passed)

    def take(self, places: Int64s) -> "ChangePoints":
        """Those of some rules, as copies."""
        return ChangePoints(*(getattr(self, part.name)[places] for part in fields(self)))

    def put(self, places: Int64s, others: "ChangePoints") -> None:
        """Put in those of some rules."""
        for part in fields(self):
            getattr(self, part.name)[places] = getattr(others, part.name)

    def joined(self, others: "ChangePoints") -> "ChangePoints":
        """Those of both, one after the other."""
        names = [part.name for part in fields(self)]
        pairs = ([getattr(self, name), getattr(others, name)] for name in names)
        return ChangePoints(*map(np.concatenate, pairs))

    def add(self, log_e: Floats, window: int) -> None:
        """Take in the log e-values of a window; shape (n_rules, kinds)."""
        is_least = self.total < self.least
        level, before = np.floor(self.total), np.floor(self.least)
        for step in range(N_LEVELS):
            place = ((level + step) % N_LEVELS).astype(np.int64)[..., None]
            passes = is_least & (level + step < before)
            found = np.where(passes, window, np.take_along_axis(self.passed, place, -1)[..., 0])
            np.put_along_axis(self.passed, place, found[..., None], -1)
        self.start = np.where(is_least, window, self.start)
        self.least = np.minimum(self.least, self.total)
        self.latest = np.where(self.total <= self.least + WITHIN, window, self.latest)
        self.total = self.total + log_e

    def interval(self, rule: int, kind: int) -> tuple[int, int, int]:
        """The likeliest start of a change, and the first and the last that are likely.

        >>> points = ChangePoints.new(1)
        >>> for window, log_e in enumerate([-2.0, -2.0, 3.0, 3.0]):
        ...     points.add(np.full((1, N_KINDS), log_e), window)
        >>> points.interval(0, 0)
        (2, 1, 3)
        """
        least = float(self.least[rule, kind])
        level = int(np.floor(least + WITHIN)) % N_LEVELS
        first, last = int(self.passed[rule, kind, level]), int(self.latest[rule, kind])
        return int(self.start[rule, kind]), first, last
