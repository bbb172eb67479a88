"""Constants in rules as the numbers that they stand for beside a number."""

import math

from sqrl._language.printer import to_text
from sqrl._language.tree import Node, Number, Truth, Word
from sqrl.errors import SchemaError


def number_of(item: Node, value: Node) -> float:
    """The number that a constant stands for beside an item that is one.

    >>> from sqrl._language.tree import Name
    >>> number_of(Name("grade"), Word("3")), number_of(Name("wet"), Truth(True))
    (3.0, 1.0)
    """
    match value:
        case Number(number) | Truth(number):
            return float(number)
        case Word(text):
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number
    raise SchemaError(
        f"'{to_text(item)}' holds numbers and '{to_text(value)}' is not one.",
        fix="compare it with a number",
    )
