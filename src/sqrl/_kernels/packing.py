"""Boolean features of many mini-batches as 64-bit words, laid out for counting.

The rows of a mini-batch are sorted by part and each part is padded to whole words; the padding is
the same for all mini-batches. So word w of every mini-batch belongs to the same part, and with the
mini-batches side by side in memory one pass of AND and popcount, vectorised over mini-batches,
counts a conjunction in every part of every mini-batch, with no horizontal sums.
"""

from dataclasses import dataclass, replace

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Bytes, Int32s, Int64s, Words64, frozen
from sqrl._kernels.dispatch import loops

WORD = 64
LANES = 16  # mini-batches in a 512-bit register
TABLE_LANES = 64  # a whole table is dealt out to this many lanes, a few registers' worth


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Literals as bits over the rows of N mini-batches, `lanes` >= N of them (the rest are empty).

    Shapes: bits (n_features + n_unknown + 1, words, lanes): first the features, then the negations
    of those that are unknown somewhere, last all rows; negated (n_features,), which of these to use
    for a feature's negation (all rows where it is never unknown: the rest is inclusion-exclusion);
    part_words (n_parts + 1,), each part's first word; sizes (n_parts, lanes), its rows.
    """

    n_features: int
    n_batches: int
    bits: Words64
    negated: Int64s
    part_words: Int64s
    sizes: Int32s

    def __post_init__(self) -> None:
        for column in (self.bits, self.negated, self.part_words, self.sizes):
            column.flags.writeable = False

    @property
    def n_parts(self) -> int:
        """How many parts the rows are divided into."""
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        """Memory held by the columns."""
        columns = (self.bits, self.negated, self.part_words, self.sizes)
        return sum(column.nbytes for column in columns)

    def trimmed(self) -> "Packed":
        """The literals without the lanes that no mini-batch is in."""
        used = slice(self.n_batches)
        bits = np.ascontiguousarray(self.bits[:, :, used])
        return replace(self, bits=bits, sizes=np.ascontiguousarray(self.sizes[:, used]))


def pack(true: Array, false: Array, parts: Int32s, batches: Array, *, n_parts: int) -> Packed:
    """The features as bits over the rows of each mini-batch.

    A feature is unknown on a row where neither `true` nor `false` is set.

    Shapes: true and false (n_features, n_rows), bool or uint8; parts (n_rows,), -1 for a row left
    out; batches (N, m), row numbers, -1 for none.
    Cost: one pass over the features, then one over the rows of the mini-batches.

    >>> true = np.array([[1, 0, 1]], bool)
    >>> packed = pack(true, ~true, np.array([0, 1, 0]), np.array([[0, 1], [1, 2]]), n_parts=2)
    >>> packed.sizes[:, :2].tolist(), packed.bits[0, :, :2].tolist()
    ([[1, 1], [1, 1]], [[1, 1], [0, 0]])
    """
    kernel = loops("packing", 2.0 * (len(true) + len(false)) * np.size(batches))
    parts = frozen(parts, np.int32)
    batches = frozen(batches, np.int64)
    lanes = -(-max(len(batches), 1) // LANES) * LANES
    sizes = np.zeros((n_parts, lanes), np.int32)
    kernel.count_parts(parts, batches, sizes)
    words = -(-sizes.max(axis=1, initial=0) // WORD)
    part_words = np.concatenate((np.zeros(1, np.int64), np.cumsum(words, dtype=np.int64)))
    places = np.full((len(batches), WORD * part_words[-1]), -1, np.int64)
    kernel.place_rows(parts, batches, part_words, places)
    columns, negated = _columns(_as_bytes(true), _as_bytes(false))
    bits = np.zeros((len(columns) + 1, part_words[-1], lanes), np.uint64)
    kernel.fill_bits(columns, places, bits[:-1])
    kernel.fill_bits(np.ones((1, len(parts)), np.uint8), places, bits[-1:])
    return Packed(len(true), len(batches), bits, negated, part_words, sizes)


def pack_table(true: Array, false: Array, parts: Int32s, *, n_parts: int) -> Packed:
    """The features as bits over all rows, dealt out to lanes that are to be added up.

    Shapes: as for `pack`; a lane takes the place of a mini-batch.
    Cost: as for `pack`, with one sort of `parts`.

    >>> true = np.array([[1, 0, 1]], bool)
    >>> pack_table(true, ~true, np.array([0, 1, 0]), n_parts=2).sizes.sum(axis=1).tolist()
    [2, 1]
    """
    parts = np.asarray(parts, np.int32)
    # numpy sorts 16-bit integers by radix
    keys = parts.astype(np.int16) if n_parts < 2**15 else parts
    order = np.argsort(keys, kind="stable")[np.count_nonzero(parts < 0) :]
    # dealt like cards, so that every lane has the same share of every part
    depth = -(-len(order) // TABLE_LANES)
    dealt = np.full(depth * TABLE_LANES, -1, np.int64)
    dealt[: len(order)] = order
    return pack(true, false, parts, dealt.reshape(depth, TABLE_LANES).T, n_parts=n_parts)


def _as_bytes(matrix: Array) -> Bytes:
    """The matrix as bytes 0 and 1, without a copy if it is one of booleans."""
    return frozen(matrix, np.bool_).view(np.uint8)


def _columns(true: Bytes, false: Bytes) -> tuple[Bytes, Int64s]:
    """The literals to pack, and for each feature which one is its negation."""
    unknown: Bools = ~np.all(true.view(np.bool_) | false.view(np.bool_), axis=1)
    columns = frozen(np.concatenate((true, false[unknown])), np.uint8) if unknown.any() else true
    negated = np.full(len(true), len(columns), np.int64)
    negated[unknown] = len(true) + np.arange(np.count_nonzero(unknown))
    return columns, negated
