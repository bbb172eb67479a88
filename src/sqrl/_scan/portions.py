"""Rows divided into portions by their entity, each of which can be computed by itself.

What follows from the rows before needs all rows of an entity, in whatever parts they lie. Portions
are of whole entities, by a hash, so that no bit of what is computed depends on the parts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqrl._data.arrow_arrays import from_numpy, from_values, to_numpy
from sqrl._data.column import Column, from_arrow, words_of
from sqrl._data.table import Table
from sqrl._kernels.arrays import Int64s
from sqrl._kernels.plain.keys import mix
from sqrl._language.tree import Node
from sqrl._rows.rows import GOLDEN
from sqrl._rows.sequences import RowOrder, columns_behind, with_sequences
from sqrl._scan.facts import Facts
from sqrl._scan.job import Chunk

COPIES = 8  # of a portion in memory at once: as it is read, sorted, and what is made of it
MOST_PORTIONS = 1024
ROW = ""  # the name of the column with the rows' numbers, which no column of data can have


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that follow from rows before, and what it takes to compute them."""

    names: tuple[str, ...]
    row_order: RowOrder
    statistics: dict[str, Node]

    @property
    def behind(self) -> frozenset[str]:
        """The columns of the data that they are computed of."""
        return columns_behind(self.names, self.row_order, self.statistics)

    @property
    def stand_in(self) -> str:
        """A column of the data to see its rows by, where no column of it is asked for."""
        return self.row_order.order[0]

    def compute(self, table: Table) -> Iterator[Column]:
        """The columns, of a table with all rows of its entities."""
        found = with_sequences(table, self.names, self.row_order, self.statistics)
        return (found[name] for name in self.names)


def portions_for(n_rows: int, wanted: Wanted, memory: int) -> int:
    """Into how many portions rows are divided, each to be held in memory; one of no entity.

    >>> portions_for(10**8, Wanted(("lag(x)",), RowOrder(("t",), ("who",)), {}), 1 << 30)
    24
    """
    n_bytes = 8 * n_rows * (len(wanted.behind) + 1) * COPIES
    is_divided = bool(wanted.row_order.entity)
    return min(MOST_PORTIONS, max(1, -(-n_bytes // memory))) if is_divided else 1


def divide(
    chunk: Chunk, names: Iterable[str], row_order: RowOrder, n_portions: int
) -> list[pa.RecordBatch]:
    """A batch for each portion: its rows' numbers, and these columns of them.

    Rows whose order or entity is missing are in none.
    """
    table, chosen = chunk.table, sorted(names)
    known = np.ones(table.n_rows, np.bool_)
    for name in row_order.columns:
        known &= ~table[name].missing()
    portion = np.where(known, portions_of(table, row_order, n_portions), n_portions)
    rows = np.argsort(portion, kind="stable")
    ends = np.searchsorted(portion[rows], np.arange(n_portions + 1))
    arrays = [from_numpy(chunk.first + rows.astype(np.int64))]
    arrays += [_plain(table[name].take(rows)) for name in chosen]
    whole = pa.RecordBatch.from_arrays(arrays, names=[ROW, *chosen])
    return [whole.slice(ends[place], ends[place + 1] - ends[place]) for place in range(n_portions)]


def portions_of(table: Table, row_order: RowOrder, n_portions: int) -> Int64s:
    """The portion that each row is in, by a hash of its entity."""
    key = np.zeros(table.n_rows, np.uint64)
    for name in row_order.entity:
        key = mix((key + words_of(table[name])) * GOLDEN + np.uint64(1))
    return (key % np.uint64(n_portions)).astype(np.int64)


def portion_table(
    batches: list[pa.RecordBatch], facts: Facts, names: Iterable[str]
) -> tuple[Table, Int64s]:
    """The rows of batches as a table with the kinds of the whole, and their numbers."""
    columns = {}
    for name in names:
        kind, data = facts.whole[name].kind, [batch.column(name) for batch in batches]
        if kind == "category":
            columns[name] = from_arrow(name, pa.chunked_array(data, pa.string()))
        else:
            parts = [to_numpy(values, np.float64, np.nan) for values in data]
            columns[name] = Column(name, kind, np.concatenate([np.empty(0), *parts]))
    numbers = [to_numpy(batch.column(ROW), np.int64, 0) for batch in batches]
    rows: Int64s = np.concatenate([np.empty(0, np.int64), *numbers])
    return Table(columns, rows.size, facts.source), rows


def _plain(column: Column) -> pa.Array:
    """The column as words, or as the numbers that it is held in."""
    if column.kind != "category":
        return from_numpy(column.values)
    used, codes = np.unique(column.values, return_inverse=True)
    words = [column.categories[code] if code >= 0 else None for code in used.tolist()]
    return from_values(words, pa.string()).take(from_numpy(codes.astype(np.int64)))
