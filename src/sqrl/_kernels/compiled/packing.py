"""Compiled loops behind `pack`: rows to bits, bits turned to lie along the rows."""

import numpy as np

from sqrl._kernels.arrays import Bytes, Int32s, Int64s, Words64, frozen
from sqrl._kernels.compiled.jit import kernel

WORD = 64
TILE = 2048  # rows whose codes stay in the first-level cache while every feature adds its bit


def fill_bits(columns: Bytes, places: Int64s, bits: Words64) -> None:
    """Set the bit of each place where the column of its row is 1.

    Shapes: columns (n_columns, n_rows), places (N, 64 * words), bits (n_columns, words, lanes >=
    N), zero on entry.
    Cost: one pass over the columns, then one over the places for each 64 of them.
    """
    for first in range(0, len(columns), WORD):
        codes = np.zeros(columns.shape[1], np.uint64)
        some = columns[first : first + WORD]
        encode_rows(frozen(some, np.uint8), codes)
        gather_bits(codes, places, bits[first : first + len(some)])


@kernel
def encode_rows(columns: Bytes, codes: Words64) -> None:
    """Set bit i of codes[row] where columns[i, row] is 1, not 0.

    Shapes: columns (n_columns <= 64, n_rows), codes (n_rows,), zero on entry.
    Cost: one pass over `columns`, vectorised.
    """
    for begin in range(0, codes.size, TILE):
        target = codes[begin : begin + TILE]
        for column in range(columns.shape[0]):
            source = columns[column, begin : begin + TILE]
            for i in range(target.size):
                target[i] |= np.uint64(source[i]) << np.uint64(column)


@kernel
def count_parts(parts: Int32s, batches: Int64s, sizes: Int32s) -> None:
    """Count the rows of each part in each batch.

    Shapes: parts (n_rows,), batches (N, m), sizes (n_parts, lanes >= N), zero on entry.
    Cost: one pass over `batches`.
    """
    for batch in range(batches.shape[0]):
        for row in batches[batch]:
            if row >= 0 and parts[row] >= 0:
                sizes[parts[row], batch] += 1


@kernel
def place_rows(parts: Int32s, batches: Int64s, part_words: Int64s, places: Int64s) -> None:
    """Sort the rows of each batch by part, each part from its own word on.

    Shapes: places (N, 64 * words), -1 on entry: the row that each bit stands for.
    Cost: one pass over `batches`.
    """
    n_parts = part_words.size - 1
    free = np.empty(n_parts, np.int64)
    for batch in range(batches.shape[0]):
        for part in range(n_parts):
            free[part] = part_words[part] * WORD
        for row in batches[batch]:
            if row >= 0 and parts[row] >= 0:
                places[batch, free[parts[row]]] = row
                free[parts[row]] += 1


@kernel
def gather_bits(codes: Words64, places: Int64s, bits: Words64) -> None:
    """Turn row codes into words along the rows: bits[i, word, batch] from bit i of 64 codes.

    Shapes: codes (n_rows,), places (N, 64 * words), bits (n_columns <= 64, words, lanes >= N).
    Cost: a 64 x 64 transposition a word, about 1,200 operations for all columns together.
    """
    block = np.empty(WORD, np.uint64)
    for word in range(bits.shape[1]):
        for batch in range(places.shape[0]):
            for i in range(WORD):
                row = places[batch, word * WORD + i]
                block[i] = codes[row] if row >= 0 else np.uint64(0)
            _transpose(block)
            for column in range(bits.shape[0]):
                bits[column, word, batch] = block[column]


@kernel
def _transpose(block: Words64) -> None:
    """Transpose a 64 x 64 matrix of bits by swapping ever smaller off-diagonal squares."""
    half = 32
    low = np.uint64(0x00000000FFFFFFFF)
    while half:
        shift = np.uint64(half)
        for begin in range(0, WORD, 2 * half):
            for i in range(begin, begin + half):
                swapped = ((block[i] >> shift) ^ block[i + half]) & low
                block[i] ^= swapped << shift
                block[i + half] ^= swapped
        half >>= 1
        low ^= low << np.uint64(half)
