"""Bounds of a statistic of every body over many mini-batches, without keeping its values."""

from dataclasses import dataclass
from math import comb

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Floats, Int32s, frozen
from sqrl._kernels.conjunctions import Bodies, count_bodies
from sqrl._kernels.counting import start_table, table_phases
from sqrl._kernels.dispatch import is_plain, loops
from sqrl._kernels.layout import Output, Wanted
from sqrl._kernels.packing import LANES, WORD, Packed
from sqrl._kernels.plan import chunks, count_steps, make_plan
from sqrl._kernels.threads import available_cores, run
from sqrl._progress import Done

STATISTICS = ("f1", "f1_given", "precision", "recall", "accuracy", "support", "lift")


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the bounds lie among n sorted values, for each n.

    With n values defined, the lower bound lies at frac_lo[n] of the way from the value of rank
    rank_lo[n] (from 0) to the next; the upper bound likewise. Rank -1: no bound (nan).

    Shapes: all (n_batches + 1,).
    """

    rank_lo: Array
    frac_lo: Floats
    rank_hi: Array
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


def body_bounds(
    bodies: Bodies,
    packed: Packed,
    *,
    statistic: str,
    ranks: Ranks,
    heads: Int32s | None = None,
    threads: int | None = None,
    track: Done | None = None,
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
    >>> ranks = Ranks(*np.array([[-1, 0, 0], [0, 0, 0], [-1, 0, 1], [0, 0, 0]]))
    >>> body_bounds(bodies, packed, statistic="precision", ranks=ranks, heads=[1]).lower.tolist()
    [[0.5], [1.0]]
    """
    n_heads = packed.n_parts if heads is None else len(heads)
    steps = 5.0 * bodies.n * n_heads * packed.n_batches
    kernel = loops("bounds", count_steps(bodies, packed) + steps)
    if is_plain(kernel):
        packed, threads = packed.trimmed(), 1
    plan = make_plan(bodies, packed)
    table = start_table(plan, packed.sizes)
    wanted = Wanted(
        statistic=STATISTICS.index(statistic),
        heads=frozen(np.arange(packed.n_parts) if heads is None else heads, np.int32),
        sizes=packed.sizes.astype(np.float64),
        rows=packed.sizes.sum(axis=0).astype(np.float64),
        rank_lo=frozen(ranks.rank_lo, np.int32),
        rank_hi=frozen(ranks.rank_hi, np.int32),
        frac_lo=frozen(ranks.frac_lo, np.float64),
        frac_hi=frozen(ranks.frac_hi, np.float64),
    )
    shape = bodies.n, len(wanted.heads)
    output = Output(np.empty(shape), np.empty(shape), np.empty(shape, np.int32))
    fill = kernel.fill_bounds
    phases = table_phases(plan, packed, table)
    for size in range(bodies.low, bodies.high + 1):
        values = 2**size * len(wanted.heads) * packed.sizes.shape[1]
        cost = (packed.bits[0].size / 4 + values) * (2 if is_plain(kernel) else 1)
        phases.append(chunks(plan.levels[size - 1], cost, fill, table, wanted, output))
    run(phases, threads=threads, track=track)
    return BodyBounds(*output)


def bounds_nbytes(
    group: Int32s,
    complete: Bools,
    low: int,
    high: int,
    *,
    n_batches: int,
    batch_rows: int,
    n_parts: int,
    n_heads: int,
    threads: int | None = None,
) -> int:
    """Memory that `body_bounds` takes beyond its arguments, its result included, in bytes.

    Within a few per cent if no feature is ever unknown; unknown features add scratch, at most
    2**(high - 1) times one feature's bits a thread.

    Cost: none; nothing is enumerated or allocated.

    >>> free = np.arange(52), np.zeros(52, bool)
    >>> batches = {"n_batches": 67, "batch_rows": 4096, "n_parts": 2, "n_heads": 2, "threads": 2}
    >>> round(bounds_nbytes(*free, 1, 3, **batches) / 2**20), "MiB"
    (8, 'MiB')
    """
    n_features = len(group)
    lanes = -(-n_batches // LANES) * LANES
    cells = 4 * n_parts * lanes
    result: int = sum(count_bodies(group, complete, low, high)) * n_heads * (8 + 8 + 4)
    table = sum(comb(n_features, size) for size in range(high)) * cells
    prefixes = sum(comb(n_features, size) * (2 * size + 8) for size in range(high))
    common = 8 * lanes * (-(-batch_rows // WORD) + n_parts)
    scratch = common + (n_features + (1 << high) + 1) * cells + 3 * 8 * lanes
    return result + table + prefixes + scratch * (threads or available_cores())
