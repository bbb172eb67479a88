"""How often each of some given conjunctions holds in every part of every mini-batch."""

from functools import partial

import numpy as np

from sqrl._kernels.arrays import Array, Int32s, frozen
from sqrl._kernels.packing import Packed
from sqrl._kernels.threads import run

AT_ONCE = 64  # bodies a chunk


def listed_counts(packed: Packed, bodies: Array, *, threads: int | None = None) -> Int32s:
    """The number of rows in each body, part and mini-batch.

    Shapes: bodies (n, k), feature numbers padded with -1 after the first; result
    (n, n_parts, n_batches). A body without features is all rows: feature number packed.n_features.
    Cost: k ANDs and a popcount for each word of each body.

    >>> from sqrl._kernels import pack
    >>> true = np.array([[1, 0, 1], [1, 1, 0]], bool)
    >>> packed = pack(true, ~true, np.array([0, 1, 0]), np.array([[0, 1, 2]]), n_parts=2)
    >>> listed_counts(packed, np.array([[0, -1], [0, 1]])).tolist()
    [[[2], [0]], [[1], [0]]]
    """
    from sqrl._kernels.compiled import listed as compiled

    listed = frozen(bodies, np.int64)
    n_lanes = packed.bits.shape[2]
    counts = np.empty((len(listed), packed.n_parts, n_lanes), np.int32)

    def work(begin: int) -> None:
        end = min(begin + AT_ONCE, len(listed))
        scratch = np.empty(n_lanes, np.uint64)
        compiled.count_listed(packed.bits, listed, packed.part_words, begin, end, scratch, counts)

    chunks = [partial(work, begin) for begin in range(0, len(listed), AT_ONCE)]
    run([chunks], threads=threads, track=None)
    return counts[:, :, : packed.n_batches]
