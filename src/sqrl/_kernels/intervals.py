"""Which rows lie outside their interval, for many rules over the same rows."""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sqrl._kernels.arrays import Array, Float32s, Floats, Int32s, Int64s, frozen
from sqrl._kernels.dispatch import is_plain, loops

BLOCK, PLAIN_BLOCK = 1 << 13, 1 << 16  # rows that are looked at for all rules before the next ones
MOST_OUTCOMES = 1 << 24  # that there is room for at a time; only what is broken is written to
MANY_PIECES = 255  # from which on a byte does not tell them apart
STEPS, STEPS_CUT = 15.0, 25.0  # of the plain loops for a row and a rule


class Bounded(NamedTuple):
    """One rule: the column it bounds, the column that decides which piece is for a row, the pieces.

    Columns are numbers in a list that is given later. `by` is -1 where there are no cuts.
    Shapes: cuts (pieces - 1,); lower and upper (pieces,), infinite where open.
    """

    values: int
    by: int
    cuts: Floats
    lower: Floats
    upper: Floats


class Family(NamedTuple):
    """Rules about the same rows, arranged for the loops.

    Rules that are cut in the same places follow one another, as a group. Each rule has a slot for
    each of its pieces, and a last one, without bounds, for rows of which the piece is not known.

    Shapes: by (groups,), a column, -1 where nothing is cut; first_cut and first_rule (groups + 1,);
    column (rules,), first_slot (rules + 1,); lower and upper (slots,).
    """

    by: Int32s
    cuts: Floats
    first_cut: Int64s
    first_rule: Int64s
    column: Int32s
    first_slot: Int64s
    lower: Floats
    upper: Floats


class Counted(NamedTuple):
    """What the loops fill in: counts of each slot, and the broken rows of each rule with excess.

    Shapes: applicable and broken (slots,); found (rules,), how many are broken; rows and excess
    (rules, n), of which the first so many are filled in.
    """

    applicable: Int64s
    broken: Int64s
    found: Int64s
    rows: Int32s
    excess: Float32s


class _Room(threading.local):
    """Room for outcomes, one for each thread: the pages of new room would have to be cleared.

    What was found there is copied. Only what is broken is ever written to.
    """

    rows: Int32s = np.empty(0, np.int32)
    excess: Float32s = np.empty(0, np.float32)

    def grow(self, size: int) -> None:
        """Make room for so many outcomes."""
        if self.rows.size < size:
            self.rows, self.excess = np.empty(size, np.int32), np.empty(size, np.float32)


_room = _Room()


class FamilyOutcomes(NamedTuple):
    """What became of the rules of a family, one after the other.

    Shapes: applicable and broken (pieces of all rules,); found (rules,), how many rows break each;
    rows and excess (broken pairs,), by rule and then in the order of the rows, the excess in widths
    of the interval, infinite where that has none.
    """

    applicable: Int64s
    broken: Int64s
    found: Int64s
    rows: Int32s
    excess: Float32s


def arrange(rules: Sequence[Bounded]) -> tuple[list[int], Family]:
    """The order in which rules about the same rows are evaluated, and the family they make in it.

    It does not depend on rows, so that it is made once for all chunks of them.
    """
    groups: dict[tuple[int, bytes], list[int]] = {}
    for place, rule in enumerate(rules):
        groups.setdefault((rule.by, rule.cuts.tobytes()), []).append(place)
    order = [place for group in groups.values() for place in group]
    chosen = [rules[place] for place in order]
    cuts = [rules[group[0]].cuts for group in groups.values()]
    sizes = np.array([rule.lower.size + 1 for rule in chosen], np.int64)
    family = Family(
        by=frozen([by for by, _ in groups], np.int32),
        cuts=frozen(np.concatenate([np.empty(0), *cuts]), np.float64),
        first_cut=frozen(np.cumsum([0, *(part.size for part in cuts)]), np.int64),
        first_rule=frozen(np.cumsum([0, *map(len, groups.values())]), np.int64),
        column=frozen([rule.values for rule in chosen], np.int32),
        first_slot=frozen(np.concatenate([[0], np.cumsum(sizes)]), np.int64),
        lower=frozen(_ends([rule.lower for rule in chosen], -np.inf), np.float64),
        upper=frozen(_ends([rule.upper for rule in chosen], np.inf), np.float64),
    )
    return order, family


def _ends(bounds: Sequence[Floats], nowhere: float) -> Floats:
    """The bounds of all rules, each with a slot more."""
    return np.concatenate([part for ends in bounds for part in (ends, [nowhere])])


