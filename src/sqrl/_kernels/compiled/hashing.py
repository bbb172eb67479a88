"""Compiled loops behind hashes of bodies: sums of weights in place of counts."""

import numpy as np

from sqrl._kernels.arrays import Int64s, Words64
from sqrl._kernels.compiled.counting import (
    intersect,
    load_prefix,
    position,
    sign_prefix,
    subtract_plain,
    write_valid,
)
from sqrl._kernels.compiled.jit import inlined, kernel, lowest_bit
from sqrl._kernels.layout import Level


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
        signed[mask, 0, 0] = weigh_common(common, prefix_mask, bits, literal, weights)


@kernel
def fill_weights(level: Level, begin: int, end: int, weights: Words64, table: Words64) -> None:
    """Weigh the plain sets that extend prefixes begin..end into their places in the table.

    Shapes: weights (words, lanes, 64), table (n_sets,).
    Cost: `weigh_common` for each set.
    """
    bits, negated, _ = level.words
    prefix_features, first = level.prefixes
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
    level: Level, begin: int, end: int, weights: Words64, table: Words64, hashes: Words64
) -> None:
    """Hash every body whose set extends prefixes begin..end.

    Shapes: weights (words, lanes, 64), table (n_sets,), hashes (n_bodies, 1).
    Cost: a few steps for each body; `weigh_common` if a feature is ever unknown.
    """
    bits, negated, _ = level.words
    n_features, binomial, start = level.sets
    first_set, valid, offset = level.bodies
    prefix_features, first = level.prefixes
    size = prefix_features.shape[1]
    everything = bits.shape[0] - 1
    features = np.empty(size + 1, np.int64)
    n_masks = 1 << size if everything > n_features else 1
    common = np.empty((n_masks, bits.shape[1], bits.shape[2]), np.uint64)
    signed = np.empty((2 << size, 1, 1), np.uint64)
    for prefix in range(begin, end):
        follow = load_prefix(prefix_features, prefix, features)
        unknown = sign_prefix(bits, negated, features, follow, common)
        for last in range(follow, n_features):
            features[size] = last
            if unknown or negated[last] != everything:
                weigh_literals(bits, negated, features, common, weights, signed)
            else:
                for mask in range(signed.size):
                    signed[mask, 0, 0] = table[position(binomial, start, features, mask)]
            subtract_plain(negated, everything, features, signed)
            subset = first[prefix] + last - follow - first_set
            write_valid(valid[subset], offset[subset], signed, hashes)
