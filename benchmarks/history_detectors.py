"""Three detectors over many years at once: ours, a daily test with Bonferroni, and CUSUM."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from history_years import A_DAY, MEANS, N_RULES, ROWS, SHARE, SHARES, Floats
from sqrl._check.hypergeometric import at_least, at_most
from sqrl._check.null_tests import mean_test
from sqrl._history.baseline import add_evidence
from sqrl._history.e_values import normal_evidence, share_evidence, z_of
from sqrl._history.rule_states import NOTHING
from sqrl._history.window_evidence import N_KINDS, N_SHIFTS, log_weights

Bools = NDArray[np.bool_]
SIDES = ["up"] * 20 + ["both"] * 30
Day = tuple[Floats, Floats]


@dataclass(slots=True)
class Ours:
    """The detector of `sqrl._history`, by the same functions, without its bookkeeping of alarms.

    After an alarm all of a year's evidence starts anew.
    """

    n_checks: float
    rows: float = 20_000
    hits: Floats = field(default_factory=lambda: np.zeros(0))
    moments: Floats = field(default_factory=lambda: np.zeros(0))
    log_sum: Floats = field(default_factory=lambda: np.zeros(0))
    log_mean: Floats = field(default_factory=lambda: np.zeros(0))

    def start(self, held_out: Day) -> None:
        """Take the held-out rows as baseline."""
        found, variance = held_out
        self.hits = found[:, : MEANS.start].copy()
        self.moments = _moments(self.rows, found[:, MEANS], variance)
        self.log_sum = np.full((len(found), N_RULES, N_KINDS), NOTHING)

    def alarms(self, day: Day) -> Bools:
        """In which years there is an alarm on this day."""
        self.log_sum = np.logaddexp(self.log_sum, 0.0) + self._evidence(day)
        of_rule = np.logaddexp.reduce(self.log_sum + log_weights(SIDES), axis=2)
        self.log_mean = np.logaddexp.reduce(of_rule, axis=1) - np.log(N_RULES)
        alarmed = self.log_mean >= np.log(self.n_checks)
        self.log_sum[alarmed] = NOTHING
        self._learn(day)
        return np.asarray(alarmed)

    def _evidence(self, day: Day) -> Floats:
        found, variance = day
        log_e = np.zeros((len(found), N_RULES, N_KINDS))
        hits = self.hits.ravel()
        rows, new_rows = np.full(hits.shape, self.rows), np.full(hits.shape, float(A_DAY))
        new = found[:, : MEANS.start].ravel()
        more = share_evidence(rows, hits, new_rows, new)
        log_e[:, : MEANS.start, :N_SHIFTS] = more.reshape(len(found), -1, N_SHIFTS)
        some = self.hits[:, SHARES].ravel()
        fewer = share_evidence(
            rows[: some.size],
            self.rows - some,
            new_rows[: some.size],
            A_DAY - found[:, SHARES].ravel(),
        )
        log_e[:, SHARES, N_SHIFTS:] = fewer.reshape(len(found), -1, N_SHIFTS)
        moments = _moments(A_DAY, found[:, MEANS], variance)
        before, now = self.moments.reshape(-1, 3), moments.reshape(-1, 3)
        z = z_of(mean_test(before, now), now[:, 1] > before[:, 1])
        both = np.concatenate([normal_evidence(z), normal_evidence(-z)], axis=1)
        log_e[:, MEANS] = both.reshape(len(found), -1, N_KINDS)
        return log_e

    def _learn(self, day: Day) -> None:
        found, variance = day
        self.hits += found[:, : MEANS.start]
        self.rows += A_DAY
        moments = _moments(A_DAY, found[:, MEANS], variance)
        parts = (tuple(np.moveaxis(one, 2, 0)) for one in (self.moments, moments))
        self.moments = np.stack(_pooled(*parts), axis=2)


def _pooled(one: tuple[Floats, ...], other: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Moments of both; the same formulas as those of the product, over arrays."""
    (n, mean, variance), (m, new_mean, new_variance) = one, other
    rows, apart = n + m, new_mean - mean
    spread = (n * variance + m * new_variance) / rows + apart * apart * n * m / (rows * rows)
    return rows, mean + apart * m / rows, spread