def evaluate_family(family: Family, rows: Array, columns: Sequence[Floats]) -> FamilyOutcomes:
    """Counts and broken rows of each rule of a family, on these rows of the columns.

    Rules are evaluated together on a few thousand rows at a time, so that what they share is read
    once and stays near: the values of an expression, and the bucket that a row is in.

    Cost: for each row and rule two comparisons; for each expression that is cut, and each row, one
    a cut point. Memory for the broken rows. One thread: callers share out chunks of rows.

    >>> rule = Bounded(0, -1, np.empty(0), np.array([0.0]), np.array([4.0]))
    >>> _, family = arrange([rule])
    >>> found = evaluate_family(family, np.arange(3), [np.array([1.0, 5.0, np.nan])])
    >>> found.applicable.tolist(), found.rows.tolist(), found.excess.tolist()
    ([2], [1], [0.25])
    """
    n_rules = family.column.size
    rows, columns = frozen(rows, np.int32), [frozen(each, np.float64) for each in columns]
    steps = STEPS_CUT if family.cuts.size else STEPS
    kernel = loops("intervals", steps * rows.size * n_rules)
    at_once = max(1, MOST_OUTCOMES // max(n_rules, 1))
    parts = [
        _evaluate_some(kernel, family, rows[first : first + at_once], columns)
        for first in range(0, max(rows.size, 1), at_once)
    ]
    return parts[0] if len(parts) == 1 else _one_after_the_other(parts)


def _one_after_the_other(parts: Sequence[FamilyOutcomes]) -> FamilyOutcomes:
    """The outcomes of rows in several parts."""
    applicable = np.sum([part.applicable for part in parts], axis=0)
    broken = np.sum([part.broken for part in parts], axis=0)
    found = np.sum([part.found for part in parts], axis=0)
    rule = np.concatenate([np.repeat(np.arange(part.found.size), part.found) for part in parts])
    order = np.argsort(rule, kind="stable")
    rows = np.concatenate([part.rows for part in parts])[order]
    excess = np.concatenate([part.excess for part in parts])[order]
    return FamilyOutcomes(applicable, broken, found, rows, excess)


def _evaluate_some(
    kernel: Any, family: Family, rows: Int32s, columns: Sequence[Floats]
) -> FamilyOutcomes:
    """The outcomes of rows that there is room for."""
    n_rules, n_slots = family.column.size, family.lower.size
    _room.grow(n_rules * rows.size)
    counted = Counted(
        applicable=np.zeros(n_slots, np.int64),
        broken=np.zeros(n_slots, np.int64),
        found=np.zeros(n_rules, np.int64),
        rows=_room.rows[: n_rules * rows.size].reshape(n_rules, rows.size),
        excess=_room.excess[: n_rules * rows.size].reshape(n_rules, rows.size),
    )
    at_once = min(PLAIN_BLOCK if is_plain(kernel) else BLOCK, max(rows.size, 1))
    n_slots_each = np.diff(family.first_slot).max(initial=1)
    pieces = np.empty(at_once, np.uint8 if n_slots_each <= MANY_PIECES else np.int32)
    values = np.empty((len(columns), at_once))
    for begin in range(0, rows.size, at_once):
        here = rows[begin : begin + at_once]
        _fetch(columns, here, values)
        kernel.evaluate_block(here, values, pieces, family, counted)
    is_piece = np.ones(n_slots, np.bool_)
    is_piece[family.first_slot[1:] - 1] = False
    ends = counted.found.tolist()
    return FamilyOutcomes(
        counted.applicable[is_piece],
        counted.broken[is_piece],
        counted.found,
        _filled(counted.rows, ends),
        _filled(counted.excess, ends),
    )


def _filled(outcomes: Array, ends: Sequence[int]) -> Array:
    """What was written of each rule, one after the other, copied."""
    used = (outcomes[rule, :end] for rule, end in enumerate(ends))
    return np.concatenate([outcomes[:0].ravel(), *used])


def _fetch(columns: Sequence[Floats], rows: Int32s, values: Floats) -> None:
    """Put the values of these rows into the first places of each column's line."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first == rows.size - 1 and (np.diff(rows) == 1).all():  # one after the other
        for place, column in enumerate(columns):
            values[place, : rows.size] = column[first : last + 1]
        return
    chosen = rows.astype(np.intp)  # once, not by every take
    for place, column in enumerate(columns):
        np.take(column, chosen, out=values[place, : rows.size], mode="clip")
