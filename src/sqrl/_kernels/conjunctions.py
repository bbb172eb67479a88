"""Every conjunction of signed features that is not a contradiction: counted, enumerated, decoded.

A *body* is a set of features, each of them plain or negated. Features of one group exclude each
other, and the features of a *complete* group leave no row uncovered, so a body is a contradiction
if it has two plain features of one group, or all features of a complete group negated.

A set of features always has a sign pattern without contradiction (one plain feature in each group),
so that the sets are simply all combinations, and a set's position is its rank among them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Int16s, Int32s, Int64s, Uint32s

MAX_LENGTH = 5  # a set's valid sign masks are the bits of one uint32
MAX_FEATURES = 2**14  # a literal, 2 * feature + negated, is an int16


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """A family of bodies as columns: the sets of features and the sign masks valid for each.

    Bit i of a sign mask is set where the i-th feature of the set is negated. Body ids run through
    the sets in order (by size, then lexicographic) and within a set through its valid masks.

    Shapes: subsets (n_subsets, high), padded with -1; valid (n_subsets,), bit m set where sign mask
    m is no contradiction; offset (n_subsets + 1,), the id of each set's first body.
    """

    n_features: int
    low: int
    high: int
    subsets: Int16s
    valid: Uint32s
    offset: Int64s

    def __post_init__(self) -> None:
        for column in (self.subsets, self.valid, self.offset):
            column.flags.writeable = False

    @property
    def n(self) -> int:
        """How many bodies there are."""
        return int(self.offset[-1])

    @property
    def nbytes(self) -> int:
        """Memory held by the columns."""
        return self.subsets.nbytes + self.valid.nbytes + self.offset.nbytes

    def literals(self, ids: Array) -> Int16s:
        """The signed features of each body: 2 * feature + negated, padded with -1.

        Shapes: ids (n,), result (n, high).
        Cost: a binary search and 2**high steps an id, vectorised.

        >>> bodies = enumerate_bodies(np.arange(2), np.zeros(2, bool), 1, 2)
        >>> bodies.literals(np.array([0, 3, 6])).tolist()
        [[0, -1], [3, -1], [0, 3]]
        """
        ids = np.asarray(ids, np.int64)
        subset = np.searchsorted(self.offset, ids, side="right") - 1
        mask = _nth_set_bit(self.valid[subset], ids - self.offset[subset], 2**self.high)
        features = self.subsets[subset]
        negated = (mask[:, None] >> np.arange(self.high, dtype=np.int8)) & np.int8(1)
        return np.where(features < 0, np.int16(-1), 2 * features + negated)


def count_bodies(group: Int32s, complete: Bools, low: int, high: int) -> list[int]:
    """The number of bodies of each length from `low` to `high`, exact however large.

    Of a group of g features, j can be taken in C(g, j) ways and then signed in 1 + j ways (all
    negated, or one of them plain); all g negated is a contradiction if the group is complete.
    The coefficients of the product of these polynomials over all groups are the counts.

    Shapes: group (n_features,), complete (n_groups,), result: high - low + 1 counts.
    Cost: O(high**2 * log(groups)) for each kind of group, whatever the counts are.

    >>> count_bodies(np.arange(52), np.zeros(52, bool), 1, 3)
    [104, 5304, 176800]
    """
    sizes = Counter(np.asarray(group).tolist())
    kinds = Counter((size, size > 1 and bool(complete[g])) for g, size in sizes.items())
    product = [1] + [0] * high
    for (size, is_complete), times in kinds.items():
        ways = [comb(size, j) * (1 + j) for j in range(high + 1)]
        if is_complete and size <= high:
            ways[size] -= 1
        product = _times_power(product, ways, times)
    return product[low:]


def enumerate_bodies(group: Int32s, complete: Bools, low: int, high: int) -> Bodies:
    """All bodies of `low` to `high` features that are not contradictions.

    Shapes: group (n_features,), complete (n_groups,).
    Cost: O(2**high) vectorised steps over the sets of features.

    >>> bodies = enumerate_bodies(np.array([0, 0, 1]), np.array([True, False]), 1, 2)
    >>> bodies.n, bodies.valid.tolist()
    (16, [3, 3, 3, 6, 15, 15])
    """
    if not 1 <= low <= high <= MAX_LENGTH:
        raise ValueError(f"Lengths must satisfy 1 <= low <= high <= {MAX_LENGTH}: {low=}, {high=}.")
    if len(group) > MAX_FEATURES:
        raise ValueError(f"At most {MAX_FEATURES} features can be combined, not {len(group)}.")
    group = np.asarray(group, np.int32)
    sets = [all_combinations(len(group), size) for size in range(low, high + 1)]
    valid = np.concatenate([_valid_masks(group, np.asarray(complete), s) for s in sets])
    padded = [np.pad(s, ((0, 0), (0, high - s.shape[1])), constant_values=-1) for s in sets]
    offset = np.concatenate(([0], np.cumsum(np.bitwise_count(valid), dtype=np.int64)))
    return Bodies(
        n_features=len(group),
        low=low,
        high=high,
        subsets=np.concatenate(padded),
        valid=valid,
        offset=offset,
    )


def all_combinations(n: int, size: int) -> Int16s:
    """Every increasing `size`-tuple from range(n), in lexicographic order.

    Shapes: result (C(n, size), size).
    Cost: proportional to the result.

    >>> all_combinations(4, 2).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    sets = np.empty((1, 0), np.int16)
    for _ in range(size):
        ends = combination_ends(sets, n)
        follow = np.diff(ends)
        prefix = np.repeat(sets, follow, axis=0)
        after = (sets[:, -1] if sets.shape[1] else np.full(1, -1)) + 1 - ends[:-1]
        last = np.arange(ends[-1]) + np.repeat(after, follow)
        sets = np.column_stack((prefix, last.astype(np.int16)))
    return sets


