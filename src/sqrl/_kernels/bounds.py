"""Bounds of a statistic of every body over many mini-batches, without keeping its values."""

from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from sqrl._kernels.arrays import Floats, Int32s
from sqrl._kernels.conjunctions import Bodies
from sqrl._kernels.counting import make_plan
from sqrl._kernels.packing import LANES, Packed
from sqrl._kernels.threads import Track, available_cores, run, split

STATISTICS = ("f1", "f1_given", "precision", "recall", "accuracy", "support", "lift")


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the bounds lie among n sorted values, for each n.

    With n values defined, the lower bound lies at frac_lo[n] of the way from the value of rank
    rank_lo[n] (from 0) to the next; the upper bound likewise. Rank -1: no bound (nan).

    Shapes: all (n_batches + 1,).
    """

    rank_lo: Int32s
    frac_lo: Floats
    rank_hi: Int32s
    frac_hi: Floats


@dataclass(frozen=True, slots=True, eq=False)
class BodyBounds:
    """Bounds of every body and head, and how many mini-batches they rest on.

    Shapes: all (n_bodies, n_heads). nan where there is no bound.
    """

    lower: Floats
    upper: Floats
    support: Int32s

    def __post_init__(self) -> None:
        for column in (self.lower, self.upper, self.support):
            column.flags.writeable = False


def percentile_ranks(n_batches: int, q_lo: float, q_hi: float) -> Ranks:
    """The ranks with which bounds are quantiles as `numpy.quantile` interpolates them linearly.

    Shapes: result (n_batches + 1,).
    Cost: O(n_batches).

    >>> ranks = percentile_ranks(3, 0.25, 1)
    >>> ranks.rank_lo.tolist(), ranks.frac_lo.tolist(), ranks.rank_hi.tolist()
    ([-1, 0, 0, 0], [0.0, 0.0, 0.25, 0.5], [-1, 0, 1, 2])
    """
    n = np.arange(n_batches + 1)
    columns = []
    for q in (q_lo, q_hi):
        virtual = np.maximum(n - 1, 0) * q
        rank = np.floor(virtual)
        columns += [np.where(n == 0, -1, rank).astype(np.int32), virtual - rank]
    return Ranks(*columns)


def body_bounds(
    bodies: Bodies,
    packed: Packed,
    *,
    statistic: str,
    ranks: Ranks,
    heads: Int32s | None = None,
    threads: int | None = None,
    track: Track | None = None,
) -> BodyBounds:
    """Bounds of a statistic of `body => head` over mini-batches, for every body and head.

    With b, h, c, n the rows of a mini-batch in the body, in the head, in both, and at all:
    f1 = 2c / (b + h), f1_given = 2c / (b + c), precision = c / b, recall = c / h,
    accuracy = (n - b - h + 2c) / n, support = c / n, lift = cn / (bh). A mini-batch where the
    divisor is 0 has no value and does not count.

    Shapes: heads: the parts wanted, by default all; ranks: for packed.n_batches values.
    Cost: an AND and popcount of all words for each set of features; then a division and two
    comparisons for each body, head and mini-batch. Memory: `bounds_nbytes`.

    >>> from sqrl._kernels import enumerate_bodies, pack
    >>> true = np.array([[1, 0, 1]], bool)
    >>> packed = pack(true, ~true, np.array([1, 1, 0]), np.array([[0, 1, 2], [0, 1, 1]]), n_parts=2)
    >>> bodies = enumerate_bodies(np.arange(1), np.zeros(1, bool), 1, 1)
    >>> ranks = percentile_ranks(2, 0, 1)
    >>> body_bounds(bodies, packed, statistic="precision", ranks=ranks, heads=[1]).lower.tolist()
    [[0.5], [1.0]]
    """
    from sqrl._kernels.compiled import bounds as compiled

    plan = make_plan(bodies, packed, add_lanes=False)
    wanted_heads = np.arange(packed.n_parts) if heads is None else heads
    wanted = compiled.Wanted(
        STATISTICS.index(statistic),
        np.asarray(wanted_heads, np.int32),
        packed.sizes[None].astype(np.float64),
        packed.sizes.sum(axis=0).astype(np.float64),
        ranks.rank_lo,
        ranks.rank_hi,
        ranks.frac_lo,
        ranks.frac_hi,
    )
    shape = bodies.n, len(wanted.heads)
    output = compiled.Output(np.empty(shape), np.empty(shape), np.empty(shape, np.int32))
    phases = list(plan.table_phases)
    for size in range(bodies.low, bodies.high + 1):
        prefixes = plan.levels[size - 1]
        values = 2**size * len(wanted.heads) * packed.sizes.shape[1]
        shared = plan.words, plan.sets, plan.family, prefixes
        phases.append(
            [
                partial(compiled.fill_bounds, *shared, begin, end, plan.table, wanted, output)
                for begin, end in split(prefixes.first, packed.bits[0].size / 4 + values)
            ]
        )
    run(phases, threads=threads, track=track)
    return BodyBounds(*output)


def bounds_nbytes(
    n_bodies: int,
    n_features: int,
    high: int,
    packed: Packed,
    *,
    n_heads: int,
    threads: int | None = None,
) -> int:
    """Memory that `body_bounds` takes, its result included, in bytes.

    Cost: none; nothing is allocated.

    >>> packed = pack(np.ones((2, 9)), np.zeros((2, 9)), np.zeros(9), np.ones((1, 1)), n_parts=1)
    >>> bounds_nbytes(8, 2, 2, packed, n_heads=1, threads=1)
    """
    raise NotImplementedError
