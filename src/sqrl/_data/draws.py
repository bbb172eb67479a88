"""Mini-batches and splits drawn by a seeded hash of the row, so that any engine draws the same.

Each row gets a 64-bit key from (seed, draw, row); a draw of m rows takes the m smallest keys. This
is sampling without replacement, needs no state, and can be done in pieces and merged. No two rows
have the same key, and keys are spread evenly: about where the m-th smallest lies is known before
one has been made, so that only the keys around it are ever held.
"""

from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from sqrl._kernels.arrays import Bools, Ints
from sqrl._kernels.arrays import Words64 as Keys
from sqrl._kernels.dispatch import loops
from sqrl._kernels.plain.keys import mix
from sqrl._kernels.threads import run
from sqrl.errors import DataError, LimitError

_GOLDEN = 0x9E3779B97F4A7C15
_N_KEYS = 1 << 64
SMALL = 1 << 16  # so few rows are not worth another thread
FEW = 1 << 12  # of so few rows all keys are made at once, for many draws
STEPS = 10.0  # of the plain loops for a key

# Draws 1, 2, .. are the mini-batches.
SPLIT = 0
SHUFFLE = 1 << 32
WEIGHTS = SHUFFLE + 1
FINGERPRINT = SHUFFLE + 2
SAMPLE = SHUFFLE + 3
MOST_DRAWN = 1 << 29  # rows of all mini-batches of a size, 4 GiB of their numbers


def row_keys(first: int, n_rows: int, *, seed: int, draw: int) -> Keys:
    """The key of each of the rows first, first + 1, ..

    >>> whole = row_keys(0, 5, seed=0, draw=1)
    >>> row_keys(3, 2, seed=0, draw=1).tolist() == whole[3:].tolist()
    True
    """
    keys = np.empty(n_rows, np.uint64)
    loops("keys", STEPS * n_rows).fill_keys(_state(first, seed, draw), keys)
    return keys


def mixed_keys(values: Ints, *, seed: int, draw: int) -> Keys:
    """A key for each value, the same for equal ones, whatever the rows they stand in.

    >>> first, second, again = mixed_keys(np.array([7, 8, 7]), seed=0, draw=0).tolist()
    >>> first == again, first == second
    (True, False)
    """
    with np.errstate(over="ignore"):
        return mix(values.astype(np.uint64) * np.uint64(_GOLDEN) + _state(0, seed, draw))


def keyed_sum(words: Keys, known: Bools, first: int, *, seed: int, draw: int) -> int:
    """The sum modulo 2**64 of each known word stirred with the key of its row.

    The sums of the parts of a column add up to that of the whole. Shapes: words and known (n,).

    >>> words, known = np.arange(5, dtype=np.uint64), np.ones(5, np.bool_)
    >>> parts = (words[:2], known[:2], 0), (words[2:], known[2:], 2)
    >>> total = sum(keyed_sum(*part, seed=0, draw=1) for part in parts)
    >>> total % 2**64 == keyed_sum(words, known, 0, seed=0, draw=1)
    True
    """
    kernel = loops("keys", 2 * STEPS * words.size)
    return int(kernel.sum_keyed(words, known, _state(first, seed, draw)))


