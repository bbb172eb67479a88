"""Values of an expression in words: numbers for the eye, days as dates."""

import math
from datetime import date, timedelta

from sqrl._check.sentences import readable
from sqrl._language.printer import to_text
from sqrl._language.tree import Call, Name, Node

_FIRST, _LAST = date.min.toordinal(), date.max.toordinal()


def item_name(item: Node) -> str:
    """An expression as people read it: no backticks, and a date column for its days.

    >>> item_name(Name("first name")), item_name(Call("days", (Name("born"),)))
    ('first name', 'born')
    """
    match item:
        case Name(name) | Call("days", (Name(name),)):
            return " ".join(name.split())
    return " ".join(to_text(item).split())


def value_words(item: Node, value: float) -> str:
    """A value of an expression.

    >>> value_words(Call("days", (Name("born"),)), 20089.0), value_words(Name("x"), 1234.5)
    ('2025-01-01', '1,234')
    """
    match item:
        case Call("days", _) if math.isfinite(value):
            day = math.floor(value) + date(1970, 1, 1).toordinal()
            if _FIRST <= day <= _LAST:
                return (date.min + timedelta(day - _FIRST)).isoformat()
    return readable(value)


def direction(item: Node, before: float, after: float) -> str:
    """How a value has moved."""
    match item:
        case Call("days", _):
            return "later" if after > before else "earlier"
    return "higher" if after > before else "lower"
