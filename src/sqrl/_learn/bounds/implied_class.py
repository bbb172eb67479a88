"""Bounds of `given and ? <= subject <= ? => label = Y`: where values belong to one class alone.

For each class the coverage interval of the subject is taken within the class; the body is what is
left of it when the intervals of all other classes are cut out, possibly nothing, possibly several
pieces.
"""

from dataclasses import dataclass, field

import numpy as np

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.printer import to_text
from sqrl._language.tree import Between, Compare, Name, Node, Number, Or
from sqrl._learn.bounds.measure import Bounds, Description, Sampler, SubjectMeasure, Track
from sqrl._learn.domains import values_of
from sqrl._rows.order_statistics import ForBounds, OrderStatistics
from sqrl._rows.quantiles import BoundMethod, BoundOptions
from sqrl._rows.questions import Asking, Of
from sqrl.errors import SchemaError

Interval = tuple[float, float, bool, bool]  # lower, upper, and whether each end is left out


@dataclass(slots=True, eq=False)
class ClassMeasure(SubjectMeasure):
    """Bodies of rules that imply a class.

    Cost: one sort of the rows for each distinct subject and group of conditions; then a few steps
    for each candidate and class.
    """

    table: Table
    label: Name = field(init=False)
    classes: tuple[Node, ...] = field(init=False)
    which_class: Int64s = field(init=False)

    def __post_init__(self) -> None:
        SubjectMeasure.__post_init__(self)
        template = self.candidates.template
        head = template.form.head
        if not (isinstance(head, Compare) and head.op == "=" and isinstance(head.left, Name)):
            raise SchemaError(
                f"'{to_text(head) if head else ''}' is not a class.",
                where=template.text,
                fix="imply a class, such as '... => sentiment = Y'",
            )
        self.label = head.left
        self.classes = values_of(self.table[head.left.name], most=MOST_VALUES)
        heads, which = self.candidates.filled(head)
        known: list[Node] = [Compare(self.label, "=", value) for value in self.classes]
        place = {node: position for position, node in enumerate(known)}
        self.which_class = np.array([place.get(head, -1) for head in heads], np.int64)[which]

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bodies of every candidate on the rows that the sampler draws from."""
        # Other classes are cut out however few samples they have: the doubt is theirs. Those that
        # have an interval of their own lose that one, so that no two bodies overlap.
        loose = BoundMethod(
            method.delta, method.has_lower, method.has_upper, BoundOptions(min_support=1)
        )
        wants = ForBounds((method, loose))
        classes = tuple(Compare(self.label, "=", value) for value in self.classes)
        conditions = tuple(range(len(self.grid.conditions)))
        order = OrderStatistics(
            sampler.of, self.grid, conditions, tuple(self.subjects), wants, classes
        )
        answers = yield [order]
        shape = (self.candidates.n, len(self.classes))
        made = Bounds(
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.full(shape, -1, np.int64),
            np.zeros(shape, np.bool_),
            np.zeros(shape, np.bool_),
        )
        for subject, ordered in enumerate(answers[0]):
            mine, rare = wants.bounds(ordered, 0), wants.bounds(ordered, 1)
            lacks = np.isnan(mine[0])
            others = np.where(lacks, rare[0], mine[0]), np.where(lacks, rare[1], mine[1])
            for candidate in np.flatnonzero(self.which_subject == subject).tolist():
                self._fill(made, candidate, mine, others)
        if track:
            track(self.candidates.n, self.candidates.n)
        return made

    def _fill(
        self,
        made: Bounds,
        candidate: int,
        bounds: tuple[Floats, Floats, Int64s],
        others: tuple[Floats, Floats],
    ) -> None:
        """Fill in what is left of a class's interval when those of the others are cut out."""
        mine = int(self.which_class[candidate])
        if mine < 0:
            return
        first = self.grid.which[candidate] * self.grid.n_cells + self.cell[candidate]
        block = slice(first * len(self.classes), (first + 1) * len(self.classes))
        low, high, count = (column[block][mine] for column in bounds)
        left = alone(low, high, *(np.delete(column[block], mine) for column in others))
        assert made.strict_lower is not None
        assert made.strict_upper is not None
        made.support[candidate, 0] = count
        for piece, (start, end, no_start, no_end) in enumerate(left):
            made.lower[candidate, piece], made.upper[candidate, piece] = start, end
            made.strict_lower[candidate, piece] = no_start
            made.strict_upper[candidate, piece] = no_end
            made.support[candidate, piece] = count

    def described(self, of: Of) -> Asking[Description | None]:  # noqa: ARG002
        """None: each rule has an interval of its own."""
        return None
        yield  # it asks nothing, but is a generator as the others are

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        body = self._body(candidate, bounds, self.subjects[int(self.which_subject[candidate])])
        head = Compare(self.label, "=", self.classes[int(self.which_class[candidate])])
        return Form(kind="class", given=(*self.given(candidate), body), head=head)

    def _body(self, candidate: int, bounds: Bounds, subject: Node) -> Node:
        assert bounds.strict_lower is not None
        assert bounds.strict_upper is not None
        parts: list[Node] = []
        for piece in np.flatnonzero(~np.isnan(bounds.lower[candidate])):
            low = Number(float(bounds.lower[candidate, piece]))
            high = Number(float(bounds.upper[candidate, piece]))
            low_op = "<" if bounds.strict_lower[candidate, piece] else "<="
            high_op = "<" if bounds.strict_upper[candidate, piece] else "<="
            open_low = not self.method.has_lower and low_op == "<="
            open_high = not self.method.has_upper and high_op == "<="
            if open_low:
                parts.append(Compare(subject, high_op, high))
            elif open_high:
                parts.append(Compare(low, low_op, subject))
            else:
                parts.append(Between(low, low_op, subject, high_op, high))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))


def alone(lower: float, upper: float, other_lower: Floats, other_upper: Floats) -> list[Interval]:
    """What is left of [lower, upper] outside of the other closed intervals, from left to right.

    >>> alone(0.0, 10.0, np.array([3.0, 9.0]), np.array([5.0, 12.0]))
    [(0.0, 3.0, False, True), (5.0, 9.0, True, True)]
    """
    if np.isnan(lower) or np.isnan(upper):
        return []
    left: list[Interval] = []
    start, no_start = float(lower), False
    order = np.argsort(other_lower)
    for low, high in zip(other_lower[order].tolist(), other_upper[order].tolist(), strict=True):
        if np.isnan(low) or high < start or (high == start and no_start):
            continue
        if low > upper:
            break
        if low > start:
            left.append((start, low, no_start, True))
        start, no_start = high, True
    if start < upper or (start == upper and not no_start):
        left.append((start, float(upper), no_start, False))
    return left
