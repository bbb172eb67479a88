"""Formulas as SQL conditions: true, false, or NULL just where `check` says unknown."""

from collections.abc import Sequence

from sqlglot import exp

from sqrl._language import tree
from sqrl._language.parser import is_formula
from sqrl._language.tree import Node, Number, Truth, Word
from sqrl._rows.rows import category_text
from sqrl.export._columns import number_of, refuse_unwritable
from sqrl.export._steps import SqlSteps, double

_ORDER = {"=": exp.EQ, "!=": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}


def condition(node: Node, steps: SqlSteps) -> exp.Expression:  # noqa: PLR0911  (a case for each node)
    """The formula as a condition about the columns of `steps`."""
    match node:
        case tree.Not(item):
            return exp.Not(this=exp.Paren(this=condition(item, steps)))
        case tree.And(items):
            return exp.and_(*[condition(item, steps) for item in items], copy=False)
        case tree.Or(items):
            return exp.or_(*[condition(item, steps) for item in items], copy=False)
        case tree.Implies(body, head):
            return exp.or_(condition(tree.Not(body), steps), condition(head, steps), copy=False)
        case tree.Choice():
            return _choice(node, steps)
        case tree.Known(item):
            return exp.Not(this=is_null(_value(item, steps)))
        case tree.Name():
            return exp.EQ(this=steps.number(node), expression=double(1.0))
    return _comparison(node, steps)


def _value(item: Node, steps: SqlSteps) -> exp.Expression:
    """A column, expression or condition that is NULL where it is not known."""
    if is_formula(item):
        return exp.Paren(this=condition(item, steps))
    if isinstance(item, tree.Name) and steps.holds_categories(item.name):
        return steps.text(item.name)
    return steps.number(item)


def all_of(nodes: Sequence[Node], steps: SqlSteps) -> exp.Expression | None:
    """The condition that all formulas hold; None where there are none."""
    if not nodes:
        return None
    return exp.and_(*[condition(node, steps) for node in nodes], copy=False)


def given(where: exp.Expression | None, then: exp.Expression) -> exp.Expression:
    """What to say where a condition holds, and NULL elsewhere."""
    return then if where is None else exp.Case().when(where, then)


def choose(
    pieces: Sequence[tuple[Node, exp.Expression]], last: exp.Expression | None, steps: SqlSteps
) -> exp.Expression:
    """What the first piece says whose test is true; NULL where it is unknown which that is."""
    made = exp.Case()
    asked: set[exp.Expression] = set()
    for test, then in pieces:
        turn = _test(test, steps)
        # One comparison of a value with a number is unknown just where all of them are.
        is_cut = isinstance(test, tree.Compare) and isinstance(test.right, Number)
        doubtful = turn.this if is_cut else exp.Paren(this=turn)
        if doubtful not in asked:
            asked.add(doubtful)
            made = made.when(is_null(doubtful.copy()), exp.Null(), copy=False)
        made = made.when(turn.copy(), then, copy=False)
    return made if last is None else made.else_(last, copy=False)


def is_null(value: exp.Expression) -> exp.Expression:
    """Whether a value is missing or a condition unknown."""
    return exp.Is(this=value, expression=exp.Null())


def _test(node: Node, steps: SqlSteps) -> exp.Expression:
    """A test, short enough to be written twice."""
    made = condition(node, steps)
    is_short = isinstance(node, tree.Compare | tree.Between | tree.In | tree.Name)
    return made if is_short else steps.name(made)


def _choice(node: tree.Choice, steps: SqlSteps) -> exp.Expression:
    """The pieces one after the other: a loop, as there can be hundreds."""
    pieces: list[tuple[Node, exp.Expression]] = []
    rest: Node = node
    while isinstance(rest, tree.Choice):
        pieces.append((rest.test, condition(rest.then, steps)))
        rest = rest.otherwise
    return choose(pieces, condition(rest, steps), steps)


def _comparison(node: Node, steps: SqlSteps) -> exp.Expression:
    match node:
        case tree.In(item, values):
            return _member(item, values, steps)
        case tree.Compare(left, op, Word() | Truth() | Number() as right) if op in {"=", "!="}:
            equal = _member(left, (right,), steps)
            return equal if op == "=" else exp.Not(this=equal)
        case tree.Compare(left, op, right):
            return _ORDER[op](this=steps.number(left), expression=steps.number(right))
    assert isinstance(node, tree.Between), node
    middle = steps.number(node.item)
    above = _ORDER[node.lower_op](this=steps.number(node.lower), expression=middle)
    below = _ORDER[node.upper_op](this=middle.copy(), expression=steps.number(node.upper))
    return exp.and_(above, below, copy=False)


def _member(item: Node, values: tuple[Node, ...], steps: SqlSteps) -> exp.Expression:
    """Whether the item is one of the values: as a category or as a number."""
    if isinstance(item, tree.Name) and steps.holds_categories(item.name):
        texts = dict.fromkeys(map(category_text, values))
        for text in texts:
            refuse_unwritable(text, "category")
        return _is_one_of(steps.text(item.name), [exp.Literal.string(text) for text in texts])
    numbers = dict.fromkeys(number_of(item, value) for value in values)
    return _is_one_of(steps.number(item), [double(number) for number in numbers])


def _is_one_of(item: exp.Expression, values: list[exp.Expression]) -> exp.Expression:
    if len(values) == 1:
        return exp.EQ(this=item, expression=values[0])
    return exp.In(this=item, expressions=values)
