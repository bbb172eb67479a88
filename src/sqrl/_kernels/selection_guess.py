"""A first round of a selection that guesses where the order statistics lie, and finds out.

A sample says about where an order statistic of all values is: within a few standard deviations of
its rank. A round counts the values before, between and after such ranges, and counts or collects
those inside. The counts say which range holds the value that is looked for: if it is the one that
was guessed, and its values were collected, the value is known after one round. If not, the search
goes on where the counts say. A guess is never trusted: it decides how long a search takes, and not
what it finds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s, frozen
from sqrl._kernels.dispatch import loops
from sqrl._kernels.plain.selection import sortable
from sqrl._kernels.selection_rounds import (
    ALL,
    BIN_BYTES,
    Bins,
    Collecting,
    Counting,
    Spans,
    State,
)

WIDE = 4.5  # standard deviations on either side: one guess in 150,000 is wrong
MOST_BITS = 8  # of bins in a range: what is left in a bin is then few enough to be collected
FEW = 32  # values of a group, of which a sample says little
STEPS = 25.0  # of the plain loops for a value
ONE = np.uint64(1)


class Ranges(NamedTuple):
    """Closed ranges of values, disjoint and ascending within each group.

    Shapes: lows and highs (n_groups, most ranges of a group), nan where a group has fewer.
    """

    lows: Floats
    highs: Floats

    @property
    def is_wide(self) -> Bools:
        """Which ranges hold more than one value, so that counting does not find it."""
        return np.asarray(self.lows < self.highs)

    def spans(self) -> Spans:
        """The ranges that are wide, as spans of sortable bits."""
        wide = self.is_wide
        lows, highs = sortable(self.lows[wide]), sortable(self.highs[wide])
        return Spans(np.concatenate([[0], np.cumsum(wide.sum(axis=1))]), lows, highs - lows)


@dataclass(frozen=True, slots=True, eq=False)
class Guessing:
    """A round that counts values around ranges, and those inside by a round of their own.

    Where more than `most` values are inside, none of them are kept. It can be pickled.
    """

    ranges: Ranges
    inner: Counting | Collecting
    most: int

    @property
    def spans(self) -> Spans:
        """Each group whole."""
        n_groups = len(self.ranges.lows)
        lows = np.zeros(n_groups, np.uint64)
        return Spans(np.arange(n_groups + 1), lows, np.full(n_groups, ALL))

    def start(self) -> State:
        """The state of no values."""
        n_groups, n_ranges = self.ranges.lows.shape
        return {"places": np.zeros((n_groups, 2 * n_ranges + 1), np.int64), **self.inner.start()}

    def summarise(self, values: Floats, groups: Int64s, state: State) -> State:
        """The state with the values too, changed in place.

        Cost: two comparisons a range for each value, and the inner round for those inside.
        """
        values, groups = frozen(values, np.float64), frozen(groups, np.int64)
        inside = np.empty(values.size, np.int32)
        kernel = loops("selection", STEPS * values.size)
        n_inside = kernel.place_rows(
            values,
            groups,
            frozen(self.ranges.lows, np.float64),
            frozen(self.ranges.highs, np.float64),
            state["places"],
            inside,
        )
        chosen = inside[:n_inside]
        if n_inside and self._is_kept(state):
            mine = {key: state[key] for key in state if key != "places"}
            state |= self.inner.summarise(values[chosen], groups[chosen], mine)
        return state if self._is_kept(state) else self._emptied(state)

    def merge(self, first: State, second: State) -> State:
        """The state of the values of both, which are left as they are."""
        places = first["places"] + second["places"]
        if not self._is_kept({"places": places}):
            return self._emptied({"places": places})
        return {"places": places, **self.inner.merge(first, second)}

    def _is_kept(self, state: State) -> bool:
        """Whether the values inside are few enough, so far."""
        if isinstance(self.inner, Counting):
            return True
        return int(state["places"][:, 1::2][self.ranges.is_wide].sum()) <= self.most

    def _emptied(self, state: State) -> State:
        return {"places": state["places"], **self.inner.start()}

    def bins(self, state: State) -> Bins:
        """What is between ranges as it was counted, and what the inner round has found in them."""
        found = self._counted(state["places"], with_wide=not self._is_kept(state))
        if self._is_kept(state):
            inner = self.inner.bins(state)
            groups = self.inner.spans.groups[inner.spans]
            found = Bins(
                *(
                    np.concatenate(both)
                    for both in zip(found, inner._replace(spans=groups), strict=True)
                )
            )
        order = np.lexsort((found.least, found.spans))
        return Bins(*(array[order] for array in found))

    def _counted(self, places: Int64s, *, with_wide: bool) -> Bins:
        """The places that are not empty; those inside wide ranges if that is all there is."""
        lows, highs = sortable(self.ranges.lows), sortable(self.ranges.highs)
        is_range = ~np.isnan(self.ranges.lows)
        least, greatest = np.zeros(places.shape, np.uint64), np.full(places.shape, ALL)
        least[:, 1::2], greatest[:, 1::2] = lows, highs
        least[:, 2::2] = highs + ONE
        greatest[:, :-1:2] = np.where(is_range, lows - ONE, ALL)
        shown = places > 0
        if not with_wide:
            shown[:, 1::2] &= ~self.ranges.is_wide
        group = np.flatnonzero(shown) // places.shape[1]
        tight: Bools = least[shown] == greatest[shown]
        return Bins(group, places[shown], least[shown], greatest[shown], tight)


class Sample(NamedTuple):
    """Some of the values that are to be searched: ascending, without nan, and their groups.

    `share` is that of all values in it. Shapes: values and groups (n,), group -1 is left out.
    """

    values: Floats
    groups: Int64s
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Where a sample has the order statistics that are wanted.

    `expected` is how many of all values are to be collected at most, if the sample is like them.
    """

    ranges: Ranges
    expected: int

    def round(self, *, most_bytes: int, may_collect: bool) -> Guessing:
        """The round that looks there: it collects what is inside, or counts it in bins."""
        spans = self.ranges.spans()
        if may_collect:
            return Guessing(self.ranges, Collecting(spans, self.expected), self.expected)
        n_bins = most_bytes // (BIN_BYTES * max(spans.lows.size, 1))
        bits = min(max(n_bins.bit_length() - 1, 1), MOST_BITS)
        return Guessing(self.ranges, Counting.of(spans, bits), 0)