def combination_ends(prefixes: Int16s, n: int) -> Int64s:
    """Where the extensions of each prefix by one larger element of range(n) begin, and the end.

    Shapes: prefixes (p, size) in lexicographic order, result (p + 1,).
    Cost: O(p).

    >>> combination_ends(all_combinations(4, 1), 4).tolist()
    [0, 3, 5, 6, 6]
    """
    follow = n - 1 - prefixes[:, -1].astype(np.int64) if prefixes.shape[1] else np.full(1, n)
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(follow)))


def _times_power(product: list[int], factor: list[int], times: int) -> list[int]:
    """A polynomial times the power of another, up to the degree they have."""
    while times:
        if times % 2:
            product = _times(product, factor)
        factor = _times(factor, factor)
        times //= 2
    return product


def _times(left: list[int], right: list[int]) -> list[int]:
    return [sum(left[i - j] * right[j] for j in range(i + 1)) for i in range(len(left))]


def _valid_masks(group: Int32s, complete: Bools, sets: Int16s) -> Uint32s:
    """For each set the sign masks that are no contradiction, as bits."""
    length = sets.shape[1]
    masks = range(2**length)
    groups = group[sets]
    sizes = np.bincount(group)[groups]
    closed = complete[groups]
    valid = np.full(len(sets), 2**2**length - 1, np.uint32)
    for taken in range(2, length + 1):
        for places in combinations(range(length), taken):
            bits = sum(1 << place for place in places)
            together = np.all(groups[:, places[1:]] == groups[:, places[:1]], axis=1)
            if taken == 2:
                valid[together] &= _bits(m for m in masks if m & bits)
            whole = together & closed[:, places[0]] & (sizes[:, places[0]] == taken)
            valid[whole] &= _bits(m for m in masks if m & bits != bits)
    return valid


def _bits(positions: Iterable[int]) -> np.uint32:
    return np.uint32(sum(1 << position for position in positions))


def _nth_set_bit(words: Uint32s, n: Array, width: int) -> Array:
    """The position of the n-th set bit (from 0) of each word, which has `width` bits."""
    position = np.zeros(len(words), np.int8)
    left = n.astype(np.int8)
    for bit in range(width):
        left -= ((words >> np.uint32(bit)) & np.uint32(1)).astype(np.int8)
        position += left >= 0
    return position
