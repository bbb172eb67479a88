"""Boolean features of many mini-batches as 64-bit words, laid out for counting.

The rows of a mini-batch are sorted by part and each part is padded to whole words; the padding is
the same for all mini-batches. So word w of every mini-batch belongs to the same part, and with the
mini-batches side by side in memory one pass of AND and popcount, vectorised over mini-batches,
counts a conjunction in every part of every mini-batch, with no horizontal sums.

Of a whole table the lanes are added up anyway, so there a part's rows simply follow each other.
"""

from dataclasses import dataclass, replace

import numpy as np

from sqrl._kernels.arrays import Array, Bools, Bytes, Int32s, Int64s, Words64, frozen

WORD = 64
LANES = 16  # mini-batches in a 512-bit register
TABLE_LANES = 64  # a part of a whole table is padded to so many words, a few registers' worth
TILE = 1 << 15  # rows whose codes stay in the cache while every feature adds its bit


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
    parts = frozen(parts, np.int32)
    batches = frozen(batches, np.int64)
    lanes = -(-max(len(batches), 1) // LANES) * LANES
    order, codes = _by_part(parts, batches)
    sizes = np.zeros((n_parts, lanes), np.int32)
    for part in range(n_parts):
        sizes[part, : len(batches)] = np.count_nonzero(codes == part, axis=1)
    words = -(-sizes.max(axis=1, initial=0) // WORD)
    part_words = np.concatenate((np.zeros(1, np.int64), np.cumsum(words, dtype=np.int64)))
    places = _places(np.take_along_axis(batches, order, axis=1), sizes, part_words)
    columns, negated = _columns(_as_bytes(true), _as_bytes(false))
    bits = np.zeros((len(columns) + 1, part_words[-1], lanes), np.uint64)
    _fill_bits(columns, places, bits)
    return Packed(len(true), len(batches), bits, negated, part_words, sizes)


def pack_table(true: Array, false: Array, parts: Int32s, *, n_parts: int) -> Packed:
    """The features as bits over all rows, in lanes that are to be added up.

    The rows of a part follow each other, from its first word on and through all lanes of a word
    before the next: bit 64 * (lanes * word + lane) + i of the part is its row of that number.

    Shapes: as for `pack`; a lane takes the place of a mini-batch.
    Cost: as for `pack`, with one sort of `parts`.

    >>> true = np.array([[1, 0, 1]], bool)
    >>> pack_table(true, ~true, np.array([0, 1, 0]), n_parts=2).sizes.sum(axis=1).tolist()
    [2, 1]
    """
    parts = np.asarray(parts, np.int32)
    order = rows_by_part(parts, n_parts)
    rows = np.bincount(parts[order], minlength=n_parts).astype(np.int32)
    words = -(-rows // (WORD * TABLE_LANES))
    part_words = np.concatenate((np.zeros(1, np.int64), np.cumsum(words, dtype=np.int64)))
    columns, negated = _columns(_as_bytes(true), _as_bytes(false))
    bits = np.zeros((len(columns) + 1, part_words[-1], TABLE_LANES), np.uint64)
    one_lane = bits.reshape(len(bits), bits[0].size, 1)
    _fill_bits(columns, _places(order[None], rows[:, None], part_words * TABLE_LANES), one_lane)
    return Packed(len(true), TABLE_LANES, bits, negated, part_words, _lane_sizes(rows))


def _lane_sizes(rows: Int32s) -> Int32s:
    """How many rows of each part are in each lane of a table. Shapes: result (n_parts, lanes)."""
    filled, last = np.divmod(rows, WORD)  # words that are full, and the rows in the next
    lanes = np.arange(TABLE_LANES)
    full = (filled[:, None] + TABLE_LANES - 1 - lanes) // TABLE_LANES
    ends = np.where(lanes == filled[:, None] % TABLE_LANES, last[:, None], 0)
    return (WORD * full + ends).astype(np.int32)


def rows_by_part(parts: Int32s, n_parts: int) -> Int64s:
    """The rows that are in a part, those of the first part first."""
    # numpy sorts 16-bit integers by radix
    keys = parts.astype(np.int16) if n_parts < 2**15 else parts
    return np.argsort(keys, kind="stable")[np.count_nonzero(parts < 0) :]


def _as_bytes(matrix: Array) -> Bytes:
    """The matrix as bytes 0 and 1, without a copy if it is one of booleans."""
    return frozen(matrix, np.bool_).view(np.uint8)


def _columns(true: Bytes, false: Bytes) -> tuple[Bytes, Int64s]:
    """The literals to pack, and for each feature which one is its negation."""
    pairs = zip(true.view(np.bool_), false.view(np.bool_), strict=True)  # one stays in the cache
    unknown: Bools = np.array([not (yes | no).all() for yes, no in pairs], np.bool_)
    columns = frozen(np.concatenate((true, false[unknown])), np.uint8) if unknown.any() else true
    negated = np.full(len(true), len(columns), np.int64)
    negated[unknown] = len(true) + np.arange(np.count_nonzero(unknown))
    return columns, negated


def _by_part(parts: Int32s, batches: Int64s) -> tuple[Int64s, Int32s]:
    """The order of each mini-batch's rows by part, and the sorted parts; -1, no row, goes first."""
    if not parts.size:
        return np.zeros(batches.shape, np.int64), np.full(batches.shape, -1, np.int32)
    codes = np.where(batches >= 0, parts[batches], np.int32(-1))
    # numpy sorts 16-bit integers by radix
    small = codes.astype(np.int16) if parts.max() < 2**15 else codes
    order = np.argsort(small, axis=1, kind="stable")
    return order, np.take_along_axis(codes, order, axis=1)


def _places(rows: Int64s, sizes: Int32s, part_words: Int64s) -> Int64s:
    """The row that each bit stands for, -1 for none: each part from its own word on.

    Shapes: rows (N, m), by part, those of no part first; result (N, 64 * words).
    """
    places = np.full((len(rows), WORD * part_words[-1]), -1, np.int64)
    for target, row, size in zip(places, rows, sizes.T.tolist(), strict=False):
        begin = row.size - sum(size)
        for word, count in zip(part_words.tolist(), size, strict=False):
            target[word * WORD : word * WORD + count] = row[begin : begin + count]
            begin += count
    return places


def _fill_bits(columns: Bytes, places: Int64s, bits: Words64) -> None:
    """Set the bit of each place where the column of its row is 1, and last where it is a row.

    Eight columns share a byte a row, so that rows are looked up once for eight of them.
    Shapes: columns (n_columns, n_rows), places (N, 64 * words), bits (n_columns + 1, words, lanes
    >= N), zero on entry.
    """
    if not places.size:
        return
    here = bits[:, :, : len(places)]
    here[-1] = _packed(places >= 0)
    for first in range(0, len(columns), 8):
        some = columns[first : first + 8]
        codes = np.zeros(columns.shape[1] + 1, np.uint8)  # place -1 takes the last, which stays 0
        for begin in range(0, columns.shape[1], TILE):
            tile = codes[:-1][begin : begin + TILE]
            for column in some[::-1, begin : begin + TILE]:
                tile += tile  # a shift, but vectorised
                tile |= column
        placed = codes.take(places, mode="wrap")
        for bit in range(len(some)):
            here[first + bit] = _packed(placed & np.uint8(1 << bit))


def _packed(placed: Array) -> Words64:
    """What is not 0, as bits in words. Shapes: (N, 64 * words) -> (words, N)."""
    return np.packbits(placed, axis=1, bitorder="little").view("<u8").T
