"""Years of daily checks, drawn as counts and means, many years at once.

Fifty rules: 20 about rows, which 2 % break, 15 about a share of 10 %, 15 about means. Rules of a
block move together on each day. Held-out counts are drawn anew for each year, as its reference.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

Floats = NDArray[np.float64]

ROWS, SHARES, MEANS = slice(0, 20), slice(20, 35), slice(35, 50)
N_RULES, N_BLOCKS = 50, 5
TOGETHER = 0.6  # correlation of rules in a block
A_DAY = 1_000  # rows
SHARE = np.array([0.02] * 20 + [0.1] * 15)


@dataclass(frozen=True, slots=True)
class Change:
    """From a day on a rule has another share, or another mean in standard deviations."""

    rule: int
    to: float
    day: int = 100


@dataclass(slots=True)
class Years:
    """Draws days of many years."""

    n_years: int
    seed: int
    held_out: int = 20_000  # rows
    change: Change | None = None
    _tables: dict[tuple[int, float], Floats] = field(default_factory=dict)

    def draw(self, n_days: int) -> Iterator[tuple[Floats, Floats]]:
        """What held-out rows say in each year, then what the rows of each day say.

        Each as counts and means, shape (years, rules), and the variances of the latter.
        """
        rng = np.random.default_rng(self.seed)
        yield self._sample(rng, self.held_out, None)
        for day in range(n_days):
            yield self._sample(rng, A_DAY, day)

    def _sample(self, rng: np.random.Generator, n: int, day: int | None) -> tuple[Floats, Floats]:
        of_block = rng.standard_normal((self.n_years, N_BLOCKS))[:, np.arange(N_RULES) % N_BLOCKS]
        alone = rng.standard_normal((self.n_years, N_RULES))
        z = np.sqrt(TOGETHER) * of_block + np.sqrt(1 - TOGETHER) * alone
        changed = (
            self.change if day is not None and self.change and day >= self.change.day else None
        )
        found = np.empty_like(z)
        for rule in range(MEANS.start):
            share = changed.to if changed and changed.rule == rule else SHARE[rule]
            found[:, rule] = np.searchsorted(self._table(n, share), ndtr(z[:, rule]))
        found[:, MEANS] = z[:, MEANS] / np.sqrt(n)
        if changed and changed.rule >= MEANS.start:
            found[:, changed.rule] += changed.to
        n_means = MEANS.stop - MEANS.start
        return found, rng.chisquare(n - 1, (self.n_years, n_means)) / n

    def _table(self, n: int, share: float) -> Floats:
        """The probabilities of at most so many hits."""
        if (n, share) not in self._tables:
            self._tables[n, share] = binom.cdf(np.arange(n + 1), n, share)
        return self._tables[n, share]
