"""Which rows lie outside their interval, for many rules over the same rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sqrl._kernels.arrays import Array, Floats, Int32s, Int64s, frozen
from sqrl._kernels.dispatch import is_plain, loops

BLOCK, PLAIN_BLOCK = 1 << 13, 1 << 16  # rows that are looked at for all rules before the next ones
MOST_OUTCOMES = 1 << 24  # that there is room for at a time; only what is broken is written to
MANY_PIECES = 255  # from which on a byte does not tell them apart


class Intervals(NamedTuple):
    """One rule: the rows it is about, the values it bounds, and its pieces.

    Shapes: rows (k,) row numbers; values and by (n,); cuts (pieces - 1,); lower and upper
    (pieces,), infinite where open. `by` is not looked at where there are no cuts.
    """

    rows: Array
    values: Floats
    by: Floats
    cuts: Floats
    lower: Floats
    upper: Floats


class IntervalOutcomes(NamedTuple):
    """What became of one rule: counts for each piece, and the broken rows with their excess.

    Shapes: applicable and broken (pieces,); rows and excess (n_broken,), excess in widths of the
    interval, infinite where that has none.
    """

    applicable: Int64s
    broken: Int64s
    rows: Array
    excess: Array


class Family(NamedTuple):
    """Rules about the same rows, arranged for the loops.

    Rules that are cut in the same places follow one another, as a group. Each rule has a slot for
    each of its pieces, and a last one, without bounds, for rows of which the piece is not known.

    Shapes: by (groups,), a column, -1 where nothing is cut; first_cut and first_rule (groups + 1,);
    column, first_slot and first_outcome (rules,); lower and upper (slots,).
    """

    by: Int32s
    cuts: Floats
    first_cut: Int64s
    first_rule: Int64s
    column: Int32s
    first_slot: Int64s
    first_outcome: Int64s
    lower: Floats
    upper: Floats


class Counted(NamedTuple):
    """What the loops fill in: counts of each slot, and the broken rows of each rule with excess.

    Shapes: applicable and broken (slots,); found (rules,), how many are broken; rows and excess
    (outcomes,), those of a rule from its `first_outcome` on.
    """

    applicable: Int64s
    broken: Int64s
    found: Int64s
    rows: Array
    excess: Array


def evaluate_intervals(rules: Sequence[Intervals]) -> list[IntervalOutcomes]:
    """Counts and broken rows of each rule.

    Rules that are about the same rows (the same array, not an equal one) are evaluated together,
    on a few thousand rows at a time, so that what they share is read once and stays near: the
    values of an expression, and the bucket that a row is in.

    Cost: for each row of a rule two comparisons; for each expression that is cut, and each row of
    the rules that are, one a cut point. Memory for the broken rows. One thread: callers share out
    chunks of rows.

    >>> rule = Intervals(np.arange(3), np.array([1.0, 5.0, np.nan]), np.empty(3), np.empty(0),
    ...                  np.array([0.0]), np.array([4.0]))
    >>> found = evaluate_intervals([rule])[0]
    >>> found.applicable.tolist(), found.rows.tolist(), found.excess.tolist()
    ([2], [1], [0.25])
    """
    steps = (rule.rows.size * (25.0 if rule.cuts.size else 15.0) for rule in rules)
    kernel = loops("intervals", sum(steps))
    outcomes: dict[int, IntervalOutcomes] = {}
    for places in _families(rules):
        chosen = [rules[place] for place in places]
        outcomes.update(zip(places, _evaluate_family(kernel, chosen), strict=True))
    return [outcomes[place] for place in range(len(rules))]


def _families(rules: Sequence[Intervals]) -> Iterator[list[int]]:
    """Rules about the same rows; among them, those that are cut in the same places together."""
    by_rows: dict[int, dict[tuple[int, bytes], list[int]]] = {}
    for place, rule in enumerate(rules):
        cut = (id(rule.by), rule.cuts.tobytes()) if rule.cuts.size else (0, b"")
        by_rows.setdefault(id(rule.rows), {}).setdefault(cut, []).append(place)
    for groups in by_rows.values():
        places = [place for group in groups.values() for place in group]
        at_once = max(1, MOST_OUTCOMES // max(rules[places[0]].rows.size, 1))
        for first in range(0, len(places), at_once):
            yield places[first : first + at_once]


def _evaluate_family(kernel: Any, rules: Sequence[Intervals]) -> list[IntervalOutcomes]:
    """The outcomes of rules that are about the same rows."""
    rows = frozen(rules[0].rows, np.int32)
    family, columns = _arrange(rules, rows.size)
    n_outcomes = rows.size * len(rules)
    counted = Counted(
        applicable=np.zeros(family.lower.size, np.int64),
        broken=np.zeros(family.lower.size, np.int64),
        found=np.zeros(len(rules), np.int64),
        rows=np.empty(n_outcomes, np.int32),
        excess=np.empty(n_outcomes, np.float32),
    )
    at_once = min(PLAIN_BLOCK if is_plain(kernel) else BLOCK, max(rows.size, 1))
    n_pieces = max(rule.lower.size for rule in rules)
    pieces = np.empty(at_once, np.uint8 if n_pieces < MANY_PIECES else np.int32)
    values = np.empty((len(columns), at_once))
    for begin in range(0, rows.size, at_once):
        here = rows[begin : begin + at_once]
        _fetch(columns, here, values)
        kernel.evaluate_block(here, values, pieces, family, counted)
    return [_outcomes(family, counted, place, rule) for place, rule in enumerate(rules)]


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


def _outcomes(family: Family, counted: Counted, place: int, rule: Intervals) -> IntervalOutcomes:
    """What became of one of the rules."""
    slots = slice(family.first_slot[place], family.first_slot[place] + rule.lower.size)
    first = family.first_outcome[place]
    found = slice(first, first + counted.found[place])
    return IntervalOutcomes(
        counted.applicable[slots].copy(),
        counted.broken[slots].copy(),
        counted.rows[found].copy(),
        counted.excess[found].copy(),
    )


def _arrange(rules: Sequence[Intervals], n_rows: int) -> tuple[Family, list[Floats]]:
    """The rules for the loops, and the columns that they speak of."""
    columns: dict[int, tuple[int, Floats]] = {}

    def column_of(values: Floats) -> int:
        return columns.setdefault(id(values), (len(columns), values))[0]

    by: list[int] = []
    cuts: list[Floats] = [np.empty(0)]
    first_rule: list[int] = []
    before: tuple[int, bytes] | None = None
    for place, rule in enumerate(rules):
        cut = (column_of(rule.by), rule.cuts.tobytes()) if rule.cuts.size else (-1, b"")
        if cut != before:
            first_rule.append(place)
            by.append(cut[0])
            cuts.append(rule.cuts)
        before = cut
    sizes = np.array([rule.lower.size + 1 for rule in rules], np.int64)
    family = Family(
        by=frozen(by, np.int32),
        cuts=frozen(np.concatenate(cuts), np.float64),
        first_cut=frozen(np.cumsum([part.size for part in cuts]), np.int64),
        first_rule=frozen([*first_rule, len(rules)], np.int64),
        column=frozen([column_of(rule.values) for rule in rules], np.int32),
        first_slot=frozen(np.cumsum(sizes) - sizes, np.int64),
        first_outcome=frozen(np.arange(len(rules)) * n_rows, np.int64),
        lower=frozen(_ends([rule.lower for rule in rules], -np.inf), np.float64),
        upper=frozen(_ends([rule.upper for rule in rules], np.inf), np.float64),
    )
    return family, [frozen(values, np.float64) for _, values in columns.values()]


def _ends(bounds: Sequence[Floats], nowhere: float) -> Floats:
    """The bounds of all rules, each with a slot more."""
    return np.concatenate([part for ends in bounds for part in (ends, [nowhere])])
