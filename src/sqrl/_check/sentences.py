"""What is wrong with a row, in a sentence for each rule that it breaks."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sqrl._check.violations import Violations
from sqrl._data.column import Column
from sqrl._kernels.arrays import Bools, Floats
from sqrl._language.forms import Form, Piece, sentence_of
from sqrl._language.printer import item_text, number_text, to_text
from sqrl._language.tree import (
    Between,
    Compare,
    In,
    Known,
    Name,
    Node,
    Not,
    Number,
    Or,
    Truth,
    Word,
    conjuncts,
    rewrite,
)
from sqrl._rows.rows import Rows, category_text
from sqrl._rows.truths import Truths
from sqrl._rules.label import value_text
from sqrl.errors import DataError

DIGITS = 4
MOST_LISTED = 4  # values that a sentence names
MOST_DIGITS = 17  # of a float
WIDEST = 1e15  # from here on a number is written with an exponent
_SIDES = {"<=": "up to", "<": "below", ">": "above", ">=": "of at least"}


class RowColumns(Protocol):
    """The columns of one row."""

    def __getitem__(self, name: str, /) -> Column:
        """The column with this name, of one value."""
        ...


class RowView(Protocol):
    """One row, of which sentences speak: `Rows` of a table of one, or a row that is guarded."""

    @property
    def table(self) -> RowColumns:
        """The row's columns."""
        ...

    @property
    def statistics(self) -> Mapping[str, Node]:
        """Derived columns, by name."""
        ...

    def numbers(self, node: Node, /) -> Floats:
        """The value of an expression."""
        ...

    def truths(self, node: Node, /) -> Truths[Bools]:
        """Whether a formula is true, and whether it is false."""
        ...

    def all_true(self, nodes: tuple[Node, ...], /) -> Bools:
        """Whether all formulas are true."""
        ...


def sentence(violations: Violations, rule: int, row: int) -> str:
    """Why a row breaks a rule: its value, the bound it misses, and for whom the bound holds.

    >>> from sqrl._check.check import check
    >>> from sqrl._rules.ruleset import RuleSet
    >>> rules = RuleSet.from_texts(["kind = a => 0 <= x <= 47795.75"], coverage=[0.98])
    >>> sentence(check(rules, {"kind": ["a"], "x": [61203.0]}), 0, 0)
    'x 61,203 is above 47,796, the most that 99 % of rows with kind = a have'
    """
    return _sentence(violations, rule, row, _row(violations, row))


def row_sentences(violations: Violations, row: int) -> list[str]:
    """A sentence for each rule that a row breaks, the one it breaks worst first."""
    mine = np.flatnonzero(violations.pair_row == row)
    worst = np.argsort(-violations.pair_excess[mine], kind="stable")
    return sentences_of(violations, row, violations.pair_rule[mine[worst]].tolist())


def sentences_of(violations: Violations, row: int, rules: Sequence[int]) -> list[str]:
    """A sentence for each of some rules that a row breaks."""
    here = _row(violations, row)
    return [_sentence(violations, rule, row, here) for rule in rules]


def readable(value: float, *, digits: int = DIGITS) -> str:
    """A number for the eye: commas between thousands, and no more digits than it takes.

    >>> readable(47795.75), readable(0.0307692), readable(3.0), readable(-1e-9)
    ('47,796', '0.03077', '3', '-1e-09')
    """
    if not math.isfinite(value) or abs(value) >= WIDEST or 0 < abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _row(violations: Violations, row: int) -> Rows:
    table = violations.table.take(np.array([row]))
    return Rows(table, violations.rules.statistics())


def _sentence(violations: Violations, rule: int, row: int, here: RowView) -> str:
    form = violations.rules.form(rule)
    coverage = violations.rules[rule].coverage
    made = reason(form, coverage, here, predicted=violations.prediction is not None)
    if made is None:
        raise DataError(
            f"Row {row} does not break rule {rule}.",
            where=violations.rules[rule].text,
            fix="take the pairs from violations.pair_rule and violations.pair_row",
        )
    return made


