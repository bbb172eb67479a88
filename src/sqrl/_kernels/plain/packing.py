"""Rows to bits by numpy: each feature's rows in their places, packed eight to a byte."""

import numpy as np

from sqrl._kernels.arrays import Bytes, Int32s, Int64s, Words64

WORD = 64


def count_parts(parts: Int32s, batches: Int64s, sizes: Int32s) -> None:
    """Count the rows of each part in each batch.

    Shapes: parts (n_rows,), batches (N, m), sizes (n_parts, lanes >= N), zero on entry.
    """
    for batch, codes in enumerate(_codes(parts, batches)):
        sizes[:, batch] = np.bincount(codes[codes >= 0], minlength=len(sizes))


def place_rows(parts: Int32s, batches: Int64s, part_words: Int64s, places: Int64s) -> None:
    """Sort the rows of each batch by part, each part from its own word on.

    Shapes: places (N, 64 * words), -1 on entry: the row that each bit stands for.
    """
    for batch, codes in enumerate(_codes(parts, batches)):
        for part, word in enumerate(part_words[:-1]):
            rows = batches[batch][codes == part]
            places[batch, word * WORD : word * WORD + rows.size] = rows


def fill_bits(columns: Bytes, places: Int64s, bits: Words64) -> None:
    """Set the bit of each place where the column of its row is 1.

    Shapes: columns (n_columns, n_rows), places (N, 64 * words), bits (n_columns, words, lanes >=
    N), zero on entry.
    """
    if not places.size:
        return
    present = (places >= 0).view(np.uint8)
    for column, target in zip(columns, bits, strict=True):
        taken = column[places] & present  # place -1 takes some row, and masks it
        packed = np.packbits(taken, axis=1, bitorder="little").view("<u8")
        target[:, : len(places)] = packed.T


def _codes(parts: Int32s, batches: Int64s) -> Int32s:
    """The part of each row of each batch, -1 for none."""
    if not parts.size:
        return np.full(batches.shape, -1, np.int32)
    return np.where(batches >= 0, parts[batches], np.int32(-1))
