"""What private rules count and add up, and how the budget is divided: by public rows alone.

Categories are divided into disjoint cells. Numbers are told from their median among public rows, in
whole steps, and a row has so many steps in all of them together at most: a row far out in one
number is seldom far out in all, so that the noise which hides it can be smaller than if each
number were allowed for by itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.tree import Call, Name, Node, is_about_missing
from sqrl._learn.facts import facts_of
from sqrl._learn.number_terms import number_terms
from sqrl._learn.roles import Watched, watch
from sqrl._learn.supervise_trials import KNOTS
from sqrl._rows.rows import Rows
from sqrl.errors import DataError

LIMIT = 10_000  # steps that a row may have in all numbers together
MOST_STEPS = 1_000 * LIMIT  # of one number, so that no product of whole numbers is too large
WITHIN = (0.9, 0.95, 0.98, 1.0)  # of public rows have no more: what does best is taken
UNTOLD = 0.02  # of a number's variance: with less left over by the others it is a copy of them
TOLERATED_MEAN = 0.005  # noise of class x number, as a part of the share of the middle class
DIGITS = 10**6  # budgets are rounded down to so many parts of one
MOST_VALUES = 8  # of a number that is told by its values
TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A column's facts, with one more cell for rows on which none of them holds."""

    column: str
    formulas: tuple[Node, ...]
    budget: Fraction = Fraction(0)

    def codes(self, rows: Rows) -> Int64s:
        """The cell of each row: exactly one."""
        made = np.full(rows.n, len(self.formulas), np.int64)
        for place, formula in reversed(list(enumerate(self.formulas))):
            made[rows.all_true((formula,))] = place
        return made

    def count(self, rows: Rows, classes: Int64s, n_classes: int) -> Int64s:
        """How many rows of each class are in each cell: each row is counted once.

        Shapes: result (n_formulas + 1, n_classes).
        """
        n_cells = len(self.formulas) + 1
        flat = self.codes(rows) * n_classes + classes
        return np.bincount(flat, minlength=n_cells * n_classes).reshape(n_cells, n_classes)


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """An expression whose values are added up within classes, and what public rows say of it."""

    column: str
    expression: Node
    low: float
    high: float
    middle: float  # the median, from which values are told
    deviation: float
    distance: float  # of a row from the middle, on average, in standard deviations
    step: float = 1.0  # what one of the whole numbers stands for that are added up

    def from_middle(self, rows: Rows) -> Floats:
        """How far each row is from the middle, held between the limits; 0 where it is missing."""
        values = np.clip(rows.numbers(self.expression), self.low, self.high)
        return np.where(np.isnan(values), 0.0, values - self.middle)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Numbers whose values are added up within classes, with one budget for all of them.

    A row has a whole number of steps in each of them, and LIMIT in all of them together at most.
    """

    numbers: tuple[Number, ...] = ()
    budget: Fraction = Fraction(0)

    @property
    def noise(self) -> Fraction:
        """The budget of the noise on each sum: one row changes all of them by LIMIT at most."""
        return self.budget / LIMIT

    def steps(self, rows: Rows) -> Int64s:
        """The whole numbers of each row; of a row that has more than LIMIT all are made smaller.

        Shapes: result (n_rows, n_numbers).
        """
        made = np.zeros((rows.n, len(self.numbers)), np.int64)
        for place, one in enumerate(self.numbers):
            steps = np.clip(np.rint(one.from_middle(rows) / one.step), -MOST_STEPS, MOST_STEPS)
            made[:, place] = steps.astype(np.int64)
        size = np.abs(made)
        total = size.sum(axis=1, keepdims=True)
        # Whole numbers, rounded down: no error of floating point can bring a row above the limit.
        smaller = np.where(total > LIMIT, size * LIMIT // np.maximum(total, 1), size)
        return np.asarray(np.sign(made) * smaller)

    def add_up(self, rows: Rows, classes: Int64s, n_classes: int) -> Int64s:
        """The sum of each number's steps within each class.

        Shapes: result (n_numbers, n_classes).
        """
        made = np.zeros((n_classes, len(self.numbers)), np.int64)
        np.add.at(made, classes, self.steps(rows))
        return made.T


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The tables of counts, each with its budget, and the sums."""

    cells: tuple[Cells, ...]
    sums: Sums


def plan_tables(
    public: Table,
    label: str,
    table: Table,
    n_rows: int,
    per_class: Floats,
    epsilon: Fraction,
) -> Plan:
    """What is counted and added up, with which budget: from public rows, and noisy sizes.

    Numbers are told as finely as the noise allows, which grows with how many there are. Where it is
    too much for numbers as they are, without a bend, those that others nearly tell are left out.
    """
    watched = [one for one in watch(public) if one.name != label and one.name in table]
    seen = Rows(public, {})
    n_class = float(np.median(per_class))
    share = n_class / max(1.0, float(per_class.sum()))
    plan = Plan((), Sums())
    for n_knots in KNOTS[::-1]:
        plan = _with_budgets(*_tables(seen, watched, n_knots), seen, epsilon, n_class)
        if _noise_of(plan.sums) / n_rows <= TOLERATED_MEAN * share:
            break
    else:
        kept = _without_copies(plan.sums.numbers, seen)
        plan = _with_budgets(plan.cells, kept, seen, epsilon, n_class)
    if not plan.cells and not plan.sums.numbers:
        raise DataError(
            "The public rows have no column that facts can be made of.",
            where=public.source,
            fix="give public rows with the columns of the private ones",
        )
    return plan


