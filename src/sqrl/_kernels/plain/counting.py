"""Conjunctions counted by numpy: AND and popcount, then inclusion-exclusion for the signs.

A prefix is the unit of work, as in the compiled loops; what follows is done for all its sets, or
for those of all prefixes of a chunk, at once.
"""

import numpy as np

from sqrl._kernels.arrays import Array, Int32s, Int64s, Words64
from sqrl._kernels.layout import Level, Prefixes, Sets, Words

MOST_WORDS = (1 << 16) // 64 - 1  # whose bits can be counted in 16 bits, which is quicker


def fill_table(level: Level, begin: int, end: int, table: Int32s) -> None:
    """Count the plain sets that extend prefixes begin..end into their rows of the table."""
    counted, first = count_sets(level, begin, end), level.prefixes.first
    table[first[begin] : first[end]] = fold(counted, table.shape[2])


def fill_counts(level: Level, begin: int, end: int, table: Int32s, counts: Int32s) -> None:
    """Count every body whose set extends prefixes begin..end, all lanes together."""
    counted = fold(count_sets(level, begin, end), 1)
    signed = sign_counts(level, begin, end, table, counted)
    bodies, chosen = valid_signs(level, begin, end, len(signed))
    counts[bodies] = signed[chosen][:, :, 0]


def count_sets(level: Level, begin: int, end: int) -> Int32s:
    """The rows on which all features of a set hold, for the sets that extend prefixes begin..end.

    Shapes: result (n_sets, n_parts, lanes).
    """
    words, prefixes = level.words, level.prefixes
    first = prefixes.first[begin : end + 1] - prefixes.first[begin]
    n_parts, lanes = words.part_words.size - 1, words.bits.shape[2]
    counts = np.zeros((first[-1], n_parts, lanes), np.int32)
    scratch = np.empty((words.negated.size, *words.bits.shape[1:]), np.uint64)
    for place, features in zip(first.tolist(), prefixes.features[begin:end], strict=False):
        follow = features[-1] + 1 if features.size else 0
        common = np.bitwise_and.reduce(words.bits[features]) if features.size else words.bits[-1]
        lasts = words.bits[follow : words.negated.size if common.any() else follow]
        together = np.bitwise_and(common, lasts, out=scratch[: len(lasts)])
        counts[place : place + len(together)] = count_parts(together, words.part_words)
    return counts


def count_parts(together: Words64, part_words: Int64s) -> Int32s:
    """How many bits are set in each part and lane.

    Shapes: together (n, words, lanes), result (n, n_parts, lanes).
    """
    bits = np.bitwise_count(together)
    counts = np.empty((len(bits), part_words.size - 1, bits.shape[2]), np.int32)
    for part in range(part_words.size - 1):
        inside = bits[:, part_words[part] : part_words[part + 1]]
        few = inside.shape[1] <= MOST_WORDS
        counts[:, part] = np.einsum("nwl->nl", inside, dtype=np.uint16 if few else np.int32)
    return counts


def fold(counts: Int32s, cells: int) -> Int32s:
    """The counts as they are, or their lanes added up if there is to be one cell."""
    if counts.shape[2] == cells:
        return counts
    return np.asarray(counts.sum(axis=2, keepdims=True, dtype=np.int32))


def sign_counts(level: Level, begin: int, end: int, table: Int32s, counted: Int32s) -> Int32s:
    """Counts of each set that extends prefixes begin..end, for each sign mask.

    Shapes: table (n_smaller, n_parts, cells), counted (n_sets, n_parts, cells), result (n_masks,
    n_sets, n_parts, cells).
    """
    words, features = level.words, set_features(level.prefixes, begin, end)
    signed = np.empty((1 << features.shape[1], *counted.shape), np.int32)
    signed[0] = counted
    for mask in range(1, len(signed)):
        signed[mask] = table[positions(level.sets, features, mask)]
    unknown = np.flatnonzero((words.negated[features] != len(words.bits) - 1).any(axis=1))
    if unknown.size:
        for mask in range(len(signed)):
            together = intersect_literals(words, features[unknown], mask)
            signed[mask, unknown] = fold(count_parts(together, words.part_words), table.shape[2])
    subtract_plain(words, features, signed)
    return signed


def set_features(prefixes: Prefixes, begin: int, end: int) -> Int64s:
    """The features of the sets that extend prefixes begin..end.

    Shapes: result (n_sets, size + 1).
    """
    first = prefixes.first[begin : end + 1]
    features = prefixes.features[begin:end].astype(np.int64)
    follow = features[:, -1] + 1 if features.shape[1] else np.zeros(len(features), np.int64)
    repeats = np.diff(first)
    last = np.arange(first[0], first[-1]) + np.repeat(follow - first[:-1], repeats)
    return np.column_stack((np.repeat(features, repeats, axis=0), last))


def positions(sets: Sets, features: Int64s, left_out: int) -> Int64s:
    """The numbers of sets of features, without those in the mask `left_out`."""
    kept = [i for i in range(features.shape[1]) if not (left_out >> i) & 1]
    number = np.full(len(features), sets.start[len(kept) + 1] - 1)
    for place, i in enumerate(kept):
        number -= sets.binomial[sets.n_features - 1 - features[:, i], len(kept) - place]
    return number


def intersect_literals(words: Words, features: Int64s, mask: int) -> Words64:
    """The rows on which sets hold, the features in `mask` negated by their own bits.

    A negated feature that is never unknown stands for all rows here: see `subtract_plain`.
    Shapes: features (n, size), result (n, words, lanes).
    """
    together = words.bits[_literals(words, features, mask, 0)]
    for i in range(1, features.shape[1]):
        together &= words.bits[_literals(words, features, mask, i)]
    return together


def _literals(words: Words, features: Int64s, mask: int, i: int) -> Int64s:
    column = features[:, i]
    return words.negated[column] if (mask >> i) & 1 else column


def subtract_plain(words: Words, features: Int64s, signed: Array) -> None:
    """Turn 'left out' into 'negated' for features never unknown: |a, not b| = |a| - |a, b|.

    Shapes: features (n_sets, size), signed (n_masks, n_sets, ..).
    """
    is_known = words.negated[features] == len(words.bits) - 1
    for i in range(features.shape[1]):
        known = slice(None) if is_known[:, i].all() else is_known[:, i]
        for mask in range(len(signed)):
            if (mask >> i) & 1:
                signed[mask, known] -= signed[mask ^ (1 << i), known]


def valid_signs(
    level: Level, begin: int, end: int, n_masks: int
) -> tuple[slice, tuple[Int64s, Int64s]]:
    """The bodies of the sets that extend prefixes begin..end, and the mask and set of each."""
    first_set, valid, offset = level.bodies
    low, high = (int(level.prefixes.first[edge]) - first_set for edge in (begin, end))
    signs = valid[low:high, None] >> np.arange(n_masks, dtype=np.uint32)
    which_set, which_mask = np.nonzero(signs & np.uint32(1))
    return slice(offset[low], offset[high]), (which_mask, which_set)
