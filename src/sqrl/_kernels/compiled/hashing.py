"""Compiled loops behind hashes of bodies: sums of weights in place of counts."""

import numpy as np

from sqrl._kernels.arrays import Int32s, Int64s, Words64
from sqrl._kernels.compiled.counting import (
    intersect,
    is_valid,
    load_prefix,
    position,
    sign_prefix,
)
from sqrl._kernels.compiled.jit import inlined, kernel, lowest_bit
from sqrl._kernels.layout import Family, Prefixes, Sets, Words

WORD = 64


@kernel
def place_weights(
    weights: Words64, parts: Int32s, part_words: Int64s, first: Int64s, placed: Words64
) -> None:
    """Put the weight of each row where `pack_table` puts its bit.

    Shapes: weights and parts (n_rows,), part_words and first (n_parts + 1,): each part's first word
    and its first row once rows are sorted by part; placed (words, lanes, 64).
    Cost: one pass over the rows.
    """
    n_lanes = placed.shape[1]
    dealt = first.copy()
    filled = np.zeros((first.size - 1, n_lanes), np.int64)
    for row in range(parts.size):
        part = parts[row]
        if part >= 0:
            lane = dealt[part] % n_lanes
            bit = filled[part, lane]
            placed[part_words[part] + bit // WORD, lane, bit % WORD] = weights[row]
            dealt[part] += 1
            filled[part, lane] += 1


@inlined
def weigh_common(left: Words64, i: int, right: Words64, j: int, weights: Words64) -> np.uint64:
    """The sum, modulo 2**64, of the weights of the rows common to left[i] and right[j].

    Shapes: left and right (.., words, lanes), weights (words, lanes, 64).
    Cost: a step for each word and each row in common.
    """
    total = np.uint64(0)
    for word in range(weights.shape[0]):
        for lane in range(weights.shape[1]):
            rows = left[i, word, lane] & right[j, word, lane]
            while rows:
                total += weights[word, lane, lowest_bit(rows)]
                rows &= rows - np.uint64(1)
    return total


@inlined
def weigh_literals(
    bits: Words64,
    negated: Int64s,
    features: Int64s,
    common: Words64,
    weights: Words64,
    signed: Words64,
) -> None:
    """Weigh a set for each sign mask by the literals' own bits."""
    size = features.size - 1
    for mask in range(signed.size):
        literal = negated[features[size]] if mask >> size else features[size]
        prefix_mask = mask & ((1 << size) - 1)
        signed[mask] = weigh_common(common, prefix_mask, bits, literal, weights)


@inlined
def weigh_signs(negated: Int64s, everything: int, features: Int64s, signed: Words64) -> None:
    """Turn 'left out' into 'negated' for features never unknown, as for counts."""
    for i in range(features.size):
        if negated[features[i]] == everything:
            for mask in range(signed.size):
                if (mask >> i) & 1:
                    signed[mask] -= signed[mask ^ (1 << i)]


@kernel
def fill_weights(
    words: Words, prefixes: Prefixes, begin: int, end: int, weights: Words64, table: Words64
) -> None:
    """Weigh the plain sets that extend prefixes begin..end into their places in the table.

    Shapes: weights (words, lanes, 64), table (n_sets,).
    Cost: `weigh_common` for each set.
    """
    bits, negated, _ = words
    prefix_features, first = prefixes
    size = prefix_features.shape[1]
    features = np.empty(size + 1, np.int64)
    common = np.empty((1, bits.shape[1], bits.shape[2]), np.uint64)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        intersect(bits, negated, features, size, 0, common)
        for last in range(follow, negated.size):
            weight = weigh_common(common, 0, bits, last, weights)
            table[first[prefix] + last - follow] = weight


@kernel
def fill_hashes(
    words: Words,
    sets: Sets,
    family: Family,
    prefixes: Prefixes,
    begin: int,
    end: int,
    weights: Words64,
    table: Words64,
    hashes: Words64,
) -> None:
    """Hash every body whose set extends prefixes begin..end.

    Shapes: weights (words, lanes, 64), table (n_sets,), hashes (n_bodies,).
    Cost: a few steps for each body; `weigh_common` if a feature is ever unknown.
    """
    bits, negated, _ = words
    n_features, binomial, start = sets
    first_set, valid, offset = family
    prefix_features, first = prefixes
    size = prefix_features.shape[1]
    everything = bits.shape[0] - 1
    features = np.empty(size + 1, np.int64)
    n_masks = 1 << size if everything > n_features else 1
    common = np.empty((n_masks, bits.shape[1], bits.shape[2]), np.uint64)
    signed = np.empty(2 << size, np.uint64)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        unknown = sign_prefix(bits, negated, features, follow, common)
        for last in range(follow, n_features):
            features[size] = last
            if unknown or negated[last] != everything:
                weigh_literals(bits, negated, features, common, weights, signed)
            else:
                for mask in range(signed.size):
                    signed[mask] = table[position(binomial, start, features, mask)]
            weigh_signs(negated, everything, features, signed)
            subset = first[prefix] + last - follow - first_set
            body = offset[subset]
            for mask in range(signed.size):
                if is_valid(valid[subset], mask):
                    hashes[body] = signed[mask]
                    body += 1
