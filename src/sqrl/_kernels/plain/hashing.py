"""Hashes of bodies by numpy: sums of weights in place of counts.

The sum of the weights of the rows that two features share is a product of matrices of integers,
which einsum, unlike matmul, does in vectorised loops of its own.
"""

import numpy as np

from sqrl._kernels.arrays import Bools, Bytes, Int64s, Words64
from sqrl._kernels.conjunctions import all_combinations
from sqrl._kernels.layout import Level, Words
from sqrl._kernels.packing import WORD
from sqrl._kernels.plain.counting import (
    intersect_literals,
    positions,
    set_features,
    subtract_plain,
    valid_signs,
)

CELLS = 1 << 18  # of a matrix made at once: it stays in the cache


def fill_weights(level: Level, begin: int, end: int, weights: Words64, table: Words64) -> None:
    """Weigh the plain sets that extend prefixes begin..end into their places in the table.

    All prefixes of a size together: those that differ in the last feature share a product.
    """
    words, prefixes = level.words, level.prefixes
    assert begin == 0
    assert prefixes.first[end] == prefixes.first[-1]
    n, size = words.negated.size, prefixes.features.shape[1]
    rows, flat = unpack(words.bits[:n]), weights.ravel()
    if size > 1 and n <= WORD and flat.size:
        rows, flat = merge_alike(rows, flat)
    place = int(prefixes.first[0])
    if size == 0:
        for row in rows:
            table[place] = flat[row.view(np.bool_)].sum(dtype=np.uint64)
            place += 1
        return
    for parent in all_combinations(n, size - 1):
        follow = parent[-1] + 1 if parent.size else 0
        sums = weigh_pairs(rows[follow:], rows[parent].all(axis=0), flat)
        pairs = sums[np.triu_indices(n - follow, 1)]
        table[place : place + pairs.size] = pairs
        place += pairs.size


def merge_alike(rows: Bytes, weights: Words64) -> tuple[Bytes, Words64]:
    """Rows on which the same features hold as one, with the weight of all; at most 64 features.

    Shapes: rows (n, n_bits), weights (n_bits,); results (n, n_kinds) and (n_kinds,).
    """
    held = np.zeros((8, weights.size), np.uint8)
    for i, row in enumerate(rows):
        held[i // 8] |= row << (i % 8)
    key = np.ascontiguousarray(held.T).view(np.uint64).ravel()
    order = np.argsort(key)
    first = np.flatnonzero(np.diff(key[order], prepend=~key[order[0]]))
    return rows.take(order[first], axis=1), np.add.reduceat(weights[order], first)


def weigh_pairs(rows: Bytes, inside: Bools, weights: Words64) -> Words64:
    """The weight of the rows that each two features share, of those inside; the first is smaller.

    Shapes: rows (n, n_bits), inside and weights (n_bits,), result (n, n).
    """
    total = np.zeros((len(rows), len(rows)), np.uint64)
    chosen = np.flatnonzero(inside)
    at_once = max(1, CELLS // max(len(rows), 1))
    for begin in range(0, chosen.size, at_once):
        some = chosen[begin : begin + at_once]
        here = rows.take(some, axis=1)
        for left, row in enumerate(here):
            held = np.flatnonzero(row.view(np.bool_))
            shared = here[left + 1 :].take(held, axis=1)
            total[left, left + 1 :] += np.einsum("kr,r->k", shared, weights[some[held]])
    return total


def unpack(bits: Words64) -> Bytes:
    """Every bit as a byte, in the order of `weights`: by word, lane and bit.

    Shapes: bits (n, words, lanes), result (n, words * lanes * 64).
    """
    flat = np.ascontiguousarray(bits).reshape(len(bits), bits.shape[1] * bits.shape[2])
    return np.unpackbits(flat.astype("<u8").view(np.uint8), axis=1, bitorder="little")


def fill_hashes(
    level: Level, begin: int, end: int, weights: Words64, table: Words64, hashes: Words64
) -> None:
    """Hash every body whose set extends prefixes begin..end."""
    words, features = level.words, set_features(level.prefixes, begin, end)
    signed = np.empty((1 << features.shape[1], len(features)), np.uint64)
    for mask in range(len(signed)):
        signed[mask] = table[positions(level.sets, features, mask)]
    unknown = np.flatnonzero((words.negated[features] != len(words.bits) - 1).any(axis=1))
    for mask in range(len(signed) if unknown.size else 0):
        signed[mask, unknown] = weigh_literals(words, features[unknown], mask, weights.ravel())
    subtract_plain(words, features, signed)
    bodies, chosen = valid_signs(level, begin, end, len(signed))
    hashes[bodies, 0] = signed[chosen]


def weigh_literals(words: Words, features: Int64s, mask: int, weights: Words64) -> Words64:
    """Weigh sets by the literals' own bits, the features in `mask` negated.

    Shapes: features (n, size), weights (n_bits,), result (n,).
    """
    total = np.empty(len(features), np.uint64)
    at_once = max(1, CELLS // max(weights.size, 1))
    for begin in range(0, len(features), at_once):
        some = slice(begin, begin + at_once)
        rows = unpack(intersect_literals(words, features[some], mask)).astype(np.uint64)
        total[some] = np.einsum("kr,r->k", rows, weights)
    return total
