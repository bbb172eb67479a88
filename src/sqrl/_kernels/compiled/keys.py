"""Compiled loops that make keys of rows."""

import numpy as np

from sqrl._kernels.arrays import Bools, Int64s, Words64
from sqrl._kernels.compiled.jit import inlined, kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
TILE = 128  # rows whose keys are made at once, whether or not one of them is looked for


@inlined
def mix(z: np.uint64) -> np.uint64:
    """The number stirred: SplitMix64's finaliser."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def fill_keys(state: np.uint64, keys: Words64) -> None:
    """Make the keys of rows that follow one another; `state` is that of the first.

    Cost: one pass, vectorised.
    """
    for i in range(keys.size):
        keys[i] = mix(state + np.uint64(i) * GOLDEN)


@kernel
def sum_keyed(words: Words64, known: Bools, state: np.uint64) -> np.uint64:
    """The sum modulo 2**64 of each known word stirred with the key of its row.

    Shapes: words and known (n_rows,). Cost: one pass, vectorised.
    """
    total = np.uint64(0)
    for i in range(words.size):
        stirred = mix(words[i] + mix(state + np.uint64(i) * GOLDEN))
        total += stirred if known[i] else np.uint64(0)
    return total


@kernel
def find_keys(
    state: np.uint64, n_rows: int, low: np.uint64, high: np.uint64, keys: Words64, rows: Int64s
) -> tuple[int, int]:
    """Write down the keys in low .. high and their rows; give how many are lower, and how many fit.

    Shapes: keys and rows (most,).
    Cost: one vectorised pass that counts, and a second one where there is something to be found.
    """
    n_below, n_found = 0, 0
    span = high - low
    for begin in range(0, n_rows, TILE):
        end = min(n_rows, begin + TILE)
        here = 0
        for row in range(begin, end):
            key = mix(state + np.uint64(row) * GOLDEN)
            n_below += int(key < low)
            here += int(key - low <= span)
        if here:
            for row in range(begin, end):
                key = mix(state + np.uint64(row) * GOLDEN)
                if key - low <= span and n_found < keys.size:
                    keys[n_found] = key
                    rows[n_found] = row
                    n_found += 1
    return n_below, n_found
