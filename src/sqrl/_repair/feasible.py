"""The intervals that rules set on each row, and the nearest number in as many as can be."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sqrl._check.row_outcomes import choose, interval_ends
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.forms import Form
from sqrl._rows.rows import Rows


def row_intervals(form: Form, rows: Rows, given: Bools) -> tuple[Floats, Floats]:
    """The bounds of a `sample` rule on each row; infinite where it does not apply or is open."""
    assert form.subject is not None
    left = given & ~np.isnan(rows.numbers(form.subject))
    lower, upper = np.full(rows.n, -np.inf), np.full(rows.n, np.inf)
    for piece, low, high in zip(form.pieces, *interval_ends(form), strict=True):
        here, left = choose(piece.test, left, rows)
        lower[here], upper[here] = low, high
    return lower, upper


def all_intervals(forms: Sequence[Form], rows: Rows) -> tuple[Floats, Floats]:
    """The bounds of several rules on each row.

    Shapes: (n_rows, n_rules) each.

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language.forms import read_form
    >>> from sqrl._language import parse
    >>> rows = Rows(as_table({"a": [1.0, 5.0], "x": [3.0, 3.0]}), {})
    >>> lower, upper = all_intervals([read_form(parse("0 <= x <= 1 if a <= 2 else x <= 9"))], rows)
    >>> lower.tolist(), upper.tolist()
    ([[0.0], [-inf]], [[1.0], [9.0]])
    """
    lower, upper = (np.empty((rows.n, len(forms)), order="F") for _ in range(2))
    for place, form in enumerate(forms):
        given = rows.all_true(form.given)
        lower[:, place], upper[:, place] = row_intervals(form, rows, given)
    return lower, upper


def nearest(values: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Int64s]:
    """The number nearest to each value that breaks the fewest of its intervals, and how many.

    Shapes: values (n,), lower and upper (n, k), infinite where open or where a rule does not apply.
    A missing value breaks nothing and stays missing; of two equally near numbers the lower is
    taken. Cost: O(nk), and O(k log k) more for each value whose intervals have no point in common.

    >>> lower, upper = np.array([[0.0, 4.0], [0.0, 4.0]]), np.array([[5.0, 9.0], [2.0, 9.0]])
    >>> [part.tolist() for part in nearest(np.array([12.0, 3.5]), lower, upper)]
    [[5.0, 4.0], [0, 1]]
    """
    floor = lower.max(axis=1, initial=-np.inf)
    ceiling = upper.min(axis=1, initial=np.inf)
    found = np.where(values < floor, floor, np.where(values > ceiling, ceiling, values))
    broken = np.zeros(values.size, np.int64)
    apart = np.flatnonzero((floor > ceiling) & ~np.isnan(values))
    if apart.size:
        found[apart], broken[apart] = _fewest(values[apart], lower[apart], upper[apart])
    return found, broken


def _fewest(values: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Int64s]:
    """The nearest number for intervals without a common point: the best end, or the value itself.

    How many intervals contain a point changes only at their ends, and these are closed: a nearest
    best point is the value itself or an end.
    """
    points = np.concatenate([lower, upper], axis=1)
    is_upper = np.broadcast_to(np.arange(points.shape[1]) >= lower.shape[1], points.shape)
    order = np.lexsort((is_upper, points), axis=1)  # where both are equal, begin before ending
    points, is_upper = (np.take_along_axis(part, order, 1) for part in (points, is_upper))
    containing = np.cumsum(np.where(is_upper, -1, 1), axis=1) + is_upper
    most = containing.max(axis=1)
    best = (containing == most[:, None]) & np.isfinite(points)
    below = np.where(best & (points <= values[:, None]), points, -np.inf).max(axis=1)
    above = np.where(best & (points >= values[:, None]), points, np.inf).min(axis=1)
    with np.errstate(invalid="ignore"):  # an infinite value is infinitely far from both
        is_nearer = ~(values - below > above - values) & np.isfinite(below)
    found = np.where(is_nearer | ~np.isfinite(above), below, above)
    own = np.count_nonzero((values[:, None] < lower) | (values[:, None] > upper), axis=1)
    fewest = lower.shape[1] - most
    return np.where(own == fewest, values, found), fewest


def nearest_in_type(
    values: Floats, lower: Floats, upper: Floats, dtype: np.dtype[Any] | int | None
) -> Floats:
    """The nearest number that breaks the fewest intervals and that a column's type can hold.

    A type is one of numpy, or so many decimal places. Where every such number breaks more than a
    float64 would, that is taken: the column then has to become one of float64.

    >>> values, whole = np.array([9.0, 9.0]), np.dtype("int32")
    >>> nearest_in_type(values, np.array([[1.5], [2.2]]), np.array([[4.5], [2.8]]), whole).tolist()
    [4.0, 2.8]
    >>> nearest_in_type(values, np.array([[1.5], [2.2]]), np.array([[4.55], [2.28]]), 1).tolist()
    [4.5, 2.2]
    """
    found, fewest = nearest(values, lower, upper)
    if dtype is None or dtype == np.float64:
        return found
    low, high = _inward(lower, upper, dtype)
    empty = low > high
    held, broken = nearest(values, np.where(empty, -np.inf, low), np.where(empty, np.inf, high))
    return np.where(broken + np.count_nonzero(empty, axis=1) <= fewest, held, found)


def _inward(lower: Floats, upper: Floats, dtype: np.dtype[Any] | int) -> tuple[Floats, Floats]:
    """The least and the greatest number of the type in each interval; reversed where none is."""
    if isinstance(dtype, int):
        steps = 10.0**dtype
        low, high = np.ceil(lower * steps), np.floor(upper * steps)
        low = np.where(low / steps < lower, low + 1, low)  # the product was rounded
        high = np.where(high / steps > upper, high - 1, high)
        return low / steps, high / steps
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = np.ceil(lower), np.floor(upper)
        outside = (low > info.max) | (high < info.min)
        low = np.where(np.isfinite(low), np.maximum(low, info.min), low)
        high = np.where(np.isfinite(high), np.minimum(high, info.max), high)
        return np.where(outside, np.inf, low), np.where(outside, -np.inf, high)
    with np.errstate(over="ignore"):
        least, greatest = lower.astype(dtype), upper.astype(dtype)
        least = np.where(least < lower, np.nextafter(least, dtype.type(np.inf)), least)
        greatest = np.where(greatest > upper, np.nextafter(greatest, dtype.type(-np.inf)), greatest)
    low, high = least.astype(np.float64), greatest.astype(np.float64)
    outside = (np.isinf(low) & np.isfinite(lower)) | (np.isinf(high) & np.isfinite(upper))
    return np.where(outside, np.inf, low), np.where(outside, -np.inf, high)


def binding(old: Floats, new: Floats, lower: Floats, upper: Floats) -> Int64s:
    """Which interval each change is owed to: the one furthest from the old value, now kept; or -1.

    >>> lower, upper = np.array([[0.0, 0.0]]), np.array([[7.0, 5.0]])
    >>> binding(np.array([9.0]), np.array([5.0]), lower, upper).tolist()
    [1]
    """
    if not lower.shape[1]:
        return np.full(old.size, -1, np.int64)
    before, now = old[:, None], new[:, None]
    mended = (lower <= now) & (now <= upper) & ((before < lower) | (before > upper))
    reach = np.where(now > before, lower, -upper)  # all of a row's mended bounds are on one side
    furthest = np.where(mended, reach, -np.inf).argmax(axis=1)
    return np.where(mended.any(axis=1), furthest, -1)
