"""Rules about single rows over a table: held, broken, or not applicable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sqrl._kernels import IntervalOutcomes, Intervals, evaluate_intervals
from sqrl._kernels.arrays import Bools, Float32s, Floats, Int32s, Int64s
from sqrl._language.forms import Form
from sqrl._language.kinds import handler
from sqrl._language.tree import Compare, Node, Number
from sqrl._rows.rows import Rows

MOST_KEPT = 1 << 14  # rules of which is known how they are cut
MOST_ROWS_AT_ONCE = 1 << 25  # of all the conditions that wait to be evaluated together


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What became of the rules on some rows.

    Shapes: applicable and broken for each piece of each rule, `piece_of` the rule of a piece; rule,
    row and excess for each broken pair, by rule and then by row, the excess in widths of the
    interval, infinite where that has none.
    """

    applicable: Int64s
    broken: Int64s
    piece_of: Int64s
    rule: Int32s
    row: Int32s
    excess: Float32s


def evaluate_rows(forms: Sequence[Form], rows: Rows) -> Outcomes:
    """The outcomes of rules about single rows on every row.

    Cost: each distinct condition and expression is evaluated once; then one pass over the rows of a
    rule's condition. Memory grows with the broken pairs, not with rules x rows.
    """
    outcomes: dict[int, IntervalOutcomes] = {}
    waiting: dict[int, Intervals] = {}
    conditions: dict[tuple[Node, ...], Int32s] = {}
    for index, form in enumerate(forms):
        made = _as_intervals(form, rows, conditions)
        if made is None:
            outcomes[index] = _evaluate_by_masks(form, rows)
        else:
            waiting[index] = made
        if sum(chosen.size for chosen in conditions.values()) > MOST_ROWS_AT_ONCE:
            outcomes |= zip(waiting, evaluate_intervals(list(waiting.values())), strict=True)
            waiting, conditions = {}, {}
    outcomes |= zip(waiting, evaluate_intervals(list(waiting.values())), strict=True)
    return _joined([outcomes[index] for index in range(len(forms))])


def _joined(outcomes: list[IntervalOutcomes]) -> Outcomes:
    pieces = [one.applicable.size for one in outcomes]
    found = [one.rows.size for one in outcomes]
    applicable = [np.empty(0, np.int64), *(one.applicable for one in outcomes)]
    broken = [np.empty(0, np.int64), *(one.broken for one in outcomes)]
    row = [np.empty(0, np.int32), *(one.rows for one in outcomes)]
    excess = [np.empty(0, np.float32), *(one.excess for one in outcomes)]
    return Outcomes(
        applicable=np.concatenate(applicable),
        broken=np.concatenate(broken),
        piece_of=np.repeat(np.arange(len(outcomes)), pieces),
        rule=np.repeat(np.arange(len(outcomes), dtype=np.int32), found),
        row=np.concatenate(row),
        excess=np.concatenate(excess),
    )


def _as_intervals(
    form: Form, rows: Rows, conditions: dict[tuple[Node, ...], Int32s]
) -> Intervals | None:
    """The rule for the kernel; None where its pieces are not buckets of one expression."""
    found = _pieces_of(_Same(form))
    if found is None:
        return None
    by, cuts, lower, upper = found
    if form.given not in conditions:
        conditions[form.given] = np.flatnonzero(rows.all_true(form.given)).astype(np.int32)
    assert form.subject is not None
    values = rows.numbers(form.subject)
    return Intervals(
        conditions[form.given],
        values,
        values if by is None else rows.numbers(by),
        cuts,
        lower,
        upper,
    )


