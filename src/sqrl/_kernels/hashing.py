"""Which bodies hold on the same rows: a 64-bit hash of each body's set of rows."""

import numpy as np

from sqrl._kernels.arrays import Int32s, Words64, frozen
from sqrl._kernels.conjunctions import Bodies
from sqrl._kernels.dispatch import is_plain, loops
from sqrl._kernels.packing import WORD, Packed, rows_by_part
from sqrl._kernels.plan import chunks, count_steps, make_plan
from sqrl._kernels.threads import run
from sqrl._progress import Done


def body_hashes(
    bodies: Bodies,
    packed: Packed,
    weights: Words64,
    parts: Int32s,
    *,
    threads: int | None = None,
    track: Done | None = None,
) -> Words64:
    """The sum modulo 2**64 of the weights of each body's rows.

    With random weights, bodies with the same rows have the same hash, and two with different rows
    the same with probability 2**-64. A sum, so that negations follow by inclusion-exclusion, as
    counts do, and the hashes of parts of a table add up to those of the whole.

    Shapes: weights and parts (n_rows,), of the rows given to `pack_table`; result (n_bodies,).
    Cost: an AND of all words for each set of features, and a step for each row in it.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> true, parts = np.array([[1, 0, 1], [0, 1, 0]], bool), np.zeros(3, np.int32)
    >>> packed = pack_table(true, ~true, parts, n_parts=1)
    >>> bodies = enumerate_bodies(np.arange(2), np.zeros(2, bool), 1, 1)
    >>> body_hashes(bodies, packed, np.array([1, 10, 100], np.uint64), parts).tolist()
    [101, 10, 10, 101]
    """
    plan = make_plan(bodies, packed)
    kernel = loops("hashing", WORD * (8 * packed.bits.size + count_steps(bodies, packed) / 8))
    placed = _place(frozen(weights, np.uint64), frozen(parts, np.int32), packed)
    table = np.empty(plan.n_sets, np.uint64)
    table[0] = placed.sum(dtype=np.uint64)
    hashes = np.empty((bodies.n, 1), np.uint64)
    cost = 2.0 * packed.bits[0].size
    together = 0.0 if is_plain(kernel) else cost
    weigh, finish = kernel.fill_weights, kernel.fill_hashes
    phases = [chunks(level, together, weigh, placed, table) for level in plan.levels]
    for level in plan.levels[bodies.low - 1 :]:
        phases.append(chunks(level, cost / 8, finish, placed, table, hashes))
    run(phases, threads=1 if is_plain(kernel) else threads, track=track)
    return hashes.ravel()


def _place(weights: Words64, parts: Int32s, packed: Packed) -> Words64:
    """The weight of each bit of the packed table, 0 where it stands for no row.

    Shapes: weights and parts (n_rows,), result (words, lanes, 64).
    """
    placed = np.zeros((*packed.bits.shape[1:], WORD), np.uint64)
    lanes = placed.shape[1]
    order = rows_by_part(parts, packed.n_parts)
    ends = np.cumsum(packed.sizes.sum(axis=1, dtype=np.int64))[:-1]
    begins = packed.part_words[:-1] * lanes * WORD
    for begin, rows in zip(begins, np.split(order, ends), strict=True):
        placed.reshape(-1)[begin : begin + rows.size] = weights[rows]
    return placed