def _moments(n: float, mean: Floats, variance: Floats) -> Floats:
    return np.stack([np.full(mean.shape, float(n)), mean, variance], axis=2)


@dataclass(slots=True)
class Bonferroni:
    """A test of every rule on every day against held-out rows, at the level that the promise takes.

    Those of check: Fisher's exact test and Student's.
    """

    n_checks: float
    rows: int = 20_000
    held_out: Day | None = None
    most: Floats = field(default_factory=lambda: np.zeros(0))
    least: Floats = field(default_factory=lambda: np.zeros(0))

    def start(self, held_out: Day) -> None:
        """Keep the held-out rows."""
        self.held_out = held_out
        self.most = self._critical(held_out[0][:, : MEANS.start], is_above=True)
        self.least = self._critical(held_out[0][:, SHARES], is_above=False)

    def alarms(self, day: Day) -> Bools:
        """In which years any rule is below the level."""
        assert self.held_out is not None
        found, variance = day
        broken = (found[:, : MEANS.start] >= self.most).any(axis=1)
        broken |= (found[:, SHARES] <= self.least).any(axis=1)
        before = _moments(self.rows, self.held_out[0][:, MEANS], self.held_out[1])
        now = _moments(A_DAY, found[:, MEANS], variance)
        p = mean_test(before.reshape(-1, 3), now.reshape(-1, 3)).reshape(len(found), -1)
        return np.asarray(broken | (p <= self.level).any(axis=1))

    @property
    def level(self) -> float:
        """Of each test."""
        return 1 / self.n_checks / N_RULES

    def _critical(self, hits: Floats, *, is_above: bool) -> Floats:
        """From how many hits of a day on a test is below its level, for each count held out."""
        counts = np.unique(hits)
        k = np.arange(A_DAY / 2)
        first = []
        for count in counts.tolist():
            sides = 1 if count < self.rows * 0.05 else 2  # rules about rows have one side
            tail = (at_least if is_above else at_most)(k, self.rows + A_DAY, count + k, A_DAY)
            passes = np.flatnonzero(sides * tail <= self.level)
            first.append((passes[0] if is_above else passes[-1]) if passes.size else np.inf)
        return np.array(first, np.float64)[np.searchsorted(counts, hits)]


@dataclass(slots=True)
class Cusum:
    """CUSUM of each rule's daily value in standard errors from that of held-out rows, or the true.

    The limit is one for all rules, found by simulation of other years: in practice nobody has
    these, least of all with the dependence between rules.
    """

    limit: float
    rows: int = 20_000
    is_known: bool = False  # whether it is told the true values, in the place of held-out ones
    allowance: float = 0.5
    held_out: Floats = field(default_factory=lambda: np.zeros(0))
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    highest: Floats = field(default_factory=lambda: np.zeros(0))

    def start(self, held_out: Day) -> None:
        """Keep the held-out values."""
        is_count = np.arange(N_RULES) < MEANS.start
        true = np.append(SHARE, np.zeros(N_RULES - MEANS.start))
        self.held_out = true if self.is_known else held_out[0] / np.where(is_count, self.rows, 1)
        self.sums = np.zeros((2, *held_out[0].shape))

    def alarms(self, day: Day) -> Bools:
        """In which years a sum is above the limit; these then start anew."""
        value = day[0] / np.where(np.arange(N_RULES) < MEANS.start, A_DAY, 1)
        error = np.sqrt(np.append(SHARE * (1 - SHARE), np.ones(N_RULES - MEANS.start)) / A_DAY)
        z = (value - self.held_out) / error
        self.sums = np.maximum(self.sums + np.stack([z, -z]) - self.allowance, 0.0)
        self.sums[1, :, ROWS] = 0.0
        self.highest = self.sums.max(axis=(0, 2))
        alarmed = self.highest >= self.limit
        self.sums[:, alarmed] = 0.0
        return np.asarray(alarmed)


def is_same_pooling() -> bool:
    """Whether moments are pooled here as the product does."""
    one, other = (20_000.0, 0.1, 0.9), (1_000.0, 0.3, 1.2)
    ours = _pooled(*(tuple(np.array([x]) for x in part) for part in (one, other)))
    return add_evidence("moments", "mean", one, other) == tuple(float(x[0]) for x in ours)