def draw_batches(n_rows: int, size: int, n_batches: int, *, seed: int, where: str) -> Ints:
    """Rows of each mini-batch: drawn without replacement within one, independently between them.

    Shapes: result (n_batches, size). Cost: O(n_batches * n_rows), memory for the result.

    >>> draw_batches(5, 3, 2, seed=0, where="rows").tolist()
    [[1, 2, 4], [0, 2, 4]]
    """
    if size > n_rows:
        fits = 2 ** max(0, int(np.log2(max(n_rows, 1))) - 1)  # a round size, several times
        raise DataError(
            f"A mini-batch of {size:,} rows cannot be drawn from {n_rows:,} rows.",
            where=where,
            fix=f"use 'over {fits:,}' or less, or give more data",
        )
    check_batches(n_batches, size, where)
    batches = np.empty((n_batches, size), dtype=np.int64)
    if n_rows <= FEW:
        for begin in range(0, n_batches, at_once := max(1, SMALL // max(n_rows, 1))):
            some = batches[begin : begin + at_once]
            some[:] = _draw_few(n_rows, size, range(begin + 1, begin + 1 + len(some)), seed=seed)
        return batches

    def draw(batch: int) -> None:
        batches[batch] = _ranked(n_rows, 0, size, seed=seed, draw=batch + 1)[1]

    work = [partial(draw, batch) for batch in range(n_batches)]
    run([work], threads=1 if n_rows <= SMALL else None, track=None)
    return batches


def _draw_few(n_rows: int, size: int, draws: range, *, seed: int) -> Ints:
    """Rows of several mini-batches at once: all keys of all of them are held.

    Shapes: result (len(draws), size).
    """
    first = np.array([(seed * _GOLDEN + draw) % _N_KEYS for draw in draws], np.uint64)
    with np.errstate(over="ignore"):
        steps = np.arange(1, n_rows + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
        keys = mix(mix(first)[:, None] + steps)
    rows = np.argpartition(keys, size - 1, axis=1)[:, :size] if size else keys[:, :0]
    return np.sort(rows.astype(np.int64), axis=1)


def check_seed(seed: Any) -> None:
    """Raise where a seed is no whole number that draws can start from.

    >>> check_seed(3)
    """
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not is_whole or abs(int(seed)) >= _N_KEYS:
        raise DataError(f"The seed is {str(seed)[:40]!r}.", fix="give a whole number, such as 0")


def check_batches(n_batches: int, size: int, where: str) -> None:
    """Raise where mini-batches have no number, or more rows in all than can be held."""
    if n_batches < 0:
        raise DataError(f"{n_batches} mini-batches cannot be drawn.", where=where, fix="draw 100")
    if n_batches * size > MOST_DRAWN:
        raise LimitError(
            f"{n_batches:,} mini-batches of {size:,} have {n_batches * size:,} rows in all; at most"
            f" {MOST_DRAWN:,} are drawn.",
            where=where,
            fix="draw fewer mini-batches",
        )


def split_rows(n_rows: int, share: float, *, seed: int) -> tuple[Ints, Ints]:
    """Rows to learn from and rows to hold out, each in their order.

    >>> [len(rows) for rows in split_rows(10, 0.2, seed=0)]
    [8, 2]
    """
    held_out = _ranked(n_rows, 0, round(n_rows * share), seed=seed, draw=SPLIT)[1]
    mask = np.ones(n_rows, dtype=np.bool_)
    mask[held_out] = False
    return np.flatnonzero(mask), held_out


def held_out_threshold(n_rows: int, share: float, *, seed: int) -> np.uint64:
    """The greatest key of a row that `split_rows` holds out: all with a key up to it are.

    It is 0, which no row can be expected to have, where no row is held out.
    Cost: a pass over the keys, and memory for a few in the square root of `n_rows`.

    >>> keys = row_keys(0, 10, seed=0, draw=SPLIT)
    >>> held_out = keys <= held_out_threshold(10, 0.2, seed=0)
    >>> held_out.nonzero()[0].tolist() == split_rows(10, 0.2, seed=0)[1].tolist()
    True
    """
    last = round(n_rows * share)
    keys, _ = _ranked(n_rows, max(last - 1, 0), last, seed=seed, draw=SPLIT)
    return np.uint64(keys[0] if last else 0)


def shuffle_rows(n_rows: int, *, seed: int) -> Ints:
    """All rows in an order that the seed decides.

    >>> sorted(shuffle_rows(5, seed=0).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.argsort(row_keys(0, n_rows, seed=seed, draw=SHUFFLE), kind="stable")


def shuffled_batches(n_rows: int, size: int, which: range, *, seed: int) -> Ints:
    """Rows of some of the disjoint mini-batches that the shuffled rows make.

    Shapes: result (len(which), size). Cost: a pass over the keys; memory for the rows asked for.

    >>> second = shuffled_batches(7, 3, range(1, 2), seed=0)[0]
    >>> second.tolist() == shuffle_rows(7, seed=0)[3:6].tolist()
    True
    """
    assert which.step == 1
    assert which.stop * size <= n_rows
    keys, rows = _ranked(n_rows, which.start * size, which.stop * size, seed=seed, draw=SHUFFLE)
    return rows[np.argsort(keys)].reshape(len(which), size)


def _ranked(n_rows: int, begin: int, end: int, *, seed: int, draw: int) -> tuple[Keys, Ints]:
    """The keys with ranks begin .. end - 1 from the smallest, and their rows, in row order.

    Cost: a pass over the keys, and memory for those of the ranks and of some around them.
    """
    if begin >= end:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    width = 8  # standard deviations: it has to be done again once in 10**14 times
    while True:
        low = max(0, begin - _spread(begin, n_rows, width))
        high = min(n_rows, end + _spread(end, n_rows, width))
        most = min(n_rows, high - low + _spread(high - low, n_rows, width))
        least = np.uint64(low * _N_KEYS // n_rows)
        greatest = np.uint64(high * _N_KEYS // n_rows - 1)
        n_below, keys, rows = _between(n_rows, least, greatest, most, seed=seed, draw=draw)
        if n_below <= begin and end - n_below <= keys.size <= most:
            break
        width *= 4
    edges = [begin - n_below, end - n_below - 1]
    least, greatest = np.partition(keys, edges)[edges]
    chosen = (keys >= least) & (keys <= greatest)
    return keys[chosen], rows[chosen]


def _spread(rank: int, n_rows: int, width: int) -> int:
    """So many standard deviations of how many of all keys lie below where `rank` are expected."""
    return width * (1 + isqrt(rank * (n_rows - rank) // n_rows))


def _between(
    n_rows: int, low: np.uint64, high: np.uint64, most: int, *, seed: int, draw: int
) -> tuple[int, Keys, Ints]:
    """How many keys lie below `low`, the keys in low .. high and their rows.

    Where there are more than `most`, the first most + 1 of them may be all that are given.
    """
    kernel = loops("keys", STEPS * n_rows)
    keys, rows = np.empty(most + 1, np.uint64), np.empty(most + 1, np.int64)
    n_below, n_found = kernel.find_keys(_state(0, seed, draw), n_rows, low, high, keys, rows)
    return n_below, keys[:n_found], rows[:n_found]


def _state(row: int, seed: int, draw: int) -> np.uint64:
    """What SplitMix64's finaliser makes the key of a row of, in a stream of seed and draw."""
    stream = int(mix(np.array([(seed * _GOLDEN + draw) % _N_KEYS], np.uint64))[0])
    return np.uint64((stream + (row + 1) * _GOLDEN) % _N_KEYS)
