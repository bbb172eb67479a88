"""How many rows of each part every body holds on."""

from dataclasses import dataclass
from functools import partial
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from sqrl._kernels.arrays import Int32s
from sqrl._kernels.conjunctions import Bodies, all_combinations, combination_ends
from sqrl._kernels.packing import Packed
from sqrl._kernels.threads import Chunk, Track, run, split

if TYPE_CHECKING:
    from sqrl._kernels.compiled.counting import Family, Prefixes, Sets, Words


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the compiled loops need, and the chunks that count all sets below the longest."""

    words: "Words"
    sets: "Sets"
    family: "Family"
    levels: "list[Prefixes]"
    table: Int32s
    table_phases: list[list[Chunk]]


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
    from sqrl._kernels.compiled import counting as compiled

    plan = make_plan(bodies, packed, add_lanes=True)
    counts = np.empty((bodies.n, packed.n_parts), np.int32)
    phases = list(plan.table_phases)
    for size in range(bodies.low, bodies.high + 1):
        prefixes = plan.levels[size - 1]
        cost = packed.bits[0].size / 4 + 2**size * packed.n_parts
        shared = plan.words, plan.sets, plan.family, prefixes
        phases.append(
            [
                partial(compiled.fill_counts, *shared, begin, end, plan.table, counts)
                for begin, end in split(prefixes.first, cost)
            ]
        )
    run(phases, threads=threads, track=track)
    return counts


def make_plan(bodies: Bodies, packed: Packed, *, add_lanes: bool) -> Plan:
    """The numbering of sets, and an empty table for those smaller than the longest body.

    Shapes: table (n_sets, n_parts, 1) with `add_lanes`, else (n_sets, n_parts, lanes).
    Cost: the table takes 4 bytes a cell.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> packed = pack_table(np.ones((2, 9)), np.zeros((2, 9)), np.zeros(9), n_parts=1)
    >>> bodies = enumerate_bodies(np.arange(2), np.zeros(2, bool), 1, 2)
    >>> make_plan(bodies, packed, add_lanes=False).table.shape
    (3, 1, 64)
    """
    from sqrl._kernels.compiled import counting as compiled

    n = bodies.n_features
    words = compiled.Words(packed.bits, packed.negated, packed.part_words)
    binomial = np.array([[comb(i, j) for j in range(bodies.high + 1)] for i in range(n + 1)])
    start = np.concatenate(([0], np.cumsum(binomial[n])))
    sets = compiled.Sets(n, binomial, start)
    family = compiled.Family(int(start[bodies.low]), bodies.valid, bodies.offset)
    levels = []
    for size in range(1, bodies.high + 1):
        features = all_combinations(n, size - 1)
        levels.append(compiled.Prefixes(features, start[size] + combination_ends(features, n)))
    sizes = packed.sizes.sum(axis=1, keepdims=True) if add_lanes else packed.sizes
    table = np.empty((start[bodies.high], *sizes.shape), np.int32)
    table[0] = sizes
    phases: list[list[Chunk]] = [
        [
            partial(compiled.fill_table, words, sets, prefixes, begin, end, table)
            for begin, end in split(prefixes.first, packed.bits[0].size / 4)
        ]
        for prefixes in levels[:-1]
    ]
    return Plan(words, sets, family, levels, table, phases)
