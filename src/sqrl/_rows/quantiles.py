"""Where in the sorted samples a bound lies, and the bounds of many groups at once."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec import Struct

from sqrl._kernels import Ranks
from sqrl._kernels.arrays import Array, Floats, Ints

FEWEST_OF_ALL = 50  # samples whose ends are bounds at coverage 1, as many as 98 % bounds need
LARGE_GROUP = 32  # values from which on groups are sorted one by one


class BoundOptions(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How bounds are inferred.

    `percentile` interpolates between samples as numpy.percentile does, as in the paper.
    `tolerance` takes order statistics such that the stated coverage holds with the stated
    confidence whatever the distribution. With fewer than `min_support` samples (or mini-batches)
    a rule is unsupported; by default as many as it takes for one to be expected outside.
    """

    method: Literal["percentile", "tolerance"] = "percentile"
    confidence: float = 0.95
    min_support: int | None = None


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """Coverage, sides and method: all it takes to turn sorted samples into bounds."""

    delta: float
    has_lower: bool
    has_upper: bool
    options: BoundOptions

    @property
    def min_support(self) -> int:
        """The fewest samples that support a bound."""
        if self.options.min_support is not None:
            return self.options.min_support
        # With fewer than 1 / delta samples, not even one is expected outside the bounds: what
        # looks like a 98 % bound would be the range of the few samples seen.
        if self.delta == 0:
            return FEWEST_OF_ALL
        return int(np.ceil(round(1.0 / self.delta, 9)))

    @property
    def tail(self) -> float:
        """The share of data left out on each bounded side."""
        return round(self.delta / (2 if self.has_lower and self.has_upper else 1), 12)

    def for_validation(self) -> "BoundMethod":
        """The method for the held-out rows: plain percentiles of however many there are.

        Tolerance bounds widen as samples get fewer, so comparing those of a small validation set
        with those of a large train set would measure the sizes, not the agreement.
        """
        return BoundMethod(
            self.delta,
            self.has_lower,
            self.has_upper,
            BoundOptions(method="percentile", min_support=1),
        )

    def ranks(self, largest: int) -> Ranks:
        """Ranks of the lower and the upper bound for 0 to `largest` samples."""
        found = self.ranks_of(np.arange(largest + 1, dtype=np.int64))
        low, high = found.rank_lo.astype(np.int32), found.rank_hi.astype(np.int32)
        return Ranks(low, found.frac_lo, high, found.frac_hi)

    def ranks_of(self, counts: Ints) -> Ranks:
        """Ranks of the lower and the upper bound for so many samples, -1 where they are too few.

        The open side of a one-sided bound gets the smallest or largest sample: what the paper
        puts in its place to compare intervals.
        """
        if self.options.method == "tolerance" and self.delta > 0:
            lower = upper = tolerance_depth(
                counts, self.delta, self.options.confidence, self.has_lower and self.has_upper
            )
            lower_rank, upper_rank = lower - 1, counts - upper
            lower_fraction = upper_fraction = np.zeros(counts.size)
            unsupported = lower < 1
        else:
            lower_rank, lower_fraction = percentile_ranks(counts, self.tail)
            upper_rank, upper_fraction = percentile_ranks(counts, 1.0 - self.tail)
            unsupported = np.zeros(counts.size, dtype=np.bool_)
        if not self.has_lower:
            lower_rank, lower_fraction = np.zeros_like(counts), np.zeros(counts.size)
        if not self.has_upper:
            upper_rank, upper_fraction = counts - 1, np.zeros(counts.size)
        unsupported |= counts < max(1, self.min_support)
        lower_rank[unsupported] = upper_rank[unsupported] = -1
        return Ranks(lower_rank, lower_fraction, upper_rank, upper_fraction)