def reason(form: Form, coverage: float | None, here: RowView, *, predicted: bool) -> str | None:
    """Why a row breaks a rule about rows, in a sentence; None where it does not."""
    if not form.is_single or not here.all_true(form.given).all():
        return None
    if form.bounds_rows:
        return _interval_sentence(form, coverage, here)
    if form.implies_class:
        return _class_sentence(form, here, alone=coverage is not None, predicted=predicted)
    return f"it does not keep '{to_text(sentence_of(form))}'"


def _interval_sentence(form: Form, coverage: float | None, here: RowView) -> str | None:
    assert form.subject is not None
    value = float(here.numbers(form.subject)[0])
    piece, bucket = _piece(form, here)
    if piece is None or math.isnan(value):
        return None
    lower, upper = _number(piece.lower), _number(piece.upper)
    if upper is not None and value > upper:
        bound, side, extreme = upper, "above", "most"
    elif lower is not None and value < lower:
        bound, side, extreme = lower, "below", "least"
    else:
        return None
    shown, limit = _distinct(value, bound)
    conditions = " and ".join([*map(phrase, form.given), *bucket])
    whose = f"rows with {conditions}" if conditions else "all rows"
    if coverage is None:
        held = f"{whose} may have"
    elif coverage == 1:
        held = f"any row {f'with {conditions} ' if conditions else ''}had"
    else:
        sides = (lower is not None) + (upper is not None)
        share = 100.0 * (1.0 - (1.0 - coverage) / sides)
        held = f"{round(share, 6):.6g} % of {whose} have"
    return f"{_item(form.subject)} {shown} is {side} {limit}, the {extreme} that {held}"


def _piece(form: Form, here: RowView) -> tuple[Piece | None, list[str]]:
    """The piece whose turn it is on the row, and the bucket that this makes, in words."""
    low: dict[Node, float] = {}
    high: dict[Node, float] = {}
    others: list[str] = []
    for piece in form.pieces:
        failed = None
        for part in conjuncts(piece.test):
            truths = here.truths(part)
            if not (truths.true | truths.false).all():
                return None, []
            if truths.false.all():
                failed = part
                break
        match failed:
            case None:
                for part in conjuncts(piece.test):
                    match part:
                        case Compare(item, "<=", Number(cut)):
                            high[item] = cut
                        case _:
                            others.append(phrase(part))
                return piece, _ranges(low, high) + others
            case Compare(item, "<=", Number(cut)):
                low[item] = max(cut, low.get(item, -math.inf))
            case _:
                others.append(phrase(Not(failed)))
    return None, []


def _ranges(low: dict[Node, float], high: dict[Node, float]) -> list[str]:
    """Each bucketed expression with the part of its values that a bucket takes."""
    return [
        phrase(Between(Number(low[item]), "<", item, "<=", Number(high[item])))
        if item in low and item in high
        else phrase(
            Compare(item, "<=", Number(high[item]))
            if item in high
            else Compare(item, ">", Number(low[item]))
        )
        for item in dict.fromkeys([*low, *high])
    ]


def _class_sentence(form: Form, here: RowView, *, alone: bool, predicted: bool) -> str | None:
    assert form.head is not None
    if not here.truths(form.head).false.all():
        return None
    if (lacked := _lacked(form, here)) is not None:
        return lacked
    *conditions, last = form.given
    claim = _valued(last, here)
    verb = "belongs to" if claim else "implies"
    only = " alone" if claim and alone else ""
    where = f" where {' and '.join(map(phrase, conditions))}" if conditions else ""
    return (
        f"{claim or phrase(last)} {verb} {phrase(form.head)}{only}{where}, "
        f"and {_said(form.head, here, predicted=predicted)}"
    )


