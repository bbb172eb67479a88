"""Compiled loops that count conjunctions: AND and popcount, then inclusion-exclusion for the signs.

Sets of up to `high` features are numbered by size, then lexicographically, from the empty set (0)
on. All sets that extend a *prefix* by one larger feature follow each other in that order, so a
prefix is the unit of work: its AND is made once and counted against every last feature.

Inner loops take bare arrays, and rows as an array and an index: every view, and every array taken
out of a tuple, is counted in and out by two atomic operations, which cost more than many a loop.
"""

from typing import NamedTuple

import numpy as np

from sqrl._kernels.arrays import Array, Int16s, Int32s, Int64s, Words64
from sqrl._kernels.compiled.jit import inlined, kernel, popcount
from sqrl._kernels.layout import Level, Words


class Scratch(NamedTuple):
    """What a thread works in: for one prefix its words, and counts of the sets that extend it.

    Shapes: features (size + 1,); common (2**size, words, lanes), the prefix's rows for each sign
    mask, or (1, words, lanes) if no feature is ever unknown; wide (n_features + 1, n_parts, lanes),
    a row for each last feature and a spare one; signed (2**(size + 1), n_parts, cells), where cells
    are the lanes, or 1 if lanes are added up.
    """

    features: Int64s
    common: Words64
    wide: Int32s
    signed: Int32s


@inlined
def make_scratch(words: Words, n_features: int, size: int, cells: int) -> Scratch:
    """Scratch for prefixes of `size` features."""
    n_literals, n_words, lanes = words.bits.shape
    n_parts = words.part_words.size - 1
    n_masks = 1 << size if n_literals > n_features + 1 else 1
    return Scratch(
        np.empty(size + 1, np.int64),
        np.empty((n_masks, n_words, lanes), np.uint64),
        np.empty((n_features + 1, n_parts, lanes), np.int32),
        np.empty((2 << size, n_parts, cells), np.int32),
    )


@inlined
def count_common(
    left: Words64, i: int, right: Words64, j: int, part_words: Int64s, counts: Int32s, row: int
) -> None:
    """Count the rows common to left[i] and right[j], for each part and lane, into counts[row].

    Shapes: left and right (.., words, lanes), counts (.., n_parts, lanes).
    Cost: a load, AND, popcount and add for each word, 4 or 8 lanes at a time.
    """
    _, n_parts, lanes = counts.shape
    for part in range(n_parts):
        for lane in range(lanes):
            counts[row, part, lane] = 0
        word = part_words[part]
        stop = part_words[part + 1]
        # four words at once: `counts` is read and written a quarter as often
        while word + 4 <= stop:
            for lane in range(lanes):
                counts[row, part, lane] += (
                    popcount(left[i, word, lane] & right[j, word, lane])
                    + popcount(left[i, word + 1, lane] & right[j, word + 1, lane])
                    + popcount(left[i, word + 2, lane] & right[j, word + 2, lane])
                    + popcount(left[i, word + 3, lane] & right[j, word + 3, lane])
                )
            word += 4
        while word < stop:
            for lane in range(lanes):
                counts[row, part, lane] += popcount(left[i, word, lane] & right[j, word, lane])
            word += 1


@inlined
def count_all(
    left: Words64, i: int, right: Words64, j: int, part_words: Int64s, counts: Int32s, row: int
) -> None:
    """Count the rows common to left[i] and right[j], for each part, all lanes together.

    Shapes: left and right (.., words * lanes), counts (.., n_parts, 1).
    Cost: a load, AND, popcount and add for each word, in registers.
    """
    n_parts = part_words.size - 1
    lanes = left.shape[1] // max(part_words[n_parts], 1)
    for part in range(n_parts):
        total = 0
        # unsigned, for a place that may be negative is not known to be one word after another
        begin, end = np.uint64(part_words[part] * lanes), np.uint64(part_words[part + 1] * lanes)
        for word in range(begin, end):
            total += popcount(left[i, word] & right[j, word])
        counts[row, part, 0] = total


@inlined
def fold(source: Int32s, i: int, target: Int32s, j: int) -> None:
    """Copy source[i] to target[j], or add up its lanes if the target has one cell a part.

    Shapes: source (.., n_parts, lanes), target (.., n_parts, lanes) or (.., n_parts, 1).
    """
    for part in range(target.shape[1]):
        if target.shape[2] == source.shape[2]:
            for lane in range(target.shape[2]):
                target[j, part, lane] = source[i, part, lane]
        else:
            total = np.int32(0)
            for lane in range(source.shape[2]):
                total += source[i, part, lane]
            target[j, part, 0] = total


