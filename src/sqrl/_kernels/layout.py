"""What the plain and the compiled loops both take: named arrays, and nothing that computes."""

from typing import NamedTuple

from sqrl._kernels.arrays import Floats, Int16s, Int32s, Int64s, Uint32s, Words64


class Words(NamedTuple):
    """The columns of `Packed`."""

    bits: Words64
    negated: Int64s
    part_words: Int64s


class Sets(NamedTuple):
    """The numbering of sets of features: binomial (n_features + 1, high + 1), start (high + 2,)."""

    n_features: int
    binomial: Int64s
    start: Int64s


class BodyColumns(NamedTuple):
    """The columns of `Bodies`, with the number of its first set in the numbering of `Sets`."""

    first: int
    valid: Uint32s
    offset: Int64s


class Prefixes(NamedTuple):
    """Prefixes of one size, and the number of the first set that extends each."""

    features: Int16s
    first: Int64s


class Level(NamedTuple):
    """All that the loops over the prefixes of one size take."""

    words: Words
    sets: Sets
    bodies: BodyColumns
    prefixes: Prefixes


class Wanted(NamedTuple):
    """What to bound, and where between the order statistics the bounds lie.

    Shapes: heads (n_heads,); sizes (n_parts, lanes); rows (lanes,); ranks and fractions (N + 1,),
    by the number of mini-batches with a value.
    """

    statistic: int
    heads: Int32s
    sizes: Floats
    rows: Floats
    rank_lo: Int32s
    rank_hi: Int32s
    frac_lo: Floats
    frac_hi: Floats


class Output(NamedTuple):
    """The bounds and supports, (n_bodies, n_heads) each."""

    lower: Floats
    upper: Floats
    support: Int32s
