"""Trees compiled to plain functions of one row: what `Rows` computes, without arrays."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqrl._language.parser import is_formula
from sqrl._language.tree import (
    And,
    Between,
    Binary,
    Call,
    Choice,
    Compare,
    Implies,
    In,
    Known,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Or,
    Truth,
    Word,
)
from sqrl._rows import row_functions as of_row
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.row_functions import Cells, NumberOf, TruthOf
from sqrl._rows.rows import KEY, category_text, check_call


@dataclass(frozen=True, slots=True)
class Compiler:
    """Makes functions of a row's cells, the same function for the same tree.

    >>> from sqrl._language import parse_formula
    >>> compiler = Compiler({})
    >>> compiler.number(parse_formula("w / h"))({"w": 1.0, "h": 2.0})
    0.5
    >>> compiler.truth(parse_formula("not w > 1"))({"w": float("nan")}) is None
    True
    """

    statistics: Mapping[str, Node]
    _numbers: dict[Node, NumberOf] = field(default_factory=dict)
    _truths: dict[Node, TruthOf] = field(default_factory=dict)

    def number(self, node: Node) -> NumberOf:
        """The expression's value on a row; nan where it is missing or undefined."""
        if node not in self._numbers:
            self._numbers[node] = self._compute(node)
        return self._numbers[node]

    def truth(self, node: Node) -> TruthOf:
        """Whether the formula holds on a row; None where that is unknown."""
        if node not in self._truths:
            self._truths[node] = self._decide(node)
        return self._truths[node]

    def _compute(self, node: Node) -> NumberOf:  # noqa: PLR0911  (one for each node)
        match node:
            case Number(value):
                return lambda _: value
            case Name(name) if name in self.statistics:
                return self.number(self.statistics[name])
            case Name(name):
                return of_row.column(name)
            case Negative(item):
                of_item = self.number(item)
                return lambda cells: -of_item(cells)
            case Binary(op, left, right):
                return of_row.ARITHMETIC[op](self.number(left), self.number(right))
            case Call(function, (Name(name),)) if function in COLUMN_FUNCTIONS:
                return (
                    of_row.of_column(function, name) if name not in self.statistics else of_row.odd
                )
            case Call(function, arguments) if function != KEY:
                check_call(node)
                return of_row.call(function, [self.number(one) for one in arguments])
        return of_row.odd

    def _decide(self, node: Node) -> TruthOf:  # noqa: PLR0911
        match node:
            case Not(item):
                return of_row.negated(self.truth(item))
            case And(items):
                return of_row.all_of([self.truth(item) for item in items])
            case Or(items):
                return of_row.any_of([self.truth(item) for item in items])
            case Implies(body, head):
                return of_row.any_of([of_row.negated(self.truth(body)), self.truth(head)])
            case Choice(then, test, otherwise):
                return of_row.chosen(self.truth(then), self.truth(test), self.truth(otherwise))
            case Known(item):
                return self._known(item)
            case Name():
                return of_row.boolean(self.number(node))
        return self._compare(node)

    def _compare(self, node: Node) -> TruthOf:
        match node:
            case In(item, values):
                return self._member(item, values)
            case Compare(left, "=", Word() | Truth() | Number() as right):
                return self._member(left, (right,))
            case Compare(left, "!=", Word() | Truth() | Number() as right):
                return of_row.negated(self._member(left, (right,)))
            case Compare(left, op, right):
                return of_row.ordered(self.number(left), op, self.number(right))
            case Between(lower, lower_op, middle, upper_op, upper):
                above = of_row.ordered(self.number(lower), lower_op, self.number(middle))
                return of_row.all_of(
                    [above, of_row.ordered(self.number(middle), upper_op, self.number(upper))]
                )
        return of_row.odd

    def _known(self, item: Node) -> TruthOf:
        if is_formula(item):
            holds = self.truth(item)
            return lambda cells: holds(cells) is not None
        if isinstance(item, Name) and item.name not in self.statistics:
            name = item.name
            return lambda cells: cells[name] == cells[name]  # nan is missing
        value = self.number(item)
        return lambda cells: not math.isnan(value(cells))

    def _member(self, item: Node, values: tuple[Node, ...]) -> TruthOf:
        words = frozenset(map(category_text, values))
        numbers = frozenset(map(_number_of, values))
        if isinstance(item, Name) and item.name not in self.statistics:
            return of_row.cell_member(item.name, words, numbers)
        value = self.number(item)

        def is_member(cells: Cells) -> bool | None:
            number = value(cells)
            if number != number:  # noqa: PLR0124
                return None
            if None in numbers:
                raise of_row.OddRowError
            return number in numbers

        return is_member


def _number_of(value: Node) -> float | None:
    """The number that a constant is; None for words that are none."""
    match value:
        case Number(number):
            return number
        case Truth(truth):
            return float(truth)
        case Word(text):
            try:
                number = float(text)
            except ValueError:
                return None
            return number if math.isfinite(number) else None
    return None
