"""Sentences for the eye: numbers rounded, lines wrapped; files and rules keep them exact."""

import math
import textwrap

from sqrl._language.parser import parse
from sqrl._language.printer import to_text
from sqrl._language.tree import Between, Node, Number, rewrite

DIGITS = 4
INDENT = " " * 5  # of what stands below a numbered rule


def rounded(value: float, digits: int) -> float:
    """The value rounded to so many significant digits, its integer part never.

    >>> rounded(0.123456, 3), rounded(98765.4, 3)
    (0.123, 98765.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def justified(lower: float, upper: float, support: int) -> tuple[float, float]:
    """The ends of an interval rounded to what so many samples justify.

    Bounds from n samples are about a width over the root of n sure; nothing left of the point is
    rounded, and ends that differ stay apart.

    >>> justified(-2.32474244, 1.84666499, 2400), justified(0.9804, 0.99934, 100)
    ((-2.32, 1.85), (0.98, 0.999))
    """
    width = upper - lower
    if not (0 < width < math.inf and support > 0):
        return rounded(lower, DIGITS), rounded(upper, DIGITS)
    places = max(0, math.ceil(-math.log10(width / math.sqrt(support))))
    return round(lower, places), round(upper, places)


def short_node(node: Node, digits: int = 4, support: int | None = None) -> Node:
    """The tree with its numbers rounded; intervals to what so many samples justify."""

    def change(part: Node) -> Node | None:
        match part:
            case Between(Number(lower), lower_op, item, upper_op, Number(upper)) if support:
                low, high = map(Number, justified(lower, upper, support))
                return Between(low, lower_op, rewrite(item, change), upper_op, high)
        return Number(rounded(part.value, digits)) if isinstance(part, Number) else None

    return rewrite(node, change)


def short_text(text: str, *, digits: int = DIGITS, support: int | None = None) -> str:
    """The sentence with its numbers rounded for the eye; the file keeps them exact.

    >>> short_text("type = Car => 0.5804515708739127 <= aspect_ratio <= 3.3136574044501272")
    'type = Car => 0.5805 <= aspect_ratio <= 3.314'
    >>> short_text("age > 19834.25 => y = 1")
    'age > 19834 => y = 1'
    """
    return to_text(short_node(parse(text), digits, support))


def sentence_lines(text: str, width: int, *, mark: str = INDENT) -> list[str]:
    """The sentence on lines of this width, each piece of a bucketed rule on lines of its own.

    >>> sentence_lines("1 <= w <= 2 if h <= 3 else 2 <= w <= 4", 80, mark="  1  ")
    ['  1  1 <= w <= 2 if h <= 3', '       else 2 <= w <= 4']
    """
    first, *others = text.split(" else ")
    lines = wrapped(first, width, mark, " " * (len(mark) + 2))
    for other in others:
        lines += wrapped(f"else {other}", width, " " * (len(mark) + 2), " " * (len(mark) + 4))
    return lines


def wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """The text on lines of this width, which begin with `first`, all but the first with `rest`."""
    indent = first if rest is None else rest
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    ) or [""]