@inlined
def intersect(
    bits: Words64, negated: Int64s, features: Int64s, size: int, mask: int, common: Words64
) -> None:
    """AND together the first `size` features, those in `mask` by their negation."""
    everything, n_words, lanes = bits.shape[0] - 1, bits.shape[1], bits.shape[2]
    for word in range(n_words):
        for lane in range(lanes):
            common[mask, word, lane] = bits[everything, word, lane]
    for i in range(size):
        literal = negated[features[i]] if (mask >> i) & 1 else features[i]
        for word in range(n_words):
            for lane in range(lanes):
                common[mask, word, lane] &= bits[literal, word, lane]


@inlined
def load_prefix(prefixes: Int16s, prefix: int, features: Int64s) -> int:
    """Copy a prefix to `features`; the first feature that may follow it."""
    size = prefixes.shape[1]
    for i in range(size):
        features[i] = prefixes[prefix, i]
    return features[size - 1] + 1 if size else 0


@inlined
def count_lasts(
    bits: Words64, part_words: Int64s, follow: int, end: int, common: Words64, wide: Int32s
) -> None:
    """Count the plain prefix together with each of the features follow..end."""
    for last in range(follow, end):
        count_common(common, 0, bits, last, part_words, wide, last)


@inlined
def position(binomial: Int64s, start: Int64s, features: Int64s, left_out: int) -> int:
    """The number of a set of features, without those in the mask `left_out`."""
    largest = binomial.shape[0] - 2
    remaining = features.size - popcount(np.uint64(left_out))
    number: int = start[remaining + 1] - 1
    for i in range(features.size):
        if not (left_out >> i) & 1:
            number -= binomial[largest - features[i], remaining]
            remaining -= 1
    return number


@inlined
def sign_prefix(
    bits: Words64, negated: Int64s, features: Int64s, follow: int, common: Words64
) -> bool:
    """AND the prefix for each sign mask if a set needs it; whether it has unknown features."""
    size = features.size - 1
    everything = bits.shape[0] - 1
    unknown = False
    for i in range(size):
        unknown |= negated[features[i]] != everything
    needed = unknown
    for last in range(follow, negated.size):
        needed |= negated[last] != everything
    if needed:
        for mask in range(1 << size):
            intersect(bits, negated, features, size, mask, common)
    return unknown


@inlined
def count_literals(
    bits: Words64,
    negated: Int64s,
    part_words: Int64s,
    features: Int64s,
    common: Words64,
    wide: Int32s,
    signed: Int32s,
) -> None:
    """Count a set for each sign mask by the literals' own bits.

    A negated feature that is never unknown stands for all rows here: see `subtract_plain`.
    """
    size = features.size - 1
    for mask in range(signed.shape[0]):
        literal = negated[features[size]] if mask >> size else features[size]
        prefix_mask = mask & ((1 << size) - 1)
        count_common(common, prefix_mask, bits, literal, part_words, wide, negated.size)
        fold(wide, negated.size, signed, mask)


@inlined
def collect_plain(
    binomial: Int64s, start: Int64s, table: Int32s, features: Int64s, wide: Int32s, signed: Int32s
) -> None:
    """Collect for each sign mask the count of the plain features only, from the table."""
    fold(wide, features[features.size - 1], signed, 0)
    for mask in range(1, signed.shape[0]):
        fold(table, position(binomial, start, features, mask), signed, mask)


@inlined
def subtract(rows: Array, i: int, j: int) -> None:
    """Subtract rows[j] from rows[i] in place."""
    for part in range(rows.shape[1]):
        for cell in range(rows.shape[2]):
            rows[i, part, cell] -= rows[j, part, cell]


@inlined
def subtract_plain(negated: Int64s, everything: int, features: Int64s, signed: Array) -> None:
    """Turn 'left out' into 'negated' for features never unknown: |a, not b| = |a| - |a, b|."""
    for i in range(features.size):
        if negated[features[i]] == everything:
            bit = 1 << i
            for mask in range(signed.shape[0]):
                if mask & bit:
                    subtract(signed, mask, mask ^ bit)


@kernel
def fill_table(level: Level, begin: int, end: int, table: Int32s) -> None:
    """Count the plain sets that extend prefixes begin..end into their rows of the table.

    Shapes: table (n_sets, n_parts, cells).
    Cost: `count_common` for each set.
    """
    bits, negated, part_words = level.words
    prefix_features, first = level.prefixes
    size = prefix_features.shape[1]
    features, common, wide, _ = make_scratch(level.words, negated.size, size, 1)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        intersect(bits, negated, features, size, 0, common)
        count_lasts(bits, part_words, follow, negated.size, common, wide)
        for last in range(follow, negated.size):
            fold(wide, last, table, first[prefix] + last - follow)


