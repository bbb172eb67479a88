"""Rows that follow one another: which row came before, and means over the last few of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Floats, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """The numbers of rows, entity after entity, each in its order.

    `place` says how many rows of its own entity come before each of `rows`. Rows that have no
    place, for their entity or their order is missing, are not among them.
    """

    rows: Int64s
    place: Int64s
    n_rows: int  # with those that have no place


def arrange(entity: Sequence[Array], order: Sequence[Array], known: Bools) -> Arranged:
    """The rows where all is `known`, sorted by entity and within it by order; ties as they come.

    Shapes: each key (n,), known (n,), the result's arrays (known rows,).
    Cost: one stable sort for each key, O(n log n).

    >>> found = arrange([np.array([2, 1, 2])], [np.array([5.0, 1.0, 4.0])], np.ones(3, np.bool_))
    >>> found.rows.tolist(), found.place.tolist()
    ([1, 2, 0], [0, 0, 1])
    """
    chosen = np.flatnonzero(known)
    keys = [key[chosen] for key in (*entity, *order)]
    rows = chosen[np.lexsort(keys[::-1])]
    is_first = np.zeros(rows.size, np.bool_)
    is_first[:1] = True
    for key in entity:
        values = key[rows]
        is_first[1:] |= values[1:] != values[:-1]
    starts = np.flatnonzero(is_first)
    sizes = np.diff(np.append(starts, rows.size))
    place = np.arange(rows.size) - np.repeat(starts, sizes)
    return Arranged(rows, place.astype(np.int64), known.size)


def rows_back(arranged: Arranged, n: int) -> Int64s:
    """For each row the row of its entity that came n before it; -1 where there is none.

    Shapes: the result (n_rows,). Cost: O(rows).
    """
    found = np.full(arranged.n_rows, -1, np.int64)
    has_one = np.flatnonzero(arranged.place >= n)
    found[arranged.rows[has_one]] = arranged.rows[has_one - n]
    return found


def rolling_means(values: Floats, arranged: Arranged, n: int) -> Floats:
    """For each row the mean of the last n values of its entity, its own included.

    Missing values (nan) are left out, and an entity's first rows have fewer; where no value is
    left, the mean is missing. Sums are of sums of 1, 2, 4, .. values, the same whatever other
    entities there are.

    Shapes: values and the result (n_rows,). Cost: O(rows log n).

    >>> one = arrange([], [np.arange(4.0)], np.ones(4, np.bool_))
    >>> rolling_means(np.array([1.0, np.nan, 5.0, 7.0]), one, 2).tolist()
    [1.0, 1.0, 5.0, 6.0]
    """
    mine = values[arranged.rows]
    is_known = ~np.isnan(mine)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are reported later
        total = _rolling_sums(np.where(is_known, mine, 0.0), arranged.place, n)
        count = _rolling_sums(is_known.astype(np.float64), arranged.place, n)
        mean = np.divide(total, count, out=np.full(total.size, np.nan), where=count > 0)
    found = np.full(arranged.n_rows, np.nan)
    found[arranged.rows] = mean
    return found


def _rolling_sums(values: Floats, place: Int64s, n: int) -> Floats:
    """The sum of the last n values up to each, within an entity."""
    longest = int(place.max(initial=0)) + 1  # further back there are only zeros
    total, done = np.zeros(values.size), 0
    power, width = values, 1  # the sums of the last `width` values
    while done < min(n, longest):
        if n & width:
            total = total + _earlier(power, place, done)
            done += width
        if width < longest:
            power = power + _earlier(power, place, width)
        width *= 2
    return total


def _earlier(values: Floats, place: Int64s, n: int) -> Floats:
    """What each value was n rows ago; zero where the entity had not begun."""
    if n == 0:
        return values
    found = np.zeros(values.size)
    found[n:] = values[:-n]
    found[place < n] = 0.0
    return found
