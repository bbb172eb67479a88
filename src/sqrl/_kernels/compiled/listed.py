"""Compiled loop: how often each of some given conjunctions holds in every part and mini-batch."""

from sqrl._kernels.arrays import Array, Int32s, Int64s, Words64
from sqrl._kernels.compiled.jit import kernel, popcount


@kernel
def count_listed(
    bits: Words64,
    bodies: Array,
    part_words: Int64s,
    begin: int,
    end: int,
    word: Words64,
    counts: Int32s,
) -> None:
    """Fill counts[body, part, lane] for the bodies from begin to end; `word` is scratch."""
    n_lanes = bits.shape[2]
    for body in range(begin, end):
        for part in range(part_words.size - 1):
            for lane in range(n_lanes):
                counts[body, part, lane] = 0
            for place in range(part_words[part], part_words[part + 1]):
                first = bodies[body, 0]
                for lane in range(n_lanes):
                    word[lane] = bits[first, place, lane]
                for position in range(1, bodies.shape[1]):
                    feature = bodies[body, position]
                    if feature >= 0:
                        for lane in range(n_lanes):
                            word[lane] &= bits[feature, place, lane]
                for lane in range(n_lanes):
                    counts[body, part, lane] += popcount(word[lane])
