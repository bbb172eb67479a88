"""A cell of a reference in words: `city = Oslo`, `30 < age <= 40`, `other values of city`."""

import numpy as np

from sqrl._language.printer import to_text
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Between, Bucket, Compare, Node, Number, Word


def cell_text(axis_node: Node, axis: CellAxis, cell: int) -> str:
    """What the rows of one cell have in common, as a formula where there is one.

    >>> from sqrl._language.tree import Name
    >>> age, some = Bucket(Name("age"), 3), CellAxis(cuts=(30.0, 60.0))
    >>> [cell_text(age, some, cell) for cell in range(3)]
    ['age <= 30', '30 < age <= 60', 'age > 60']
    >>> [cell_text(Name("city"), CellAxis(words=("Oslo",)), cell) for cell in range(2)]
    ['city = Oslo', 'other values of city']
    """
    item = axis_node.item if isinstance(axis_node, Bucket) else axis_node
    if axis.cuts is not None:
        return _between(item, axis.cuts, cell)
    values: list[Node] = [*map(Number, axis.numbers or ()), *map(Word, axis.words or ())]
    if cell < len(values):
        return to_text(Compare(item, "=", values[cell]))
    return f"other values of {to_text(item)}"


def _between(item: Node, cuts: tuple[float, ...], cell: int) -> str:
    """The values between two cuts; a number that has a cell of its own is between neighbours."""
    low = cuts[cell - 1] if cell else None
    high = cuts[cell] if cell < len(cuts) else None
    if low is not None and high is not None and _next(low) == high:
        return to_text(Compare(item, "=", Number(high)))
    after = cuts[cell + 1] if cell + 1 < len(cuts) else None
    above, op = (None if high is None else Number(high)), "<="
    if high is not None and _next(high) == after:  # up to just below a number of its own
        above, op = Number(_next(high)), "<"
    if low is None:
        return to_text(item) if above is None else to_text(Compare(item, op, above))
    if above is None:
        return to_text(Compare(item, ">", Number(low)))
    return to_text(Between(Number(low), "<", item, op, above))


def _next(value: float) -> float:
    return float(np.nextafter(value, np.inf)) + 0.0
