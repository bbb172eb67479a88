"""Mini-batches and splits drawn by a seeded hash of the row, so that any engine draws the same.

Each row gets a 64-bit key from (seed, draw, row); a draw of m rows takes the m smallest keys. This
is sampling without replacement, needs no state, and can be done in pieces and merged.
"""

import numpy as np
from numpy.typing import NDArray

from sqrl.errors import DataError

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def draw_batches(
    n_rows: int, size: int, n_batches: int, *, seed: int, where: str
) -> NDArray[np.int64]:
    """Rows of each mini-batch: drawn without replacement within one, independently between them.

    Shapes: result (n_batches, size). Cost: O(n_batches * n_rows).

    >>> draw_batches(5, 3, 2, seed=0, where="rows").tolist()
    [[1, 2, 4], [0, 2, 4]]
    """
    if size > n_rows:
        raise DataError(
            f"A mini-batch of {size:,} rows cannot be drawn from {n_rows:,} rows.",
            where=where,
            fix=f"use 'over {_smaller(n_rows):,}' or less, or give more data",
        )
    rows = np.arange(n_rows, dtype=np.uint64)
    batches = np.empty((n_batches, size), dtype=np.int64)
    for batch in range(n_batches):
        batches[batch] = _smallest(_keys(rows, seed, batch + 1), size)
    return batches


def split_rows(
    n_rows: int, share: float, *, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and rows to hold out, each in their order.

    >>> [len(rows) for rows in split_rows(10, 0.2, seed=0)]
    [8, 2]
    """
    n_held_out = round(n_rows * share)
    keys = _keys(np.arange(n_rows, dtype=np.uint64), seed, 0)
    held_out = _smallest(keys, n_held_out)
    mask = np.ones(n_rows, dtype=np.bool_)
    mask[held_out] = False
    return np.flatnonzero(mask), held_out


def shuffle_rows(n_rows: int, *, seed: int) -> NDArray[np.int64]:
    """All rows in an order that the seed decides.

    >>> sorted(shuffle_rows(5, seed=0).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.argsort(_keys(np.arange(n_rows, dtype=np.uint64), seed, 2**32), kind="stable")


def _smaller(n_rows: int) -> int:
    """A round mini-batch size that fits several times."""
    return int(2 ** max(0, int(np.log2(max(n_rows, 1))) - 1))


def _smallest(keys: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    """Rows of the `size` smallest keys, in the order of the rows."""
    if size >= keys.size:
        return np.arange(keys.size)
    return np.sort(np.argpartition(keys, size)[:size])


def _keys(rows: NDArray[np.uint64], seed: int, draw: int) -> NDArray[np.uint64]:
    """A 64-bit key for each row: SplitMix64's finaliser over a stream chosen by seed and draw."""
    stream = _mix(np.array([(seed * int(_GOLDEN) + draw) % 2**64], np.uint64))
    return _mix((rows + np.uint64(1)) * _GOLDEN + stream)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each number stirred, in place: this is most of the cost of drawing."""
    shifted = np.empty_like(z)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        np.right_shift(z, np.uint64(shift), out=shifted)
        np.bitwise_xor(z, shifted, out=z)
        np.multiply(z, np.uint64(factor), out=z)
    return z
