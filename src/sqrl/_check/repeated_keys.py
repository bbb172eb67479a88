"""How many rows repeat another, however many rows: the smallest hashes, and how often each occurs.

Of more distinct values than are kept, those with the smallest hashes are: a sample that does not
depend on the order of the rows, nor on how they are divided into parts.
"""

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s, Words64
from sqrl._kernels.plain.keys import mix

MOST_KEYS = 1 << 20
KEYS, TIMES = "keys", "times"


def start_keys() -> tuple[Words64, Int64s]:
    """No value."""
    return np.empty(0, np.uint64), np.empty(0, np.int64)


def add_keys(keys: Words64, times: Int64s, values: Floats) -> tuple[Words64, Int64s]:
    """The smallest hashes, and how often each occurs, with these values too; nan is left out.

    >>> keys, times = add_keys(*start_keys(), np.array([3.0, 5.0, 3.0, np.nan]))
    >>> sorted(times.tolist()), finish_keys(keys, times)
    ([1, 2], (1.0, 1))
    """
    present = values[~np.isnan(values)] + 0.0  # one zero
    hashes = mix(present.view(np.uint64).copy())
    return merge_keys(keys, times, hashes, np.ones(hashes.size, np.int64))


def merge_keys(
    keys: Words64, times: Int64s, other: Words64, other_times: Int64s
) -> tuple[Words64, Int64s]:
    """The smallest hashes of both."""
    both, counts = np.concatenate([keys, other]), np.concatenate([times, other_times])
    order = np.argsort(both, kind="stable")
    both, counts = both[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]])[: both.size])
    if first.size:
        both, counts = both[first], np.add.reduceat(counts, first)
    return both[:MOST_KEYS], counts[:MOST_KEYS]


def finish_keys(keys: Words64, times: Int64s) -> tuple[float, int]:
    """The share of all hashes that was looked at, and how many rows repeat one of those before."""
    share = 1.0 if keys.size < MOST_KEYS else float(keys[-1]) / 2.0**64
    return share, int(times.sum() - times.size)
