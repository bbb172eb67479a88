"""Rules about single rows over a table: held, broken, or not applicable."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import is_
from typing import NamedTuple

import numpy as np

from sqrl._kernels import Bounded, Family, arrange, evaluate_family
from sqrl._kernels.arrays import Bools, Float32s, Floats, Int32s, Int64s
from sqrl._language.forms import Form
from sqrl._language.kinds import handler
from sqrl._language.tree import Compare, Node, Number
from sqrl._rows.rows import Rows, category_of

MOST_PLANS = 32  # sets of rules of which is known how they are evaluated
MOST_TOGETHER = 1 << 10  # rules in a family: of more, few rows would fit at a time


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
    found: dict[int, _Found] = {}
    families = _families(_SameForms(tuple(forms)))
    for one, chosen in zip(families, _chosen_rows(families, rows), strict=True):
        columns = [rows.numbers(node) for node in one.expressions]
        made = evaluate_family(one.family, chosen, columns)
        ends, first_piece, first = np.cumsum(made.found), 0, 0
        for place, n_pieces, end in zip(one.places, one.n_pieces, ends.tolist(), strict=True):
            pieces, pairs = slice(first_piece, first_piece + n_pieces), slice(first, end)
            found[place] = _Found(
                made.applicable[pieces], made.broken[pieces], made.rows[pairs], made.excess[pairs]
            )
            first_piece, first = pieces.stop, end
    for place, form in enumerate(forms):
        if place not in found:
            found[place] = _evaluate_by_masks(form, rows)
    return _joined([found[place] for place in range(len(forms))])


def _chosen_rows(families: Sequence["_RuleFamily"], rows: Rows) -> Iterator[Int32s]:
    """The rows of each family's condition; those of several categories of a column at once."""
    words: dict[str, dict[str, int]] = {}
    for one in families:
        if one.category is not None:
            name, word = one.category
            mine = words.setdefault(name, {})
            mine.setdefault(word, len(mine))
    divided = {
        name: rows.rows_of(name, tuple(mine))
        for name, mine in words.items()
        if len(mine) > 1 and rows.is_category(name)
    }
    for one in families:
        if one.category is not None and one.category[0] in divided:
            name, word = one.category
            yield divided[name][words[name][word]]
        else:
            yield np.flatnonzero(rows.all_true(one.given)).astype(np.int32)


class _Found(NamedTuple):
    """What became of one rule: counts for each piece, and the broken rows with their excess."""

    applicable: Int64s
    broken: Int64s
    rows: Int32s
    excess: Float32s


def _joined(outcomes: list[_Found]) -> Outcomes:
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


class _SameForms:
    """Rules by themselves, not by what they say: to look them up takes no look at their trees."""

    __slots__ = ("forms",)

    def __init__(self, forms: tuple[Form, ...]) -> None:
        self.forms = forms

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.forms)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _SameForms) or len(other.forms) != len(self.forms):
            return False
        return all(map(is_, self.forms, other.forms))


@dataclass(frozen=True, slots=True, eq=False)
class _RuleFamily:
    """Rules with one condition that a kernel evaluates together.

    `category` is the column and the word that the condition names, where it is no more than that.
    `expressions` are the family's columns; `places` the rules' among all, in the family's order,
    with how many pieces each has.
    """

    given: tuple[Node, ...]
    category: tuple[str, str] | None
    expressions: tuple[Node, ...]
    family: Family
    places: tuple[int, ...]
    n_pieces: tuple[int, ...]


@lru_cache(maxsize=MOST_PLANS)
def _families(same: _SameForms) -> tuple[_RuleFamily, ...]:
    """The families of some rules, made once for all chunks of rows; other rules go by masks."""
    by_condition: dict[tuple[Node, ...], list[int]] = {}
    for place, form in enumerate(same.forms):
        if suits_family(form):
            by_condition.setdefault(form.given, []).append(place)
    parts = (
        places[first : first + MOST_TOGETHER]
        for places in by_condition.values()
        for first in range(0, len(places), MOST_TOGETHER)
    )
    return tuple(_make_family(same.forms, places) for places in parts)


def _make_family(forms: Sequence[Form], places: list[int]) -> _RuleFamily:
    """Rules that have the same condition, for the kernel."""
    expressions: dict[Node, int] = {}

    def column_of(node: Node | None) -> int:
        return -1 if node is None else expressions.setdefault(node, len(expressions))

    bounded = []
    for place in places:
        found = _buckets(forms[place])
        assert found is not None
        subject, (by, cuts) = column_of(forms[place].subject), found
        bounded.append(Bounded(subject, column_of(by), cuts, *interval_ends(forms[place])))
    order, family = arrange(bounded)
    given = forms[places[0]].given
    return _RuleFamily(
        given,
        category_of(given),
        tuple(expressions),
        family,
        tuple(places[at] for at in order),
        tuple(bounded[at].lower.size for at in order),
    )


def suits_family(form: Form) -> bool:
    """Whether a rule bounds rows, and its pieces are rising buckets of one expression."""
    return form.bounds_rows and _buckets(form) is not None


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


def _evaluate_by_masks(form: Form, rows: Rows) -> _Found:
    """The outcomes of any rule about single rows, with masks over all rows."""
    made = row_outcome(form, rows)
    applicable = [np.count_nonzero(here) for here in made.applies]
    broken = [np.count_nonzero(here & made.is_broken) for here in made.applies]
    with np.errstate(over="ignore"):  # further off than a float32 can say is infinitely far
        excess = made.excess.astype(np.float32)
    found = np.flatnonzero(made.is_broken).astype(np.int32)
    counts = np.array(applicable, np.int64), np.array(broken, np.int64)
    return _Found(*counts, found, excess)


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
