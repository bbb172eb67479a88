"""Rules about single rows over a table: held, broken, or not applicable."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._evaluate import Bools, Floats, Rows
from sqrl._forms import Form
from sqrl._kernels import Intervals, judge_intervals
from sqrl._language.tree import Compare, Node, Number

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What became of the rules on some rows.

    Shapes: applicable and broken for each piece of each rule, `piece_of` the rule of a piece; rule,
    row and excess for each broken pair, the excess in widths of the interval.
    """

    applicable: Ints
    broken: Ints
    piece_of: Ints
    rule: Int32s
    row: Ints
    excess: NDArray[np.float32]


def judge_rows(forms: Sequence[Form], rows: Rows) -> Outcomes:
    """The outcomes of `sample` and `class` rules on every row.

    Cost: each distinct condition and expression is evaluated once; then one pass over the rows of a
    rule's condition. Memory grows with the broken pairs, not with rules x rows.
    """
    conditions: dict[tuple[Node, ...], Int32s] = {}
    plain: dict[int, Intervals] = {}
    others: list[int] = []
    for index, form in enumerate(forms):
        made = _as_intervals(form, rows, conditions)
        if made is None:
            others.append(index)
        else:
            plain[index] = made
    judged = dict(zip(plain, judge_intervals(list(plain.values())), strict=True))
    parts = []
    for index, form in enumerate(forms):
        if index in judged:
            one = judged[index]
            parts.append((one.applicable, one.broken, one.rows, one.excess))
        else:
            parts.append(_judge_slowly(form, rows))
    return _joined(parts)


def _joined(parts: list[tuple[Ints, Ints, NDArray[np.int32], NDArray[np.float32]]]) -> Outcomes:
    def join(arrays: list[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
        return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)

    sizes = [applicable.size for applicable, *_ in parts]
    found = [part[2].size for part in parts]
    return Outcomes(
        join([part[0] for part in parts], np.int64),  # type: ignore[arg-type]
        join([part[1] for part in parts], np.int64),  # type: ignore[arg-type]
        np.repeat(np.arange(len(parts)), sizes),
        np.repeat(np.arange(len(parts), dtype=np.int32), found),
        join([part[2] for part in parts], np.int64),  # type: ignore[arg-type]
        join([part[3] for part in parts], np.float32),  # type: ignore[arg-type]
    )


def _as_intervals(
    form: Form, rows: Rows, conditions: dict[tuple[Node, ...], Int32s]
) -> Intervals | None:
    """The rule for the kernel; None where its pieces are not buckets of one expression."""
    found = _buckets(form)
    if form.kind != "sample" or found is None:
        return None
    by, cuts = found
    if form.given not in conditions:
        conditions[form.given] = np.flatnonzero(rows.all_true(form.given)).astype(np.int32)
    assert form.subject is not None
    values = rows.numbers(form.subject)
    return Intervals(
        conditions[form.given],
        values,
        values if by is None else rows.numbers(by),
        cuts,
        *interval_ends(form),
    )


def interval_ends(form: Form) -> tuple[Floats, Floats]:
    """The bounds of each piece, infinite where open."""
    lower = [p.lower.value if isinstance(p.lower, Number) else -np.inf for p in form.pieces]
    upper = [p.upper.value if isinstance(p.upper, Number) else np.inf for p in form.pieces]
    return np.array(lower), np.array(upper)


def _buckets(form: Form) -> tuple[Node | None, Floats] | None:
    """The expression that `x <= a else x <= b else ...` buckets, and a, b, ...; None otherwise."""
    *firsts, last = form.pieces or (None,)
    if last is None or last.test is not None:
        return None
    cuts: list[float] = []
    by: Node | None = None
    for piece in firsts:
        test = piece.test
        if not (isinstance(test, Compare) and test.op == "<=" and isinstance(test.right, Number)):
            return None
        if (by is not None and test.left != by) or (cuts and test.right.value <= cuts[-1]):
            return None
        by = test.left
        cuts.append(test.right.value)
    return by, np.array(cuts, np.float64)


def _judge_slowly(
    form: Form, rows: Rows
) -> tuple[Ints, Ints, NDArray[np.int32], NDArray[np.float32]]:
    """The same with masks over all rows, for any rule about single rows."""
    left = rows.all_true(form.given)
    if form.kind == "class":
        assert form.head is not None
        head = rows.truths(form.head)
        broken_rows = np.flatnonzero(left & head.false).astype(np.int32)
        applicable = np.array([np.count_nonzero(left & (head.true | head.false))])
        return applicable, np.array([broken_rows.size]), broken_rows, _infinite(broken_rows)
    assert form.subject is not None
    values = rows.numbers(form.subject)
    left &= ~np.isnan(values)
    lower, upper = interval_ends(form)
    counts, broken, found, excess = [], [], [], []
    for index, piece in enumerate(form.pieces):
        here, left = _choose(piece.test, left, rows)
        off = np.maximum(lower[index] - values, values - upper[index])
        outside = np.flatnonzero(here & (off > 0))
        counts.append(np.count_nonzero(here))
        broken.append(outside.size)
        found.append(outside.astype(np.int32))
        width = upper[index] - lower[index]
        scaled = off[outside] / width if 0 < width < np.inf else np.full(outside.size, np.inf)
        excess.append(scaled.astype(np.float32))
    return np.array(counts), np.array(broken), np.concatenate(found), np.concatenate(excess)


def _choose(test: Node | None, left: Bools, rows: Rows) -> tuple[Bools, Bools]:
    """The rows that a piece takes, and those left for the next: a row with an unknown test is out."""
    if test is None:
        return left, np.zeros_like(left)
    truths = rows.truths(test)
    return left & truths.true, left & truths.false


def _infinite(rows: NDArray[np.int32]) -> NDArray[np.float32]:
    return np.full(rows.size, np.inf, np.float32)
