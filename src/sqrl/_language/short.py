"""Numbers rounded for the eye; files and rules keep them exact."""

import math

from sqrl._language.tree import Node, Number, rewrite


def rounded(value: float, digits: int) -> float:
    """The value with so many digits, but never fewer than it has before the point.

    >>> rounded(0.123456, 3), rounded(98765.4, 3)
    (0.123, 98765.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def short_node(node: Node, digits: int = 4) -> Node:
    """The tree with its numbers rounded."""

    def change(part: Node) -> Node | None:
        return Number(rounded(part.value, digits)) if isinstance(part, Number) else None

    return rewrite(node, change)