@inlined
def count_signs(
    common: Words64,
    words: Words64,
    negated: Int64s,
    part_words: Int64s,
    last: int,
    signed: Int32s,
) -> None:
    """As `count_literals`, all lanes together. Shapes: common and words (.., words * lanes)."""
    half = signed.shape[0] >> 1
    for mask in range(signed.shape[0]):
        literal = negated[last] if mask >= half else last
        count_all(common, mask & (half - 1), words, literal, part_words, signed, mask)


@inlined
def place_smaller(binomial: Int64s, start: Int64s, features: Int64s, smaller: Int64s) -> None:
    """The number of a set without the features of each mask. Shapes: smaller (n_masks,)."""
    for mask in range(1, smaller.size):
        smaller[mask] = position(binomial, start, features, mask)


@inlined
def collect_smaller(table: Int32s, smaller: Int64s, further: int, signed: Int32s) -> None:
    """Collect the counts of a set without the features of each mask, from the table.

    `smaller` are the numbers for the first last feature: those with one `further` on follow.
    """
    half = signed.shape[0] >> 1
    for mask in range(1, signed.shape[0]):
        number = smaller[mask] if mask >= half else smaller[mask] + further
        for part in range(signed.shape[1]):
            signed[mask, part, 0] = table[number, part, 0]


@inlined
def clear(rows: Array, i: int) -> None:
    """Set rows[i] to 0."""
    for part in range(rows.shape[1]):
        rows[i, part, 0] = 0


@inlined
def has_empty_subset(signed: Int32s) -> bool:
    """Whether a set without one of its features holds on no row: then the set holds on none.

    Shapes: signed (n_masks, n_parts, 1), the count without the features in each mask.
    """
    mask = 1
    while mask < signed.shape[0]:
        total = 0
        for part in range(signed.shape[1]):
            total += signed[mask, part, 0]
        if total == 0:
            return True
        mask <<= 1
    return False


@kernel
def fill_counts(level: Level, begin: int, end: int, table: Int32s, counts: Int32s) -> None:
    """Count every body whose set extends prefixes begin..end, all lanes together.

    Shapes: table (n_sets, n_parts, 1), counts (n_bodies, n_parts).
    Cost: `count_all` for each set that is not in the table and has no empty subset there, and a
    few steps for each body.
    """
    bits, negated, part_words = level.words
    n_features, binomial, start = level.sets
    first_set, valid, offset = level.bodies
    prefix_features, first = level.prefixes
    size = prefix_features.shape[1]
    everything = bits.shape[0] - 1
    features, common, _, signed = make_scratch(level.words, n_features, size, 1)
    words = bits.reshape(bits.shape[0], bits.shape[1] * bits.shape[2])
    prefix_words = common.reshape(common.shape[0], words.shape[1])
    smaller = np.empty(signed.shape[0], np.int64)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        unknown = sign_prefix(bits, negated, features, follow, common)
        features[size] = follow
        place_smaller(binomial, start, features, smaller)
        is_ready = False
        for last in range(follow, n_features):
            features[size] = last
            this_set = first[prefix] + last - follow
            if unknown or negated[last] != everything:
                count_signs(prefix_words, words, negated, part_words, last, signed)
            else:
                collect_smaller(table, smaller, last - follow, signed)
                if this_set < table.shape[0]:
                    fold(table, this_set, signed, 0)
                elif has_empty_subset(signed):
                    clear(signed, 0)
                else:
                    if not is_ready:
                        intersect(bits, negated, features, size, 0, common)
                        is_ready = True
                    count_all(prefix_words, 0, words, last, part_words, signed, 0)
            subtract_plain(negated, everything, features, signed)
            write_valid(valid[this_set - first_set], offset[this_set - first_set], signed, counts)


@inlined
def is_valid(masks: np.uint32, mask: int) -> bool:
    """Whether a sign mask makes a body of a set, not a contradiction."""
    return bool((masks >> np.uint32(mask)) & 1)


@inlined
def write_valid(masks: np.uint32, body: int, signed: Array, counts: Array) -> None:
    """Write the counts of a set's valid sign masks to its bodies."""
    for mask in range(signed.shape[0]):
        if is_valid(masks, mask):
            for part in range(counts.shape[1]):
                counts[body, part] = signed[mask, part, 0]
            body += 1
