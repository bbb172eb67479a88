"""Which bodies hold on the same rows: a 64-bit hash of each body's set of rows."""

import numpy as np

from sqrl._kernels.arrays import Words64
from sqrl._kernels.conjunctions import Bodies
from sqrl._kernels.packing import WORD, Packed
from sqrl._kernels.plan import chunks, make_plan
from sqrl._kernels.threads import Track, run


def body_hashes(
    bodies: Bodies,
    packed: Packed,
    *,
    seed: int,
    threads: int | None = None,
    track: Track | None = None,
) -> Words64:
    """The sum modulo 2**64 of a random weight for each row of a body.

    Bodies with the same rows have the same hash; two with different rows have the same hash with a
    chance of 2**-64. A sum, so that negations follow by inclusion-exclusion, as counts do.

    Shapes: result (n_bodies,).
    Cost: an AND of all words for each set of features, and a step for each row in it.

    >>> from sqrl._kernels import enumerate_bodies, pack_table
    >>> true = np.array([[1, 0, 1], [0, 1, 0]], bool)
    >>> packed = pack_table(true, ~true, np.zeros(3), n_parts=1)
    >>> bodies = enumerate_bodies(np.arange(2), np.zeros(2, bool), 1, 1)
    >>> a, not_a, b, not_b = body_hashes(bodies, packed, seed=0)
    >>> bool(a == not_b), bool(not_a == b), bool(a == b)
    (True, True, False)
    """
    from sqrl._kernels.compiled import hashing as compiled

    plan = make_plan(bodies, packed)
    shape = (*packed.bits.shape[1:], WORD)
    weights = np.random.default_rng(seed).integers(2**64, size=shape, dtype=np.uint64)
    everything = np.unpackbits(packed.bits[-1:].view(np.uint8), bitorder="little").view(np.bool_)
    table = np.empty(plan.n_sets, np.uint64)
    table[0] = weights.ravel()[everything].sum(dtype=np.uint64)
    hashes = np.empty(bodies.n, np.uint64)

    def weigh(size: int, begin: int, end: int) -> None:
        compiled.fill_weights(plan.words, plan.levels[size - 1], begin, end, weights, table)

    def finish(size: int, begin: int, end: int) -> None:
        shared = plan.words, plan.sets, plan.family, plan.levels[size - 1]
        compiled.fill_hashes(*shared, begin, end, weights, table, hashes)

    cost = 2.0 * packed.bits[0].size
    sizes = range(1, bodies.high + 1)
    phases = [chunks(plan.levels[size - 1], cost, weigh, size) for size in sizes]
    for size in sizes[bodies.low - 1 :]:
        phases.append(chunks(plan.levels[size - 1], cost / 8, finish, size))
    run(phases, threads=threads, track=track)
    return hashes
