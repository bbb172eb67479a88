"""Batches of a useful size out of batches of any size."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROWS_AT_ONCE = 1 << 18


def gathered(
    batches: Iterable[pa.RecordBatch], *, rows: int = ROWS_AT_ONCE
) -> Iterator[pa.RecordBatch]:
    """The rows in their order, in batches as near to `rows` rows as whole ones allow.

    Small batches are joined, since a call of a kernel costs the same for few rows as for
    thousands; large ones are cut, since memory is limited. Empty ones are left out.

    >>> small = pa.record_batch({"n": [1, 2, 3]})
    >>> [batch.num_rows for batch in gathered([small, small, small], rows=7)]
    [6, 3]
    >>> [batch.num_rows for batch in gathered([small], rows=2)]
    [2, 1]
    """
    held: list[pa.RecordBatch] = []
    n_held = 0
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            piece = batch.slice(start, rows)
            if n_held + piece.num_rows > rows:
                yield from _joined(held)
                held, n_held = [], 0
            held.append(piece)
            n_held += piece.num_rows
    yield from _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined
