"""What every kind of rule has in common when its bounds are inferred."""

from dataclasses import dataclass, field
from math import prod
from typing import Protocol

import numpy as np

from sqrl._data.draws import WEIGHTS, row_keys
from sqrl._kernels.arrays import Bools, Floats, Int64s, Words64
from sqrl._language.forms import Form, learned_values
from sqrl._language.tree import Node, Over, Units
from sqrl._learn.candidates import Candidates
from sqrl._progress import Done
from sqrl._rows.cells import Grid
from sqrl._rows.quantiles import BoundMethod
from sqrl._rows.questions import Asking, Draw, DrawUnits, FindUnits, Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State

Track = Done


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of all candidates of a template, in as many pieces as a candidate can have.

    Shapes: lower, upper and support (n, pieces); nan bounds where too few samples support them,
    and a support of -1 where a candidate has no such piece. `strict_lower`
    and `strict_upper`, where given, say which ends do not belong to the interval; `repeats`,
    which rules that are formulas say no more than a simpler one.
    """

    lower: Floats
    upper: Floats
    support: Int64s
    strict_lower: Bools | None = None
    strict_upper: Bools | None = None
    repeats: Bools | None = None


# For each candidate: how many rows its condition or body holds on, a hash that is equal where these
# are the same rows, and a number that is equal where the same is claimed of them.
Description = tuple[Int64s, Words64, Int64s]


def row_weights(n_rows: int, first: int = 0) -> Words64:
    """A random weight for each row from `first` on; the sum of a set's weights identifies it."""
    return row_keys(first, n_rows, seed=0, draw=WEIGHTS)


class Describes(Protocol):
    """A measure that says which rows its candidates are about."""

    def describe(self, rows: Rows, first: int) -> tuple[Int64s, Words64]:
        """For each candidate how many of these rows it is about, and the sum of their weights.

        `first` is the number of the first of them: the results of parts of a table add up.
        """


@dataclass(frozen=True, slots=True)
class Describe:
    """Asks which rows each candidate is about."""

    of: Of
    measure: Describes

    def start(self) -> State:
        """Nothing counted."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows, of which `first` is the number of the first, too."""
        counts, hashes = self.measure.describe(rows, first)
        return self.merge(tally, {"counts": counts, "hashes": hashes})

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: one[name] + other[name] for name in other} if one and other else one or other

    def finish(self, tally: State) -> tuple[Int64s, Words64]:
        """How many rows each candidate is about, and a hash of which."""
        return tally["counts"], tally["hashes"]

    def answer(self, rows: Rows) -> tuple[Int64s, Words64]:
        """How many rows each candidate is about, and a hash of which, of all rows at once."""
        return self.measure.describe(rows, 0)


@dataclass(slots=True, eq=False)
class SubjectMeasure:
    """What measures of an expression under conditions have in common.

    `which_subject` says which expression a candidate bounds, `cell` which bucket of `in each of` it
    is about, all of them as one number, `n_pieces` how many buckets of `by` there are in it.
    """

    candidates: Candidates
    method: BoundMethod
    grid: Grid
    subjects: list[Node] = field(init=False)
    which_subject: Int64s = field(init=False)
    cell: Int64s = field(init=False)
    n_pieces: int = field(init=False)

    def __post_init__(self) -> None:
        template = self.candidates.template
        form = template.form
        subject = form.subject or learned_values(form.head) or form.head
        assert subject is not None
        self.subjects, self.which_subject = self.candidates.filled(subject)
        self.cell = np.zeros(self.candidates.n, np.int64)
        for index, each in enumerate(template.cells):
            self.cell = self.cell * each.n_buckets + self.candidates.columns[f"bucket {index + 1}"]
        self.n_pieces = prod(bucket.n_buckets for bucket in template.form.by)

    def described(self, of: Of) -> Asking[Description | None]:
        """Which rows each condition selects; None where no conjunctions are enumerated."""
        if not self.candidates.template.families:
            return None
        counts, hashes = (yield [Describe(of, self)])[0]
        by = self.candidates.distinct(*self.candidates.template.form.by)[1]
        return counts, hashes, self.which_subject * (int(by.max(initial=0)) + 1) + by

    def describe(self, rows: Rows, first: int) -> tuple[Int64s, Words64]:
        """The rows that each candidate's condition and bucket select."""
        weights = row_weights(rows.n, first)
        shape = len(self.grid.conditions), int(self.cell.max(initial=0)) + 1
        counts, hashes = np.zeros(shape, np.int64), np.zeros(shape, np.uint64)
        n_each = self.grid.n_cells // shape[1]
        for condition in range(shape[0]):
            selected, cells = self.grid.cells(rows, condition)
            np.add.at(counts[condition], cells // n_each, 1)
            np.add.at(hashes[condition], cells // n_each, weights[selected])
        return counts[self.grid.which, self.cell], hashes[self.grid.which, self.cell]

    def given(self, candidate: int) -> tuple[Node, ...]:
        """The condition of a candidate, with its buckets of `in each of`."""
        condition = int(self.grid.which[candidate])
        cells = self.grid.cell_formulas(condition, int(self.cell[candidate]) * self.n_pieces)
        return self.grid.conditions[condition] + cells[: len(self.candidates.template.cells)]


@dataclass(frozen=True, slots=True)
class Sampler:
    """How mini-batches are drawn: how many, with which seed, and of which units if of such."""

    of: Of
    n_batches: int
    seed: int
    unit: tuple[str, ...] = ()

    def draw(self, over: Over) -> Asking[tuple[Rows, Int64s]]:
        """Mini-batches of this size, -1 for no row; rules of one size share them."""
        if not isinstance(over, Units):
            answers = yield [Draw(self.of, over, self.n_batches, self.seed)]
            return answers[0]  # type: ignore[no-any-return]
        (sizes,) = yield [FindUnits(self.of, self.unit)]
        answers = yield [DrawUnits(self.of, self.unit, over.n, self.n_batches, self.seed, sizes)]
        return answers[0]  # type: ignore[no-any-return]


class Measure(Protocol):
    """Bounds of all candidates of a template on any rows, and the rules they make."""

    method: BoundMethod

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bounds of every candidate on the rows that the sampler draws from."""

    def described(self, of: Of) -> Asking[Description | None]:
        """Which rows each candidate is about; None for kinds whose rules cannot be redundant."""

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
