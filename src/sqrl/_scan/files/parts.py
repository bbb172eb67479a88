"""FilePart: some rows of a file, read a limited number at a time with the types of the whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqrl._data.formats.pieces import Piece, Source, checked
from sqrl.errors import DataError, unknown


@dataclass(frozen=True, slots=True)
class FilePart:
    """A piece of a file. `schema` has the types of the whole, `constants` what the folders say."""

    source: Source
    piece: Piece
    schema: pa.Schema
    constants: tuple[tuple[str, Any], ...]
    rows_at_once: int

    @property
    def name(self) -> str:
        """The path, and which row groups where it is not all of them."""
        return self.piece.name

    @property
    def n_rows(self) -> int:
        """How many rows the part has."""
        return self.piece.n_rows

    def read(self, columns: frozenset[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, at most `rows_at_once` at a time; columns None is all.

        The columns are in the order of the schema. Without columns a batch still has rows.
        """
        for name in sorted((columns or frozenset()) - set(self.schema.names)):
            raise unknown("column", name, self.schema.names, where=self.name)
        wanted = [field for field in self.schema if columns is None or field.name in columns]
        n_read = 0
        for batch in self._batches(wanted):
            n_read += batch.num_rows
            for start in range(0, batch.num_rows, self.rows_at_once):
                yield self._shaped(batch.slice(start, self.rows_at_once), wanted)
        if n_read != self.n_rows:
            what = f"{n_read:,} rows were read where {self.n_rows:,} had been counted."
            fix = "do not change the file while it is read; if it is damaged, write it again"
            raise DataError(what, where=self.name, fix=fix)

    def _batches(self, wanted: list[pa.Field]) -> Iterator[pa.RecordBatch]:
        constant = dict(self.constants)
        inside = pa.schema([field for field in wanted if field.name not in constant])
        if not inside.names:
            yield from blank(self.n_rows, self.rows_at_once)
        elif self.n_rows:
            yield from checked(self.source, self.piece, inside, self.rows_at_once)

    def _shaped(self, batch: pa.RecordBatch, wanted: list[pa.Field]) -> pa.RecordBatch:
        if not wanted:
            return batch.select([])
        constant = dict(self.constants)
        arrays = []
        for field in wanted:
            if field.name in constant:
                value = pa.scalar(constant[field.name], field.type)
                arrays.append(pa.repeat(value, batch.num_rows))
            else:
                arrays.append(_cast(batch.column(field.name), field, self.name))
        return pa.RecordBatch.from_arrays(arrays, names=[field.name for field in wanted])


def blank(n_rows: int, rows_at_once: int) -> Iterator[pa.RecordBatch]:
    """Batches with so many rows and no columns.

    >>> [batch.num_rows for batch in blank(5, 2)]
    [2, 2, 1]
    """
    for start in range(0, n_rows, rows_at_once):
        count = min(rows_at_once, n_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(count)], names=[""]).select([])


def _cast(values: pa.Array, field: pa.Field, where: str) -> pa.Array:
    of = values.type
    if of == field.type or (pa.types.is_dictionary(of) and of.value_type == field.type):
        return values
    try:
        return values.cast(field.type)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0].rstrip(".")
        what = f"Column {field.name!r} cannot be made {field.type}, as other files have it: "
        fix = "give the column one type in all files"
        raise DataError(f"{what}{reason}.", where=where, fix=fix) from None
