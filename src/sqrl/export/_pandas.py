"""Expressions and formulas as Python code about a pandas frame, as trees that Python itself spells.

A tree of `ast` has no text to break out of: names and categories are constants in it.
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from sqrl._data.table import Table
from sqrl._language import tree
from sqrl._language.names import sequence_of
from sqrl._language.parser import is_formula
from sqrl._language.tree import Node, Number, Truth, Word
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import Rows, category_text, check_call
from sqrl.export._columns import Columns, number_of

FRAME = ast.Name("frame")
_OPERATORS: dict[str, Callable[[], ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
}
_ORDER: dict[str, Callable[[], ast.cmpop]] = {
    "=": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_FUNCTIONS = {"min": "smallest", "max": "largest"}
_NOTHING = Rows(Table({}, 1, "rules"), {})  # what names no column is the same on any row


@dataclass(slots=True, eq=False)
class Code:
    """Code for trees; each derived statistic that they name becomes a function."""

    columns: Columns
    statistics: Mapping[str, Node]
    functions: dict[str, ast.expr] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)

    def number(self, node: Node) -> ast.expr:  # noqa: PLR0911  (a case for each node)
        """The expression: a float, or a series of numbers."""
        if not _names_a_column(node):
            value = float(_NOTHING.numbers(node)[0])
            return call("missing", FRAME) if math.isnan(value) else ast.Constant(value)
        match node:
            case tree.Name(name) if name in self.statistics:
                return call(self._statistic(name), FRAME)
            case tree.Name(name) if name in self.columns.computed:
                return call("number", self._sequence(name))
            case tree.Name(name):
                return call("number", self._column(name))
            case tree.Negative(item):
                return ast.UnaryOp(ast.USub(), self.number(item))
            case tree.Binary("**", base, exponent):
                power = _attribute("np", "power")
                return call("apply", power, self.number(base), self.number(exponent))
            case tree.Binary(op, left, right):
                made = ast.BinOp(self.number(left), _OPERATORS[op](), self.number(right))
                return call("finite", made)
        assert isinstance(node, tree.Call), node
        check_call(node)
        if node.function in COLUMN_FUNCTIONS:
            (item,) = node.arguments
            assert isinstance(item, tree.Name)
            kind = f"of_{COLUMN_FUNCTIONS[node.function].of}"
            return call(kind, self._column(item.name), ast.Constant(node.function))
        own = _FUNCTIONS.get(node.function)
        applied = ast.Name(own) if own else _attribute("np", node.function)
        return call("apply", applied, *map(self.number, node.arguments))

    def truth(self, node: Node) -> ast.expr:  # noqa: PLR0911  (a case for each node)
        """The formula: a series of truths."""
        if not _names_a_column(node):
            truths = _NOTHING.truths(node)
            value = True if truths.true[0] else False if truths.false[0] else None
            return call("constant", FRAME, ast.Constant(value))
        match node:
            case tree.Not(item):
                return ast.UnaryOp(ast.Invert(), self.truth(item))
            case tree.And(items):
                return joined(ast.BitAnd(), [self.truth(item) for item in items])
            case tree.Or(items):
                return joined(ast.BitOr(), [self.truth(item) for item in items])
            case tree.Implies(body, head):
                return joined(ast.BitOr(), [self.truth(tree.Not(body)), self.truth(head)])
            case tree.Choice():
                return self._choice(node)
            case tree.Known(item):
                return call("known", self._value(item))
            case tree.Name():
                return ast.Compare(self.number(node), [ast.Eq()], [ast.Constant(1.0)])
        return self._comparison(node)

    def _sequence(self, name: str) -> ast.expr:
        """A column that follows from the rows before."""
        made, row_order = sequence_of(name), self.columns.row_order
        assert row_order is not None
        keys = [
            ast.List([ast.Constant(self.columns.place(key)) for key in names])
            for names in (row_order.entity, row_order.order)
        ]
        if made is None:
            when = self.number(tree.Name(row_order.order[0]))
            return call("delta", FRAME, when, *keys, ast.Constant(1))
        value = self._value(tree.Name(made.of))
        return call(made.function, FRAME, value, *keys, ast.Constant(made.n_rows))

    def _column(self, name: str) -> ast.expr:
        if name in self.columns.computed:
            return self._sequence(name)
        return ast.Subscript(FRAME, ast.Constant(self.columns.place(name)))

    def _statistic(self, name: str) -> str:
        """The function that computes a derived statistic: written once, however often named."""
        if name not in self._named:
            self._named[name] = f"statistic_{len(self._named) + 1}"
            self.functions[self._named[name]] = self.number(self.statistics[name])
        return self._named[name]

    def _choice(self, node: Node) -> ast.expr:
        """The pieces one after the other: a loop, as there can be hundreds."""
        pieces = []
        while isinstance(node, tree.Choice):
            pieces.append((self.truth(node.test), self.truth(node.then)))
            node = node.otherwise
        return choice(pieces, self.truth(node))

    def _comparison(self, node: Node) -> ast.expr:
        match node:
            case tree.In(item, values):
                return self._member(item, values)
            case tree.Compare(left, op, Word() | Truth() | Number() as right) if op in {"=", "!="}:
                equal = self._member(left, (right,))
                return equal if op == "=" else ast.UnaryOp(ast.Invert(), equal)
            case tree.Compare(left, op, right):
                return ast.Compare(self.number(left), [_ORDER[op]()], [self.number(right)])
        assert isinstance(node, tree.Between), node
        above = tree.Compare(node.lower, node.lower_op, node.item)
        below = tree.Compare(node.item, node.upper_op, node.upper)
        return joined(ast.BitAnd(), [self.truth(above), self.truth(below)])

    def _member(self, item: Node, values: tuple[Node, ...]) -> ast.expr:
        wanted: Sequence[str | float]
        if self._holds_categories(item):
            wanted = [category_text(value) for value in values]
        else:
            wanted = [number_of(item, value) for value in values]
        made = self._value(item)
        return call("member", made, ast.List([ast.Constant(value) for value in wanted]))

    def _value(self, item: Node) -> ast.expr:
        """A column, expression or formula that is missing where it is not known."""
        if isinstance(item, tree.Name) and self._holds_categories(item):
            return call("text", self._column(item.name))
        return self.truth(item) if is_formula(item) else self.number(item)

    def _holds_categories(self, item: Node) -> bool:
        if not isinstance(item, tree.Name) or item.name in self.statistics:
            return False
        return self.columns.holds[item.name] in {"category", "date"}


def call(function: str, *arguments: ast.expr) -> ast.expr:
    """A call of a function by its name."""
    return ast.Call(ast.Name(function), list(arguments), [])


def joined(operator: ast.operator, parts: Sequence[ast.expr]) -> ast.expr:
    """The parts with an operator between them."""
    return reduce(lambda left, right: ast.BinOp(left, operator, right), parts)


def choice(pieces: Sequence[tuple[ast.expr, ast.expr]], last: ast.expr | None) -> ast.expr:
    """What the first piece says whose test is true."""
    pairs: list[ast.expr] = [ast.Tuple(list(pair)) for pair in pieces]
    return call("choose", ast.List(pairs), last or ast.Constant(None))


def _attribute(module: str, name: str) -> ast.expr:
    return ast.Attribute(ast.Name(module), name)


def _names_a_column(node: Node) -> bool:
    return any(isinstance(part, tree.Name) for part in tree.walk(node))
