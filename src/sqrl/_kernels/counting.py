"""How many rows of each part every body holds on."""

import numpy as np

from sqrl._kernels.arrays import Int32s
from sqrl._kernels.conjunctions import Bodies
from sqrl._kernels.dispatch import is_plain, loops
from sqrl._kernels.packing import Packed
from sqrl._kernels.plan import Plan, chunks, count_steps, make_plan
from sqrl._kernels.threads import Chunk, Track, run


def body_counts(
    bodies: Bodies, packed: Packed, *, threads: int | None = None, track: Track | None = None
) -> Int32s:
    """The number of rows of each part in each body, over all mini-batches together.

    Shapes: result (n_bodies, n_parts).
    Cost: an AND and popcount of all words for each set of features, not for each body; the counts
    of smaller sets are kept.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> true = np.array([[1, 0, 1]], bool)
    >>> packed = pack_table(true, ~true, np.array([0, 1, 0]), n_parts=2)
    >>> body_counts(enumerate_bodies(np.arange(1), np.zeros(1, bool), 1, 1), packed).tolist()
    [[2, 0], [0, 1]]
    """
    plan = make_plan(bodies, packed)
    kernel = loops("counting", count_steps(bodies, packed) + bodies.n * packed.n_parts)
    table = start_table(plan, packed.sizes.sum(axis=1, keepdims=True))
    counts = np.empty((bodies.n, packed.n_parts), np.int32)

    def work(size: int, begin: int, end: int) -> None:
        shared = plan.words, plan.sets, plan.family, plan.levels[size - 1]
        kernel.fill_counts(*shared, begin, end, table, counts)

    phases = table_phases(plan, packed, table)
    for size in range(bodies.low, bodies.high + 1):
        cost = packed.bits[0].size / 4 + 2**size * packed.n_parts
        phases.append(chunks(plan.levels[size - 1], cost, work, size))
    run(phases, threads=1 if is_plain(kernel) else threads, track=track)
    return counts


def start_table(plan: Plan, sizes: Int32s) -> Int32s:
    """A table of counts for the sets smaller than the longest body, with the empty set filled in.

    Shapes: sizes (n_parts, cells), result (n_smaller, n_parts, cells).
    Cost: 4 bytes a cell.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> packed = pack_table(np.ones((3, 9)), np.zeros((3, 9)), np.zeros(9), n_parts=1)
    >>> plan = make_plan(enumerate_bodies(np.arange(3), np.zeros(3, bool), 1, 2), packed)
    >>> start_table(plan, np.array([[9]])).shape
    (4, 1, 1)
    """
    table = np.empty((plan.n_smaller, *sizes.shape), np.int32)
    table[0] = sizes
    return table


def table_phases(plan: Plan, packed: Packed, table: Int32s) -> list[list[Chunk]]:
    """The chunks of work that fill the table, a phase for each size of set.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> packed = pack_table(np.ones((3, 9)), np.zeros((3, 9)), np.zeros(9), n_parts=1)
    >>> plan = make_plan(enumerate_bodies(np.arange(3), np.zeros(3, bool), 1, 2), packed)
    >>> table = start_table(plan, np.array([[9]]))
    >>> run(table_phases(plan, packed, table), threads=1, track=None)
    >>> table.ravel().tolist()
    [9, 9, 9, 9]
    """
    smaller = plan.n_smaller * packed.bits[0].size if len(plan.levels) > 1 else 0
    kernel = loops("counting", smaller)

    def work(size: int, begin: int, end: int) -> None:
        kernel.fill_table(plan.words, plan.sets, plan.levels[size - 1], begin, end, table)

    cost = packed.bits[0].size / 4
    return [chunks(plan.levels[size], cost, work, size + 1) for size in range(len(plan.levels) - 1)]