def _lacked(form: Form, here: RowView) -> str | None:
    """What is wrong where a rule is about which values there are; None for one about a class."""
    where = f"in rows with {' and '.join(map(phrase, form.given))}" if form.given else "in all rows"
    match form.head:
        case Known(item):
            return f"{_item(item)} is missing, and {where} it is known"
        case In(item, values):
            allowed = f"one of {len(values):,} other values"
            if len(values) <= MOST_LISTED:
                allowed = " or ".join(_one_line(category_text(value)) for value in values)
        case Compare(item, "=", Number() | Truth() | Word() as value) if not form.given:
            allowed = _one_line(category_text(value))
        case head if not form.given and head is not None:
            return f"it does not keep '{phrase(head)}'"
        case _:
            return None
    return f"{_item(item)} is {_value_of(item, here)}, and {where} it is {allowed}"


def _value_of(item: Node, here: RowView) -> str:
    if isinstance(item, Name):
        return _value(item.name, here)
    return readable(float(here.numbers(item)[0]))


def _valued(node: Node, here: RowView) -> str | None:
    """The expression that a condition bounds, with its value; None for other conditions."""
    items: set[Node] = set()
    for part in node.items if isinstance(node, Or) else (node,):
        match part:
            case Compare(item, "<" | "<=" | ">" | ">=", Number()):
                items.add(item)
            case Compare(Number(), "<" | "<=" | ">" | ">=", item):
                items.add(item)
            case Between(Number(), _, item, _, Number()):
                items.add(item)
            case _:
                return None
    if len(items) != 1:
        return None
    (item,) = items
    return f"{_item(item)} {readable(float(here.numbers(item)[0]))}"


def _said(head: Node, here: RowView, *, predicted: bool) -> str:
    """The value that this row has instead of the head's."""
    match head:
        case Compare(Name(name), "=", _) | In(Name(name), _):
            subject = "the prediction" if predicted else _one_line(name)
            return f"{subject} is {_value(name, here)}"
    return f"this is not so: {phrase(head)}"


def _value(name: str, here: RowView) -> str:
    if name in here.statistics:
        return readable(float(here.numbers(Name(name))[0]))
    return _one_line(value_text(here.table[name].distinct()[0]))


def phrase(node: Node) -> str:
    """A condition in words."""
    match node:
        case Compare(Number(cut), "<" | "<=" as op, item):
            return f"{_item(item)} {_SIDES['>' if op == '<' else '>=']} {readable(cut)}"
        case Compare(item, "<" | "<=" | ">" | ">=" as op, Number(cut)):
            return f"{_item(item)} {_SIDES[op]} {readable(cut)}"
        case Between(Number(low), _, item, _, Number(high)):
            least, most = _distinct(low, high)
            return f"{_item(item)} between {least} and {most}"
        case Compare(item, "=", Number() | Truth() | Word() as value):
            return f"{_item(item)} = {_one_line(category_text(value))}"
        case Name() | Not(Name()):
            return f"not {_item(node.item)}" if isinstance(node, Not) else _item(node)
    return _one_line(item_text(rewrite(node, _shortened)))


def _shortened(node: Node) -> Node | None:
    if not isinstance(node, Number) or not abs(node.value) < WIDEST:
        return None
    return Number(float(readable(node.value).replace(",", "")))


def _item(node: Node) -> str:
    """An expression by name where it has one: a name with spaces needs no backticks here."""
    return _one_line(node.name if isinstance(node, Name) else to_text(node))


def _distinct(value: float, bound: float) -> tuple[str, str]:
    """Two different numbers with as many digits as it takes to tell them apart."""
    for digits in range(DIGITS, MOST_DIGITS):
        texts = readable(value, digits=digits), readable(bound, digits=digits)
        if texts[0] != texts[1]:
            return texts
    return number_text(value), number_text(bound)


def _number(node: Node | None) -> float | None:
    return node.value if isinstance(node, Number) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
