"""Truths: where a formula is true and where it is false, and what connectives make of them.

Unknown spreads as in SQL: `not` of it is unknown, `false and` it is false, `true or` it is true.
The same for arrays of numpy and for tensors: whatever has `&` and `|`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, Generic, TypeVar

from sqrl._language.tree import And, Choice, Implies, Node, Not, Or

Mask = TypeVar("Mask", bound=Any)


@dataclass(frozen=True, slots=True, eq=False)
class Truths(Generic[Mask]):
    """Where a formula is true and where it is false; neither is unknown."""

    true: Mask
    false: Mask

    def __invert__(self) -> "Truths[Mask]":
        return Truths(self.false, self.true)

    def __and__(self, other: "Truths[Mask]") -> "Truths[Mask]":
        return Truths(self.true & other.true, self.false | other.false)

    def __or__(self, other: "Truths[Mask]") -> "Truths[Mask]":
        return Truths(self.true | other.true, self.false & other.false)


def connect(node: Node, truths: Callable[[Node], Truths[Mask]]) -> Truths[Mask] | None:
    """What a connective makes of the truths of its parts; None for any other formula.

    >>> from sqrl._language import parse_formula
    >>> known = {"a": Truths(0b01, 0b10), "b": Truths(0b00, 0b01)}  # two rows as bits; b unknown
    >>> both = connect(parse_formula("a and b"), lambda part: known[part.name])
    >>> both.true, both.false
    (0, 3)
    """
    match node:
        case Not(item):
            return ~truths(item)
        case And(items):
            return reduce(and_, map(truths, items))
        case Or(items):
            return reduce(or_, map(truths, items))
        case Implies(body, head):
            return ~truths(body) | truths(head)
        case Choice(then, test, otherwise):
            # What the piece says whose turn it is; unknown where it is unknown which that is.
            chosen, first, second = truths(test), truths(then), truths(otherwise)
            return Truths(
                (chosen.true & first.true) | (chosen.false & second.true),
                (chosen.true & first.false) | (chosen.false & second.false),
            )
    return None
