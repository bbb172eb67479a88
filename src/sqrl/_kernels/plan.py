"""The numbering of sets of features that the compiled loops share, and the chunks of their work."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from sqrl._kernels.conjunctions import Bodies, all_combinations, combination_ends
from sqrl._kernels.layout import Family, Prefixes, Sets, Words
from sqrl._kernels.packing import Packed
from sqrl._kernels.threads import Chunk, split


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the compiled loops take: words, the numbering of sets, and the prefixes of each size.

    Sets of features are numbered by size, then lexicographically; the empty set is number 0.
    `n_smaller` are smaller than the longest body, `n_sets` are not longer.
    """

    words: Words
    sets: Sets
    family: Family
    levels: list[Prefixes]
    n_smaller: int
    n_sets: int


def make_plan(bodies: Bodies, packed: Packed) -> Plan:
    """The plan for bodies over packed rows.

    Cost: proportional to the sets smaller than the longest body.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> packed = pack_table(np.ones((3, 9)), np.zeros((3, 9)), np.zeros(9), n_parts=1)
    >>> plan = make_plan(enumerate_bodies(np.arange(3), np.zeros(3, bool), 1, 2), packed)
    >>> plan.n_smaller, plan.n_sets, plan.levels[1].first.tolist()
    (4, 7, [4, 6, 7, 7])
    """
    n, high = bodies.n_features, bodies.high
    binomial = np.array([[comb(i, j) for j in range(high + 1)] for i in range(n + 1)], np.int64)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(binomial[n])))
    levels = []
    for size in range(1, high + 1):
        features = all_combinations(n, size - 1)
        levels.append(Prefixes(features, start[size] + combination_ends(features, n)))
    return Plan(
        words=Words(packed.bits, packed.negated, packed.part_words),
        sets=Sets(n, binomial, start),
        family=Family(int(start[bodies.low]), bodies.valid, bodies.offset),
        levels=levels,
        n_smaller=int(start[high]),
        n_sets=int(start[high + 1]),
    )


def count_steps(bodies: Bodies, packed: Packed) -> float:
    """About how many words are looked at to count all sets, once for each sign if need be.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> packed = pack_table(np.ones((3, 9)), np.zeros((3, 9)), np.zeros(9), n_parts=1)
    >>> count_steps(enumerate_bodies(np.arange(3), np.zeros(3, bool), 1, 2), packed)
    448.0
    """
    n_sets = sum(comb(bodies.n_features, size) for size in range(bodies.high + 1))
    has_unknown = len(packed.bits) > bodies.n_features + 1
    return float(n_sets * packed.bits[0].size * (2**bodies.high if has_unknown else 1))


def chunks(
    prefixes: Prefixes, cost: float, work: Callable[..., None], *before: object
) -> list[Chunk]:
    """Calls of work(*before, begin, end) that together cover all prefixes, of equal cost.

    >>> from sqrl._kernels.layout import Prefixes
    >>> prefixes = Prefixes(all_combinations(4, 1), combination_ends(all_combinations(4, 1), 4))
    >>> [chunk() for chunk in chunks(prefixes, 2e5, print, "prefixes")]
    prefixes 0 1
    prefixes 1 3
    [None, None]
    """
    return [partial(work, *before, begin, end) for begin, end in split(prefixes.first, cost)]
