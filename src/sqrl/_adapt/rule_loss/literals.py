"""Where formulas about columns hold in a mini-batch, for all of a rule set's at once.

Most literals say that an expression lies in an interval: those are compared together, one
comparison for all of them. The rest are decided one by one.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sqrl._adapt.rule_loss.program import Distinct, Program
from sqrl._adapt.rule_loss.tensor_rows import TensorRows, wide
from sqrl._language.tree import Between, Compare, Name, Node, Not, Number, Truth, Word

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Interval:
    """A literal that holds where an expression lies in a closed interval, or outside of it."""

    subject: Node
    lower: float
    upper: float
    is_inside: bool


def interval_of(node: Node, categories: Collection[str] = ()) -> Interval | None:
    """A formula as an interval; None where it is something else.

    `categories` are the columns that hold no numbers: equal to a number they are as text.

    >>> from sqrl._language import parse_formula
    >>> interval_of(parse_formula("3 <= age <= 4"))
    Interval(subject=Name(name='age'), lower=3.0, upper=4.0, is_inside=True)
    """
    if isinstance(node, Not):
        found = interval_of(node.item, categories)
        return None if found is None else replace(found, is_inside=not found.is_inside)
    match node:
        case Compare(Name(name), "=" | "!=") if name in categories:
            return None
        case Compare(Number(value), op, item) if not isinstance(item, Number | Truth | Word):
            return interval_of(Compare(item, _MIRRORED[op], Number(value)), categories)
        case Compare(item, op, Number(value)):
            return Interval(item, *_ends(op, value), op != "!=")
        case Between(Number(low), low_op, item, high_op, Number(high)):
            lower, _ = _ends(_MIRRORED[low_op], low)
            _, upper = _ends(high_op, high)
            return Interval(item, lower, upper, True)
    return None


def _ends(op: str, value: float) -> tuple[float, float]:
    """The closed interval of doubles for which `x op value` holds; does not, if that is `!=`."""
    match op:
        case "<":
            return -math.inf, float(np.nextafter(value, -math.inf))
        case "<=":
            return -math.inf, value
        case ">":
            return float(np.nextafter(value, math.inf)), math.inf
        case ">=":
            return value, math.inf
    return value, value


class TensorLiterals:
    """The literals and conjunctions of a program, ready to be decided on a device."""

    def __init__(
        self, program: Program, device: torch.device, categories: Collection[str] = ()
    ) -> None:
        nodes = list(program.literals)
        found = [interval_of(node, categories) for node in nodes]
        # Intervals from which values stay out come after those in which they lie, then the rest.
        order = sorted(range(len(nodes)), key=lambda place: _turn(found[place]))
        moved = {place: turn for turn, place in enumerate(order)}
        nodes, intervals = [nodes[place] for place in order], [found[place] for place in order]
        subjects = Distinct[Node]()
        chosen = [interval for interval in intervals if interval is not None]
        self._wide = wide(device)
        self._which = _ints([subjects.place(one.subject) for one in chosen], device)
        self._lower = torch.tensor([one.lower for one in chosen], dtype=self._wide, device=device)
        self._upper = torch.tensor([one.upper for one in chosen], dtype=self._wide, device=device)
        self._n_inside = sum(one.is_inside for one in chosen)
        self._subjects = list(subjects)
        self._others = [n for n, one in zip(nodes, intervals, strict=True) if one is None]
        always = len(nodes)  # one more literal, which holds everywhere
        lines = [[moved[i] for i in made] for made in program.conjunctions]
        width = max([1, *map(len, lines)])
        padded = [[*line, *[always] * (width - len(line))] for line in lines]
        self._lines = _ints(padded, device).reshape(len(lines), width).T.contiguous()

    def conjunctions(self, rows: TensorRows) -> Tensor:
        """Where each conjunction holds.

        Shapes: result (n_conjunctions, n). Cost: a comparison for each literal and an `and` for
        each literal of a conjunction, a byte a row each.
        """
        held = self._held(rows)
        first, *others = self._lines
        made = held.index_select(0, first)
        for line in others:
            made &= held.index_select(0, line)
        return made

    def _held(self, rows: TensorRows) -> Tensor:
        """Where each literal is true, intervals first, and last one that is true everywhere."""
        n, device = rows.named.n, rows.named.device
        parts = [torch.ones((1, n), dtype=torch.bool, device=device)]
        if self._others:
            parts.insert(0, torch.stack([rows.truths(node).true for node in self._others]))
        if self._subjects:
            # What is unknown is nan: neither in an interval nor outside of it. Whether there is any
            # is not asked, since on other devices that would wait for all that was computed.
            numbers = [rows.or_nan(node).to(self._wide) for node in self._subjects]
            values = torch.stack(numbers).index_select(0, self._which)
            lower, upper = self._lower[:, None], self._upper[:, None]
            first, rest = slice(self._n_inside), slice(self._n_inside, None)
            inside = (values[first] >= lower[first]).logical_and_(values[first] <= upper[first])
            outside = (values[rest] < lower[rest]).logical_or_(values[rest] > upper[rest])
            parts[:0] = [inside, outside]
        return torch.cat(parts)


def _turn(interval: Interval | None) -> int:
    """Where a literal comes: inside, outside, something else."""
    if interval is None:
        return 2
    return 0 if interval.is_inside else 1


def _ints(values: object, device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int64, device=device)