def _tables(
    seen: Rows, watched: Sequence[Watched], n_knots: int
) -> tuple[list[Cells], list[Number]]:
    """The cells of each category, and the numbers, by public rows alone."""
    cells, numbers = [], []
    every = np.arange(seen.n)
    for facts in facts_of(seen, watched, every, MOST_VALUES, max(2.0, 0.01 * seen.n)):
        role = next(one.role for one in watched if one.name == facts.column)
        subject: Node = Name(facts.column)
        if role == "date":
            subject = Call("days", (subject,))
        values = seen.numbers(subject) if role in {"number", "few", "date"} else np.zeros(0)
        values = values[~np.isnan(values)]
        if np.unique(values).size <= n_knots + 2:
            cells.append(Cells(facts.column, facts.formulas))
            continue
        missing = tuple(one for one in facts.formulas if is_about_missing(one))
        if missing:
            cells.append(Cells(facts.column, missing))
        for expression in number_terms(subject, values, n_knots):
            made = seen.numbers(expression)
            made = made[~np.isnan(made)]
            if made.max() > made.min():
                numbers.append(_number(facts.column, expression, made))
    return cells, numbers


def _number(column: str, expression: Node, values: Floats) -> Number:
    """An expression, and what its values say of it."""
    middle, deviation = float(np.median(values)), float(values.std())
    return Number(
        column,
        expression,
        low=float(values.min()),
        high=float(values.max()),
        middle=middle,
        deviation=deviation,
        distance=float(np.abs(values - middle).mean()) / deviation,
    )


def _with_budgets(
    cells: Sequence[Cells],
    numbers: Sequence[Number],
    seen: Rows,
    epsilon: Fraction,
    n_class: float,
) -> Plan:
    """Tables with their budgets, and numbers with steps of which few public rows have too many.

    How few is a choice: with larger steps there is more noise, with smaller ones more rows are made
    smaller. The squares of both errors, of means of a class with so many rows, are least together.
    """
    if not numbers:
        return _share_out(cells, (), np.zeros(0), 0.0, epsilon)
    away = np.stack([np.abs(one.from_middle(seen)) / one.deviation for one in numbers], axis=1)
    units = np.array([one.distance ** (1 / 3) for one in numbers])
    far = (away / units).sum(axis=1)
    tried: list[tuple[float, Plan]] = []
    for share in WITHIN:
        most = float(np.quantile(far, share))
        if most > 0:
            plan = _share_out(cells, numbers, units, most, epsilon)
            lost = np.maximum(0.0, 1.0 - most / np.maximum(far, TINY))
            bias = (away * lost[:, None]).mean(axis=0)
            noise = noise_variance(plan.sums.noise) * (units * most / LIMIT / n_class) ** 2
            tried.append((float((bias**2 + noise).sum()), plan))
    return min(tried, key=lambda one: one[0])[1]


def _share_out(
    cells: Sequence[Cells],
    numbers: Sequence[Number],
    units: Floats,
    most: float,
    epsilon: Fraction,
) -> Plan:
    """The plan in which a row may have `most` units of all numbers together, each in its own.

    A table of many cells gets more: cell sizes fall as 1 / cells, and with budgets that grow as
    cells^(2/3) the errors of all rates together are least. For the same reason the units of numbers
    that rows are far from the middle of grow, in standard deviations, as that distance^(1/3).
    """
    weights = [(len(one.formulas) + 1.0) ** (2 / 3) for one in cells]
    weights += [float((most**2 * (units**2).sum()) ** (1 / 3))] if numbers else []
    parts = _parts(weights)
    counted = zip(cells, parts[: len(cells)], strict=True)
    steps = units * most / LIMIT
    made = [
        replace(one, step=one.deviation * step)
        for one, step in zip(numbers, steps.tolist(), strict=True)
    ]
    return Plan(
        tuple(replace(one, budget=epsilon * part) for one, part in counted),
        Sums(tuple(made), epsilon * parts[-1]) if made else Sums(),
    )


def _parts(weights: Sequence[float]) -> list[Fraction]:
    """Each one's part of all, rounded down."""
    return [Fraction(math.floor(DIGITS * one / sum(weights)), DIGITS) for one in weights]


def _noise_of(sums: Sums) -> float:
    """The standard deviation of the noise on a sum, in that of a row: of the middle number."""
    if not sums.numbers:
        return 0.0
    usual = float(np.median([one.step / one.deviation for one in sums.numbers]))
    return usual * math.sqrt(noise_variance(sums.noise))


def _without_copies(numbers: Sequence[Number], seen: Rows) -> list[Number]:
    """Numbers of which none is nearly a sum of multiples of the others, by public rows.

    The one that the others tell best is left out, again and again: the noise falls for all others.
    """
    left = list(numbers)
    if not left:
        return left
    values = np.stack([one.from_middle(seen) / one.deviation for one in left], axis=1)
    among = np.atleast_2d(np.cov(values.T, bias=True)) + TINY * np.eye(len(left))
    inverse, variance = np.linalg.inv(among), np.diag(among)
    while len(left) > 1:
        untold = 1 / (np.diag(inverse) * variance)
        least = int(np.argmin(untold))
        if untold[least] > UNTOLD:
            break
        # The inverse without a line and a column, from the inverse with them.
        inverse = inverse - np.outer(inverse[:, least], inverse[least]) / inverse[least, least]
        inverse = np.delete(np.delete(inverse, least, axis=0), least, axis=1)
        variance = np.delete(variance, least)
        del left[least]
    return left


def noise_variance(budget: Fraction) -> float:
    """The variance of noise with this budget: 2 q / (1 - q)^2 with q = exp(-budget)."""
    q = math.exp(-float(budget))
    return 2 * q / (1 - q) ** 2
