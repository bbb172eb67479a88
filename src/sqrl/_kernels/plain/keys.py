"""Keys of rows by numpy."""

import numpy as np

from sqrl._kernels.arrays import Bools, Int64s, Words64

GOLDEN = 0x9E3779B97F4A7C15
AT_ONCE = 1 << 16  # rows: their keys stay in the cache


def mix(z: Words64) -> Words64:
    """Each number stirred, in place: SplitMix64's finaliser."""
    shifted = np.empty_like(z)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        np.right_shift(z, np.uint64(shift), out=shifted)
        np.bitwise_xor(z, shifted, out=z)
        np.multiply(z, np.uint64(factor), out=z)
    return z


def fill_keys(state: np.uint64, keys: Words64) -> None:
    """Make the keys of rows that follow one another; `state` is that of the first."""
    for begin in range(0, keys.size, AT_ONCE):
        some = keys[begin : begin + AT_ONCE]
        some[:] = np.arange(begin, begin + some.size, dtype=np.uint64)
        some *= np.uint64(GOLDEN)
        some += state
        mix(some)


def sum_keyed(words: Words64, known: Bools, state: np.uint64) -> np.uint64:
    """The sum modulo 2**64 of each known word stirred with the key of its row.

    Shapes: words and known (n_rows,).
    """
    keys = np.empty(words.size, np.uint64)
    fill_keys(state, keys)
    keys += words
    return np.uint64(mix(keys)[known].sum(dtype=np.uint64))


def find_keys(
    state: np.uint64, n_rows: int, low: np.uint64, high: np.uint64, keys: Words64, rows: Int64s
) -> tuple[int, int]:
    """Write down the keys in low .. high and their rows; give how many are lower, and how many fit.

    Shapes: keys and rows (most,).
    """
    n_below, n_found = 0, 0
    for begin in range(0, n_rows, AT_ONCE):
        some = np.empty(min(AT_ONCE, n_rows - begin), np.uint64)
        fill_keys(np.uint64((int(state) + begin * GOLDEN) % 2**64), some)
        n_below += int(np.count_nonzero(some < low))
        found = np.flatnonzero((some >= low) & (some <= high))[: keys.size - n_found]
        keys[n_found : n_found + found.size] = some[found]
        rows[n_found : n_found + found.size] = found + begin
        n_found += found.size
    return n_below, n_found
