"""Exact order statistics of groups of values that are looked at chunk by chunk, in a few rounds.

A float's bits can be rearranged so that they sort as the floats do. A round counts the values that
fall into equal bins of spans of such bits, with the least and the greatest value of each bin; the
bins that hold the wanted ranks are the spans of the next round. Once few enough values are left,
a round collects them. All that merges is sums, least and greatest values and bags of values, so
that the answer does not depend on how the values were split up. A guess from a sample, where there
is one, takes the place of the first round, and mostly of all others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._kernels.selection_guess import Guessing
from sqrl._kernels.selection_rounds import (
    ALL,
    BIN_BYTES,
    GAP,
    KEPT_BYTES,
    MANY,
    Bins,
    Collecting,
    Counting,
    Round,
    Spans,
    State,
    floats_of,
)
from sqrl.errors import DataError

LEAST_BITS, MOST_BITS = 4, 16  # more bins would be mostly empty, and states dear to send


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """The order statistics that are still looked for.

    Shapes: all (wanted,). `places` are positions in the flat result, `ranks` are ranks in the
    group, `spans` holds the value and has `below` values of the group below it.
    """

    places: Int64s
    ranks: Int64s
    spans: Int64s
    below: Int64s


@dataclass(slots=True, eq=False)
class Selection:
    """Exact order statistics of every group, found in a few rounds over the values.

    `wants` is asked once, after the first round: from the number of values of each group, nan left
    out, to the ranks wanted of it, counted from 0, and -1 for none. Each `round` summarises all
    values, in any order and split up in any way, and merges the states, here or in other
    processes; `narrow` goes on by the one that is left.

    Shapes: values and groups of a chunk (n,), group -1 is left out; `wants` (n_groups,) ->
    (n_groups, k); counts (n_groups,); values and through (n_groups, k), nan and 0 where the rank
    is -1. `through` is how many values of the group are no greater than the one that was found.
    Cost: one round where a guess of the same groups is right and has collected, two where it has
    counted; without one two or three for most data, 17 at the very most. Each is O(n), with a state
    of `most_bytes`, unless 16 bins for each wanted value take more, or what a guess collects.

    >>> found = Selection(2, lambda counts: np.stack([counts // 2, counts - 1], axis=1))
    >>> values, groups = np.array([3.0, 1.0, 2.0, 7.0, np.nan]), np.array([0, 0, 0, 1, 1])
    >>> while not found.is_done:
    ...     found.narrow(found.round.summarise(values, groups, found.round.start()))
    >>> found.values.tolist(), found.through.tolist()
    ([[2.0, 3.0], [7.0, 7.0]], [[2, 3], [1, 1]])
    """

    n_groups: int
    wants: Callable[[Int64s], Int64s]
    most_bytes: int = field(default=1 << 20, kw_only=True)  # more would miss the cache
    guess: Guessing | None = field(default=None, kw_only=True)
    is_done: bool = field(default=False, init=False)
    counts: Int64s = field(init=False)
    values: Floats = field(init=False)
    through: Int64s = field(init=False)
    round: Round | Guessing = field(init=False)
    _sought: Sought | None = field(default=None, init=False)
    _expected: Int64s = field(init=False)

    def __post_init__(self) -> None:
        if self.guess is not None:
            self.round = self.guess
            return
        lows = np.zeros(self.n_groups, np.uint64)
        everything = Spans(np.arange(self.n_groups + 1), lows, np.full(self.n_groups, ALL))
        # Without room for many bins, the least and greatest values narrow more than top bits do.
        self.round = Counting.of(everything, self._bits(self.n_groups, 1))

    def narrow(self, state: State) -> None:
        """Prepare the next round by the state of all values, or be done."""
        bins = self.round.bins(state)
        totals = np.zeros(self.round.spans.lows.size, np.int64)
        np.add.at(totals, bins.spans, bins.counts)
        if self._sought is None:
            self._ask(totals)
        elif not np.array_equal(totals, self._expected):
            raise DataError(
                "The data changed while it was read.", fix="learn from data that nothing writes to"
            )
        self._settle(bins, totals)

    def _bits(self, n_spans: int, least: int) -> int:
        """The most bits of bins that fit for so many spans."""
        bins = self.most_bytes // (BIN_BYTES * max(n_spans, 1))
        bits = (bins - GAP if bins > MANY else bins).bit_length() - 1
        return min(max(bits, least), MOST_BITS)

    def _ask(self, counts: Int64s) -> None:
        """Start the search: each group is one span, and `wants` says which ranks to find in it."""
        ranks = np.asarray(self.wants(counts.copy()), np.int64)
        assert ranks.ndim == 2
        assert (ranks < counts[:, None]).all()
        self.counts = counts
        self.values = np.full(ranks.shape, np.nan)
        self.through = np.zeros(ranks.shape, np.int64)
        places = np.flatnonzero(ranks >= 0)
        groups = places // max(ranks.shape[1], 1)
        self._sought = Sought(places, ranks.ravel()[places], groups, np.zeros_like(places))

    def _settle(self, bins: Bins, totals: Int64s) -> None:
        """Write down what is found, and go on with the bins that hold what is not."""
        sought = self._sought
        assert sought is not None
        ends, begins = np.cumsum(bins.counts), np.cumsum(totals) - totals
        places = begins[sought.spans] + sought.ranks - sought.below
        chosen = np.searchsorted(ends, places, side="right")
        below = sought.below + (ends - bins.counts)[chosen] - begins[sought.spans]
        through = below + bins.counts[chosen]
        least, greatest = bins.least[chosen], bins.greatest[chosen]
        is_last = bins.tight[chosen] & (sought.ranks == through - 1)
        is_found = (least == greatest) | is_last
        self.values.flat[sought.places[is_found]] = floats_of(greatest[is_found])
        self.through.flat[sought.places[is_found]] = through[is_found]
        left = ~is_found
        kept, spans = np.unique(chosen[left], return_inverse=True)
        self._sought = Sought(sought.places[left], sought.ranks[left], spans, below[left])
        self._expected = bins.counts[kept]
        self.is_done = kept.size == 0
        groups = self.round.spans.groups[bins.spans[kept]]
        first = np.searchsorted(groups, np.arange(self.n_groups + 1))
        lows = bins.least[kept]
        self.round = self._plan(Spans(first, lows, bins.greatest[kept] - lows))

    def _plan(self, spans: Spans) -> Round:
        """The next round: collects if that takes no more room than bins may or must."""
        n_spans, n_values = spans.lows.size, int(np.sum(self._expected))
        room = max(self.most_bytes, n_spans * BIN_BYTES << LEAST_BITS)
        if n_values * KEPT_BYTES <= room:
            return Collecting(spans, n_values)
        return Counting.of(spans, self._bits(n_spans, LEAST_BITS))