class _Same:
    """A rule by itself, not by what it says: to look it up takes no look at its tree."""

    __slots__ = ("form",)

    def __init__(self, form: Form) -> None:
        self.form = form

    def __hash__(self) -> int:
        return id(self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.form is self.form


@lru_cache(maxsize=MOST_KEPT)
def _pieces_of(same: _Same) -> tuple[Node | None, Floats, Floats, Floats] | None:
    """What buckets a rule, its cuts and bounds, once for all chunks; None where it has no such."""
    form = same.form
    found = _buckets(form)
    if not form.bounds_rows or found is None:
        return None
    return *found, *interval_ends(form)


def interval_ends(form: Form) -> tuple[Floats, Floats]:
    """The bounds of each piece, infinite where open."""
    lower = [p.lower.value if isinstance(p.lower, Number) else -np.inf for p in form.pieces]
    upper = [p.upper.value if isinstance(p.upper, Number) else np.inf for p in form.pieces]
    return np.array(lower), np.array(upper)


def _buckets(form: Form) -> tuple[Node | None, Floats] | None:
    """The expression that `x <= a else x <= b else ...` buckets, and a, b, ...; None otherwise."""
    *firsts, last = form.pieces or (None,)
    if last is None or last.test is not None:
        return None
    cuts: list[float] = []
    by: Node | None = None
    for piece in firsts:
        test = piece.test
        if not (isinstance(test, Compare) and test.op == "<=" and isinstance(test.right, Number)):
            return None
        if (by is not None and test.left != by) or (cuts and test.right.value <= cuts[-1]):
            return None
        by = test.left
        cuts.append(test.right.value)
    return by, np.array(cuts, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RowOutcome:
    """One rule on every row: where each of its pieces applies, and which rows break it.

    Shapes: each of `applies` and `is_broken` (n_rows,), excess (n_broken,) in the rows' order.
    """

    applies: tuple[Bools, ...]
    is_broken: Bools
    excess: Floats


def _bounded_rows(form: Form, rows: Rows) -> RowOutcome:
    """Whether each row's value lies within the bounds of its piece."""
    assert form.subject is not None
    values = rows.numbers(form.subject)
    left = rows.all_true(form.given) & ~np.isnan(values)
    applies: list[Bools] = []
    excess, is_broken = np.empty(rows.n), np.zeros(rows.n, np.bool_)
    for piece, lower, upper in zip(form.pieces, *interval_ends(form), strict=True):
        here, left = choose(piece.test, left, rows)
        outside = here & ((values < lower) | (values > upper))
        excess[outside] = excess_of(values[outside], lower, upper)
        applies.append(here)
        is_broken |= outside
    return RowOutcome(tuple(applies), is_broken, excess[is_broken])


def _implied_rows(form: Form, rows: Rows) -> RowOutcome:
    """Whether the head holds on each row of the body; a row of another class is infinitely far."""
    assert form.head is not None
    given, head = rows.all_true(form.given), rows.truths(form.head)
    is_broken = given & head.false
    excess = np.full(np.count_nonzero(is_broken), np.inf)
    return RowOutcome((given & (head.true | head.false),), is_broken, excess)


ROW_OUTCOMES: Mapping[str, Callable[[Form, Rows], RowOutcome]] = {
    "sample": _bounded_rows,
    "class": _implied_rows,
}


def row_outcome(form: Form, rows: Rows) -> RowOutcome:
    """One rule about single rows on every row."""
    return handler(ROW_OUTCOMES, form.kind, "rows")(form, rows)


def _evaluate_by_masks(form: Form, rows: Rows) -> IntervalOutcomes:
    """The outcomes of any rule about single rows, with masks over all rows."""
    made = row_outcome(form, rows)
    applicable = [np.count_nonzero(here) for here in made.applies]
    broken = [np.count_nonzero(here & made.is_broken) for here in made.applies]
    with np.errstate(over="ignore"):  # further off than a float32 can say is infinitely far
        excess = made.excess.astype(np.float32)
    found = np.flatnonzero(made.is_broken).astype(np.int32)
    counts = np.array(applicable, np.int64), np.array(broken, np.int64)
    return IntervalOutcomes(*counts, found, excess)


def applicable_rows(form: Form, rows: Rows) -> Bools:
    """The rows that a rule about single rows applies to.

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language.forms import read_form
    >>> from sqrl._language import parse
    >>> rows = Rows(as_table({"a": [1.0, None, 3.0], "x": [1.0, 1.0, None]}), {})
    >>> applicable_rows(read_form(parse("a > 0 => 0 <= x <= 2")), rows).tolist()
    [True, False, False]
    """
    return np.asarray(np.logical_or.reduce(row_outcome(form, rows).applies))


def choose(test: Node | None, left: Bools, rows: Rows) -> tuple[Bools, Bools]:
    """The rows that a piece takes, and those left for the next; an unknown test is for neither."""
    if test is None:
        return left, np.zeros_like(left)
    truths = rows.truths(test)
    return left & truths.true, left & truths.false


def excess_of(values: Floats, lower: float, upper: float) -> Floats:
    """How far outside values lie, in widths of the interval; infinite where that has none.

    >>> excess_of(np.array([5.0, -2.0]), 0.0, 4.0).tolist()
    [0.25, 0.5]
    """
    width = upper - lower
    if not 0 < width < np.inf:
        return np.full(values.shape, np.inf)
    return np.asarray(np.maximum(lower - values, values - upper) / width)