def make_guess(sample: Sample, n_groups: int, wants: Callable[[Int64s], Int64s]) -> Guess:
    """Where a sample has the order statistics that are wanted of each group.

    Cost: a sort of the sample by groups, and some steps a wanted value.

    >>> values = np.arange(1000.0)
    >>> sample = Sample(values, np.zeros(1000, np.int64), share=0.1)
    >>> guess = make_guess(sample, 1, lambda counts: counts[:, None] // 2)
    >>> guess.ranges.lows.tolist(), guess.ranges.highs.tolist(), guess.expected
    ([[423.0]], [[576.0]], 2172)
    """
    known = sample.groups >= 0
    values, groups = sample.values[known], sample.groups[known]
    order = np.argsort(groups.astype(np.min_scalar_type(max(n_groups, 1))), kind="stable")
    values, groups = values[order], groups[order]
    counts = np.bincount(groups, minlength=n_groups).astype(np.int64)
    starts = np.cumsum(counts) - counts
    low, high = _positions(counts, wants, sample.share)
    wanted = low <= high
    padded = np.concatenate([values, [np.nan]])  # for groups without a value
    last = np.maximum(counts - 1, 0)[:, None]
    at_low, at_high = (
        (starts[:, None] + np.clip(place, 0, last)).clip(max=values.size) for place in (low, high)
    )
    lows = np.where(low < 0, -np.inf, padded[at_low])
    highs = np.where(high > last, np.inf, padded[at_high])
    ranges = _joined(np.where(wanted, lows, np.nan), np.where(wanted, highs, np.nan))
    n_inside = _count_inside(ranges, values, starts, counts)
    return Guess(ranges, int((n_inside + WIDE * (1 + n_inside**0.5)) / sample.share))


def _positions(
    counts: Int64s, wants: Callable[[Int64s], Int64s], share: float
) -> tuple[Int64s, Int64s]:
    """Between which places of each group's sample a wanted value lies; low > high where none is.

    Where a sample has too few values of a group to tell, all of the group is one range.
    Shapes: results (n_groups, k).
    """
    estimated = np.maximum(np.round(counts / share), 1).astype(np.int64)
    ranks = np.asarray(wants(estimated.copy()), np.int64)
    quantile = (np.maximum(ranks, 0) + 0.5) / estimated[:, None]
    middle = quantile * counts[:, None] - 0.5
    # Of few values more than the normal distribution says may lie on one side.
    spread = WIDE * (1 + np.sqrt(counts[:, None] * quantile * (1 - quantile)))
    low, high = np.floor(middle - spread), np.ceil(middle + spread)
    unclear = (ranks < 0) & (counts[:, None] < FEW)  # of all values there may be enough
    low[unclear], high[unclear] = -1, FEW
    none = (ranks < 0) & (counts[:, None] >= FEW)
    return np.where(none, 1, low).astype(np.int64), np.where(none, 0, high).astype(np.int64)


def _joined(lows: Floats, highs: Floats) -> Ranges:
    """The ranges with those that meet made one, ascending; nan stands for none."""
    order = np.argsort(lows, axis=1, kind="stable")  # nan comes last
    lows, highs = (np.take_along_axis(ends, order, axis=1) for ends in (lows, highs))
    for index in range(1, lows.shape[1]):
        meets = lows[:, index] <= highs[:, index - 1]
        lows[meets, index] = lows[meets, index - 1]
        highs[meets, index] = np.maximum(highs[meets, index], highs[meets, index - 1])
        lows[meets, index - 1] = highs[meets, index - 1] = np.nan
    order = np.argsort(np.isnan(lows), axis=1, kind="stable")
    n_ranges = int((~np.isnan(lows)).sum(axis=1).max(initial=0))
    lows, highs = (np.take_along_axis(ends, order, axis=1)[:, :n_ranges] for ends in (lows, highs))
    return Ranges(np.ascontiguousarray(lows), np.ascontiguousarray(highs))


def _count_inside(ranges: Ranges, values: Floats, starts: Int64s, counts: Int64s) -> int:
    """How many values of the sample, sorted within each group, lie inside wide ranges."""
    n_inside = 0
    for group, index in np.argwhere(ranges.is_wide).tolist():
        mine = values[starts[group] : starts[group] + counts[group]]
        ends = ranges.lows[group, index], ranges.highs[group, index]
        n_inside += int(mine.searchsorted(ends[1], "right") - mine.searchsorted(ends[0], "left"))
    return n_inside
