"""Files: tables of any number and size, as parts that are read a few rows at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqrl._data.column import check_names
from sqrl._data.formats import format_of
from sqrl._data.formats.delimited import check_options
from sqrl._data.formats.file_format import (
    SMALL_BLOCK_BYTES,
    FileFormat,
    FilePiece,
    FileSource,
    Reading,
    checked,
    verify,
)
from sqrl._data.formats.stored_file import File
from sqrl._scan.files.find import PathLike, find_files
from sqrl._scan.files.one_schema import one_schema, partition_fields, partition_values
from sqrl.errors import DataError, unknown

ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class FilePart:
    """A piece of a file. `schema` has the types of the whole, `constants` what the folders say."""

    source: FileSource
    piece: FilePiece
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

    @property
    def stamp(self) -> tuple[str, int, int]:
        """What differs where the file was changed: the part's name, the file's size and time."""
        info = self.source.file.system.get_file_info(self.source.file.path)
        return self.name, info.size or 0, info.mtime_ns or 0

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


@dataclass(frozen=True, slots=True)
class Files:
    """Tables in files: their parts in the order of the rows, and the damaged files left out."""

    name: str
    parts: tuple[FilePart, ...]
    skipped: tuple[str, ...]
    names: tuple[str, ...]


def open_files(
    path: PathLike | Sequence[PathLike],
    *,
    rows_at_once: int = ROWS_AT_ONCE,
    separator: str | None = None,
    encoding: str | None = None,
    skip_damaged: bool = False,
    block_bytes: int = SMALL_BLOCK_BYTES,
) -> Files:
    r"""The tables of a path, glob, folder, list or URI as parts, with one schema for all.

    Text is read through once for its types, `block_bytes` at a time. With `skip_damaged` every file
    is read through, and those with a fault are left out.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("n\n1\n2\n")
    ...     _ = Path(folder, "b.csv").write_text("n\n3.5\n")
    ...     files = open_files(f"{folder}/*.csv")
    ...     rows = [row for part in files.parts for batch in part.read() for row in batch["n"]]
    >>> [part.n_rows for part in files.parts], [row.as_py() for row in rows]
    ([2, 1], [1.0, 2.0, 3.5])
    """
    name = _name(path)
    check_options(separator, encoding, where=name)
    files = find_files(path)
    form = _one_format(files, name)
    reading = Reading(separator, encoding, block_bytes)
    sources, skipped = _survey(files, form, reading, rows_at_once, skip_damaged)
    if not any(source.kinds or source.pieces[0].n_rows for source in sources):
        if skipped:
            what = f"None of the files can be read. {skipped[0]}"
            raise DataError(what, where=name, fix="write or fetch them again")
        raise DataError("The file is empty.", where=name, fix="add a header and rows")
    schema = one_schema(sources, form.join, form.settle, may_lack=form.may_lack)
    folder_fields = partition_fields(sources, schema.names)
    for field in folder_fields:
        schema = schema.append(field)
    parts = tuple(
        FilePart(source, piece, schema, partition_values(source, folder_fields), rows_at_once)
        for source in sources
        for piece in source.pieces
    )
    return Files(name, parts, tuple(skipped), tuple(schema.names))


def _survey(
    files: list[File], form: FileFormat, reading: Reading, rows_at_once: int, skip_damaged: bool
) -> tuple[list[FileSource], list[str]]:
    """The files that can be read, and a sentence for each that cannot."""
    sources: list[FileSource] = []
    skipped: list[str] = []
    for file in files:
        try:
            source = form.look_at(file, reading)
            check_names(list(source.kinds), file.shown)
            if skip_damaged and not form.is_read_through:
                verify(source, rows_at_once)
            sources.append(source)
        except DataError as error:
            if not skip_damaged:
                raise
            skipped.append(f"{error.where or file.shown} was left out: {error.what}")
    return sources, skipped


def _name(path: PathLike | Sequence[PathLike]) -> str:
    if isinstance(path, str) or not isinstance(path, Sequence):
        return str(path)
    more = f" and {len(path) - 1} more" if len(path) > 1 else ""
    return f"{path[0]}{more}" if path else "no files"


def _one_format(files: list[File], name: str) -> FileFormat:
    if not files:
        raise DataError("There is no file in the list.", where=name, fix="name at least one file")
    found = {file.shown: format_of(Path(file.path)) for file in files}
    firsts: dict[str, str] = {}
    for shown, form in found.items():
        firsts.setdefault(form.name, shown)
    if len(firsts) > 1:
        listed = ", ".join(f"{name} ({shown})" for name, shown in firsts.items())
        what = f"The files are of more than one format: {listed}."
        raise DataError(what, where=name, fix="name files of one format, such as '*.parquet'")
    return next(iter(found.values()))
