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
    Round,
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

    def spans(self, chosen: Bools) -> Spans:
        """Some of the ranges, as spans of sortable bits."""
        lows, highs = sortable(self.lows[chosen]), sortable(self.highs[chosen])
        return Spans(np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]), lows, highs - lows)


@dataclass(frozen=True, slots=True, eq=False)
class Guessing:
    """A round that counts values around ranges, and collects or counts those inside.

    Where more values are in the ranges that are collected than these are expected to hold, none of
    them are kept. It can be pickled. Shapes: is_collected as the ranges.
    """

    ranges: Ranges
    is_collected: Bools
    collecting: Collecting
    counting: Counting

    @property
    def spans(self) -> Spans:
        """Each group whole."""
        n_groups = len(self.ranges.lows)
        lows = np.zeros(n_groups, np.uint64)
        return Spans(np.arange(n_groups + 1), lows, np.full(n_groups, ALL))

    def start(self) -> State:
        """The state of no values."""
        n_groups, n_ranges = self.ranges.lows.shape
        places = np.zeros((n_groups, 2 * n_ranges + 1), np.int64)
        return {"places": places, **self.collecting.start(), **self.counting.start()}

    def summarise(self, values: Floats, groups: Int64s, state: State) -> State:
        """The state with the values too, changed in place.

        Cost: two comparisons a range for each value, and some more for those inside.
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
        values, groups = values[chosen], groups[chosen]
        if self.counting.spans.lows.size:
            self.counting.summarise(values, groups, state)
        if not self._is_kept(state):
            state |= self.collecting.start()
        elif self.collecting.spans.lows.size:
            self.collecting.summarise(values, groups, state)
        return state

    def merge(self, first: State, second: State) -> State:
        """The state of the values of both, which are left as they are."""
        merged = {"places": first["places"] + second["places"]}
        is_kept = self._is_kept(merged)
        merged |= self.collecting.merge(first, second) if is_kept else self.collecting.start()
        return merged | self.counting.merge(first, second)

    def _is_kept(self, state: State) -> bool:
        """Whether the values that are collected are no more than was expected, so far."""
        return int(state["places"][:, 1::2][self.is_collected].sum()) <= self.collecting.most

    def bins(self, state: State) -> Bins:
        """What is around ranges as it was counted, and what was found in them."""
        is_kept, wide = self._is_kept(state), self.ranges.is_wide
        within: list[Round] = [self.counting, *([self.collecting] if is_kept else [])]
        found = [self._counted(state["places"], ~wide if is_kept else ~wide | self.is_collected)]
        for one in within:
            bins = one.bins(state)
            found.append(bins._replace(spans=one.spans.groups[bins.spans]))
        joined = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        order = np.lexsort((joined[2], joined[0]))  # by group, and then by the least value
        return Bins(*(array[order] for array in joined))

    def _counted(self, places: Int64s, with_ranges: Bools) -> Bins:
        """The places that are not empty, as far as they are between ranges or in some of them."""
        lows, highs = sortable(self.ranges.lows), sortable(self.ranges.highs)
        is_range = ~np.isnan(self.ranges.lows)
        least, greatest = np.zeros(places.shape, np.uint64), np.full(places.shape, ALL)
        least[:, 1::2], greatest[:, 1::2] = lows, highs
        least[:, 2::2] = highs + ONE
        greatest[:, :-1:2] = np.where(is_range, lows - ONE, ALL)
        shown = places > 0
        shown[:, 1::2] &= with_ranges
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

    `expected` is how many of all values a range holds at most, if the sample is like them; 0 where
    they are all the same, so that they need not be kept. Shapes: expected as the ranges.
    """

    ranges: Ranges
    expected: Int64s

    def round(self, *, most_bytes: int, most_each: int) -> Guessing:
        """The round that looks there.

        It collects the values of a range that holds at most `most_each`, and counts those of others
        in bins that take `most_bytes`.
        """
        is_collected = self.ranges.is_wide & (self.expected <= most_each)
        collected = self.ranges.spans(is_collected)
        counted = self.ranges.spans(self.ranges.is_wide & ~is_collected)
        n_bins = most_bytes // (BIN_BYTES * max(counted.lows.size, 1))
        bits = min(max(n_bins.bit_length() - 1, 1), MOST_BITS)
        most = int(self.expected[is_collected].sum())
        return Guessing(
            self.ranges, is_collected, Collecting(collected, most), Counting.of(counted, bits)
        )


def make_guess(sample: Sample, n_groups: int, wants: Callable[[Int64s], Int64s]) -> Guess:
    """Where a sample has the order statistics that are wanted of each group.

    Cost: a sort of the sample by groups, and some steps a wanted value.

    >>> values = np.arange(1000.0)
    >>> sample = Sample(values, np.zeros(1000, np.int64), share=0.1)
    >>> guess = make_guess(sample, 1, lambda counts: counts[:, None] // 2)
    >>> guess.ranges.lows.tolist(), guess.ranges.highs.tolist(), guess.expected.tolist()
    ([[423.0]], [[576.0]], [[2143]])
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
    most = (n_inside + WIDE * (1 + np.sqrt(n_inside))) / sample.share
    return Guess(ranges, np.where(ranges.is_wide, most, 0).astype(np.int64))


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


def _count_inside(ranges: Ranges, values: Floats, starts: Int64s, counts: Int64s) -> Int64s:
    """How many values of the sample, sorted within each group, lie inside each wide range."""
    n_inside = np.zeros(ranges.lows.shape, np.int64)
    for group, index in np.argwhere(ranges.is_wide).tolist():
        mine = values[starts[group] : starts[group] + counts[group]]
        low, high = ranges.lows[group, index], ranges.highs[group, index]
        first, last = mine.searchsorted(low, "left"), mine.searchsorted(high, "right")
        n_inside[group, index] = last - first
    return n_inside
