"""Whether conditions hold as often as they did, which columns have drifted, and the class balance.

Where nothing has changed, how often conditions hold differs from before only as two samples of the
same rows do. Where the balance of classes has, each condition moves with how often it holds in each
class, and one balance explains them all. Where a column has drifted, the conditions that do not
name it are as before. What none of these explains is another population: then nothing is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from sqrl._adapt.conditions import Conditions, Remembered

Floats = NDArray[np.float64]
LEVEL = 1e-3  # of the test that conditions hold as often as they did
# The more a change explains away, the better what is left must fit: rows of another population
# look like some columns drifted, or like another balance, but not quite.
LEVEL_MOVED, LEVEL_DRIFTED = 1e-2, 1e-1
FEWEST = 10  # rows that are in a condition, and that are not
KEPT = 0.99  # of the variance of all conditions
MOST_DIRECTIONS = 60
MOST_COLUMNS = 1 / 3  # of the columns may have drifted: else all may have
ERRORS = 2.0  # standard errors of the class balance, beyond which it may have changed
SURE = 4.0  # and beyond which it has: the standard errors are estimates themselves
TINY = 0.003  # squared distance in standard deviations: a change that is sure but does not matter


@dataclass(frozen=True, slots=True, eq=False)
class TableDrift:
    """What has changed in the table.

    `drifted` columns are those whose conditions changed while all others did not; None where that
    explains nothing. `before` is the class balance remembered, `now` the one that fits how often
    conditions hold, with its standard errors; all None where nothing is known by class.
    """

    drifted: frozenset[str] | None
    p_value: float
    before: Floats | None
    now: Floats | None
    errors: Floats | None
    distance: Floats  # of each condition from what is expected, in standard errors

    @property
    def has_moved(self) -> bool:
        """Whether the class balance is certainly another one."""
        return self._is_beyond(SURE)

    @property
    def may_have_moved(self) -> bool:
        """Whether the class balance may be another one: then bounds allow for both."""
        return self._is_beyond(ERRORS)

    @property
    def likeliest(self) -> Floats | None:
        """The balance of now if it certainly is another one, else the one remembered."""
        return self.now if self.has_moved else self.before

    def _is_beyond(self, errors: float) -> bool:
        if self.before is None or self.now is None or self.errors is None:
            return False
        return bool((np.abs(self.now - self.before) > errors * self.errors + 1e-12).any())


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """How often conditions hold now, and how they go together."""

    n: int
    counts: Floats
    together: Floats  # (conditions, conditions)

    @classmethod
    def of(cls, truths: NDArray[np.bool_]) -> "Counted":
        """Counted from where each holds. Shapes: (conditions, rows)."""
        held = truths.astype(np.float32)
        return cls(truths.shape[1], held.sum(1).astype(float), (held @ held.T).astype(float))


def find_drift(conditions: Conditions, counted: Counted) -> TableDrift:
    """The smallest change that explains how often conditions hold: nothing, balance, columns."""
    every = _Fit(conditions, counted)
    if not every.usable.any():  # nothing is known that could have changed
        return every.result(frozenset(), every.unknown())
    columns = sorted({name for one in conditions.remembered for name in one.columns})
    best = every.without(frozenset())
    if best.is_explained:
        return every.result(frozenset(), best)
    drifted: frozenset[str] = frozenset()
    while len(drifted) + 1 <= max(1, MOST_COLUMNS * len(columns)):
        tried = {name: every.without(drifted | {name}) for name in columns if name not in drifted}
        usable = {name: one for name, one in tried.items() if one.freedom > 0}
        if not usable:
            break
        name = max(usable, key=lambda one: (usable[one].p_value, -usable[one].statistic))
        drifted, best = drifted | {name}, usable[name]
        if best.is_explained:
            return every.result(drifted, best)
    return every.result(None, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Explained:
    statistic: float
    freedom: int
    p_value: float
    is_explained: bool
    moved: Floats  # of each class but the last
    errors: Floats


class _Fit:
    """Generalised least squares of the changes on a change of class balance."""

    def __init__(self, conditions: Conditions, counted: Counted) -> None:
        self._known, self.n_classes = conditions.remembered, conditions.n_classes
        self.n = counted.n
        n = max(1, self.n)
        before = np.array([one.count / one.n for one in self._known])
        self.n_before = min((one.n for one in self._known), default=1.0)
        now = counted.counts / n
        pooled = (before * self.n_before + now * n) / (self.n_before + n)
        self.change = now - before
        self.covariance = counted.together / n - np.outer(now, now)
        spread = np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12))
        self.spread = spread
        expected = pooled * n
        self.usable = (expected >= FEWEST) & (n - expected >= FEWEST)
        self.balance = class_balance(self._known, self.n_classes)
        self.slopes = _slopes(self._known, self.n_classes, self.balance)

    def without(self, columns: frozenset[str]) -> _Explained:
        """How well a change of balance explains the conditions that do not name some columns."""
        chosen = np.array(
            [
                bool(fits) and not one.columns & columns
                for one, fits in zip(self._known, self.usable, strict=True)
            ],
            bool,
        )
        n_free = self.slopes.shape[1]
        if not chosen.any():
            return self.unknown()
        scale = self.spread[chosen]
        correlation = self.covariance[np.ix_(chosen, chosen)] / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(correlation)
        order = np.argsort(-values)
        share = np.cumsum(values[order]) / max(values.sum(), 1e-12)
        size = min(int(np.searchsorted(share, KEPT)) + 1, MOST_DIRECTIONS, len(order))
        order = order[:size][values[order[:size]] > 1e-6]
        axes = vectors[:, order] / np.sqrt(values[order])
        change = (self.change[chosen] / scale) @ axes
        slopes = (self.slopes[chosen] / scale[:, None]).T @ axes
        variance = 1 / max(1, self.n) + 1 / self.n_before
        moved, errors = np.zeros(n_free), np.full(n_free, np.inf)
        if n_free and np.abs(slopes).max(initial=0.0) > 1e-9:
            inverse = np.linalg.pinv(slopes @ slopes.T, rcond=1e-6)
            moved = _possible(inverse @ slopes @ change, self.balance)
            variance += _variance_of_slopes(moved, self._known, self.n_classes)
            errors = np.sqrt(np.maximum(np.diag(inverse) * variance, 0))
        rest = change - moved @ slopes if n_free else change
        distance = float(rest @ rest)
        freedom = max(1, len(order) - n_free)
        statistic = distance / variance
        p_value = float(chi2.sf(statistic, freedom))
        beyond = distance - freedom * variance  # what chance would add, taken off
        has_moved = bool((np.abs(moved) > ERRORS * errors).any())
        level = LEVEL_DRIFTED if columns else LEVEL_MOVED if has_moved else LEVEL
        is_explained = p_value >= level or beyond < TINY
        return _Explained(statistic, freedom, p_value, is_explained, moved, errors)

    def unknown(self) -> _Explained:
        """What is known where no condition can be compared."""
        n_free = self.slopes.shape[1]
        return _Explained(0.0, 0, 1.0, False, np.zeros(n_free), np.full(n_free, np.inf))

    def result(self, drifted: frozenset[str] | None, best: _Explained) -> TableDrift:
        """What was found, and how far each condition is from it."""
        slopes = best.moved @ self.slopes.T if best.moved.size else 0.0
        variance = 1 / max(1, self.n) + 1 / self.n_before
        distance = (self.change - slopes) / (self.spread * np.sqrt(variance))
        if self.balance is None or not np.isfinite(best.errors).all() or not best.errors.size:
            return TableDrift(drifted, best.p_value, self.balance, None, None, distance)
        now = self.balance + np.append(best.moved, -best.moved.sum())
        errors = np.append(best.errors, np.sqrt((best.errors**2).sum()))
        return TableDrift(drifted, best.p_value, self.balance, now, errors, distance)


def possible_move(conditions: Conditions, drift: TableDrift, truths: NDArray[np.bool_]) -> float:
    """How far the balance of classes would have moved if drifted columns say what is so.

    A condition that holds more often takes its own rate of a class to more rows; the largest such
    move of all conditions that name a drifted column.
    """
    most = 0.0
    for one, now in zip(conditions.remembered, truths.mean(1), strict=True):
        if not one.columns & (drift.drifted or frozenset()):
            continue
        for both, head, body, n in one.by_class.values():
            if 0 < body < n:
                slope = both / body - (head - both) / (n - body)
                most = max(most, abs(float(now - one.count / one.n) * slope))
    return most


def class_balance(known: Sequence[Remembered], n_classes: int) -> Floats | None:
    """The share of each class in the rows remembered; None where some class is not known."""
    heads, totals = np.zeros(n_classes), np.zeros(n_classes)
    for one in known:
        for place, (_, head, _, n) in one.by_class.items():
            heads[place] += head
            totals[place] += n
    if n_classes < 2 or not totals.all():
        return None
    shares = heads / totals
    return np.asarray(shares / shares.sum())


def _slopes(known: Sequence[Remembered], n_classes: int, balance: Floats | None) -> Floats:
    """How far each condition moves with the share of each class but the last.

    Where it is known of some classes only, the others are taken to keep their proportions.
    """
    if balance is None:
        return np.zeros((len(known), 0))
    made = np.zeros((len(known), n_classes))
    for place, one in enumerate(known):
        for at, (both, head, body, n) in one.by_class.items():
            inside = both / max(head, 1.0)
            if len(one.by_class) == n_classes:
                made[place, at] = inside
            else:
                made[place, at] = inside - (body - both) / max(n - head, 1.0)
    return np.asarray(made[:, :-1] - made[:, -1:])


def _variance_of_slopes(moved: Floats, known: Sequence[Remembered], n_classes: int) -> float:
    """What the finite number of labelled rows adds, in units of a condition's own variance."""
    heads = np.full(n_classes, np.inf)
    for one in known:
        for place, (_, head, _, _) in one.by_class.items():
            heads[place] = min(heads[place], max(head, 1.0))
    every = np.append(moved, -moved.sum())
    return float((every**2 / heads).sum())


def _possible(moved: Floats, balance: Floats | None) -> Floats:
    """The change, so that every class keeps a share above 0."""
    assert balance is not None
    now = np.maximum(balance + np.append(moved, -moved.sum()), 0.2 * balance / len(balance))
    return np.asarray((now / now.sum() - balance)[:-1])