def tolerance_depth(counts: Ints, delta: float, confidence: float, two_sided: bool) -> Ints:
    """How many order statistics deep a tolerance bound may lie; 0 where no bound is supported.

    The interval from the k-th smallest to the k-th largest of n samples covers a share of the
    distribution that follows Beta(n + 1 - 2k, 2k), whatever the distribution; one-sided, a k-th
    smallest sample leaves Beta(n + 1 - k, k) above it. The depth is the largest k for which this
    share is at least 1 - delta with the confidence.

    >>> tolerance_depth(np.array([148, 149, 236]), 0.02, 0.95, False).tolist()
    [0, 1, 2]
    """
    from scipy.special import betainc

    # P(Beta(n + 1 - j, j) >= 1 - delta) = P(Binomial(n, delta) >= j), which falls with j: the
    # largest j is between `enough`, where it is no less than the confidence, and `too_many`.
    enough, too_many = np.zeros_like(counts), counts + 1
    while (apart := too_many - enough > 1).any():
        j = np.where(apart, (enough + too_many) // 2, 1)
        sure = betainc(j, np.maximum(counts + 1 - j, 1), delta) >= confidence
        enough = np.where(apart & sure, j, enough)
        too_many = np.where(apart & ~sure, j, too_many)
    return np.asarray(enough // (2 if two_sided else 1))


def grouped_bounds(
    values: Floats, groups: Ints, n_groups: int, method: BoundMethod
) -> tuple[Floats, Floats, Ints]:
    """Lower bound, upper bound and support of the values in each group.

    Shapes: values and groups (n,), results (n_groups,). nan values are left out.
    Cost: one sort of the values: O(n log n), whatever the number of groups.

    >>> from sqrl._rules.schema import BoundOptions
    >>> method = BoundMethod(0.5, True, True, BoundOptions(min_support=1))
    >>> grouped_bounds(np.arange(5.0), np.zeros(5, np.int64), 2, method)
    (array([ 1., nan]), array([ 3., nan]), array([5, 0]))
    """
    ordered, starts, counts = sort_groups(values, groups, n_groups)
    ranks = method.ranks_of(counts)
    return (
        _pick(ordered, starts, counts, ranks.rank_lo, ranks.frac_lo),
        _pick(ordered, starts, counts, ranks.rank_hi, ranks.frac_hi),
        counts,
    )


def sort_groups(values: Floats, groups: Ints, n_groups: int) -> tuple[Floats, Ints, Ints]:
    """The values sorted within their groups, where each group starts and how many it has.

    nan values are left out; of zeros, which are equal with either sign, the first row's is first.
    Cost: where groups are large, a sort of each, which takes less than one of all by two keys.
    """
    present = ~np.isnan(values)
    values, groups = values[present], groups[present]
    counts = np.bincount(groups, minlength=n_groups).astype(np.int64)
    starts = np.cumsum(counts) - counts
    if n_groups > 1 and values.size < LARGE_GROUP * n_groups:
        return values[np.lexsort((values, groups))], starts, counts
    if n_groups > 1:
        # Numbers of two bytes at most are sorted digit by digit, and rows stay in their order.
        values = values[np.argsort(groups.astype(np.min_scalar_type(n_groups)), kind="stable")]
    kind: Literal["stable"] | None = "stable" if np.signbit(values[values == 0]).any() else None
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        values[start : start + count].sort(kind=kind)
    return values, starts, counts


def percentile_ranks(counts: Ints, q: float | Floats) -> tuple[Ints, Floats]:
    """Rank and fraction of the q quantile for each count, by numpy's linear interpolation."""
    virtual = np.maximum(counts - 1, 0) * q
    rank = np.floor(virtual).astype(np.int64)
    rank[counts == 0] = -1
    return rank, virtual - np.floor(virtual)


def _pick(ordered: Floats, starts: Ints, counts: Ints, ranks: Array, fractions: Floats) -> Floats:
    """The bound of each group from its sorted values, given its rank and fraction."""
    rank, fraction = ranks.astype(np.int64), fractions
    supported = rank >= 0
    result = np.full(counts.shape, np.nan)
    here = starts[supported] + rank[supported]
    following = np.minimum(here + 1, starts[supported] + counts[supported] - 1)
    result[supported] = lerp(ordered[here], ordered[following], fraction[supported])
    return result


def lerp(low: Floats, high: Floats, fraction: Floats) -> Floats:
    """`low + fraction * (high - low)`, rounded exactly as numpy.percentile rounds it.

    >>> lerp(np.array([1.0]), np.array([3.0]), np.array([0.5])).tolist()
    [2.0]
    """
    span = high - low
    return np.where(fraction >= 0.5, high - span * (1 - fraction), low + span * fraction)
