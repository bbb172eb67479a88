"""Statistics of counts as formulas: plain arithmetic runs on arrays, on tensors and in databases.

A function of four counts that only adds, subtracts, multiplies, squares and divides is called once
with symbols for numbers. What comes back is a tree that any compiler can follow, with a
division of its own: one that is undefined where the divisor is zero, and then has no gradient.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from sqrl._language.tree import Binary, Name, Node, Number

COUNTS = ("body", "head", "both", "rows")
T = TypeVar("T")


class Symbol:
    """A count that is not known yet; arithmetic with it gives another symbol, anything else raises.

    >>> (2.0 * Symbol(Name("both"))).node
    Binary(op='*', left=Number(value=2.0), right=Name(name='both'))
    """

    __array_ufunc__ = None  # so that numpy's numbers leave the arithmetic to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node) -> None:
        self.node = node

    def __add__(self, other: Any) -> "Symbol":
        return _apply("+", self, other)

    def __radd__(self, other: Any) -> "Symbol":
        return _apply("+", other, self)

    def __sub__(self, other: Any) -> "Symbol":
        return _apply("-", self, other)

    def __rsub__(self, other: Any) -> "Symbol":
        return _apply("-", other, self)

    def __mul__(self, other: Any) -> "Symbol":
        return _apply("*", self, other)

    def __rmul__(self, other: Any) -> "Symbol":
        return _apply("*", other, self)

    def __truediv__(self, other: Any) -> "Symbol":
        return _apply("/", self, other)

    def __rtruediv__(self, other: Any) -> "Symbol":
        return _apply("/", other, self)

    def __pow__(self, power: Any) -> "Symbol":
        if power != 2:
            raise TypeError("a symbol has no power but its square")
        return self * self

    def __neg__(self) -> "Symbol":
        return _apply("*", -1.0, self)

    def __eq__(self, other: object) -> bool:
        raise TypeError("a symbol is not compared")

    def __bool__(self) -> bool:
        raise TypeError("a symbol is neither true nor false")


def _apply(op: str, left: Any, right: Any) -> Symbol:
    return Symbol(Binary(op, _node(left), _node(right)))


def _node(value: Any) -> Node:
    return value.node if isinstance(value, Symbol) else Number(float(value))


@cache
def formula_of(function: Callable[..., Any]) -> Node | None:
    """The formula that a function of the four counts computes; None where it is not arithmetic.

    >>> from sqrl._language.printer import to_text
    >>> to_text(formula_of(lambda body, head, both, rows: both / (body + head - both)))
    'both / (body + head - both)'
    """
    try:
        made = function(*(Symbol(Name(name)) for name in COUNTS))
    except Exception:  # a function may do anything to what is not an array
        return None
    return made.node if isinstance(made, Symbol) else None


def compute(formula: Node, leaf: Callable[[Node], T], apply: Callable[[str, T, T], T]) -> T:
    """The formula computed with what `leaf` makes of names and numbers, and `apply` of operators.

    >>> tree = formula_of(lambda body, head, both, rows: 2 * both)
    >>> compute(tree, lambda leaf: 3 if leaf == Name("both") else 2, lambda op, a, b: (a, op, b))
    (2, '*', 3)
    """
    if isinstance(formula, Binary):
        sides = (compute(side, leaf, apply) for side in (formula.left, formula.right))
        return apply(formula.op, *sides)
    return leaf(formula)
