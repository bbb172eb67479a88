"""Parquet and Arrow files: read whole, or cut at row groups and record batches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqrl._data.column import check_names
from sqrl._data.formats.file_format import UNREADABLE, FileFormat, FilePiece, Reading, damaged
from sqrl._data.formats.stored_file import File

MOST_ROWS = 1 << 22  # in a part, so that a single large file is still shared out
PAGE_BYTES = 1 << 20  # read ahead within a column
MAGIC = b"ARROW1"  # what an Arrow file begins with, and a stream does not
# What pandas calls an index without a name; its CSV files have an empty name there.
INDEX = "__index_level_0__"


@dataclass(frozen=True, slots=True)
class ColumnarSource:
    """A Parquet or Arrow file: the types of its columns, and what it calls them itself.

    `batches(source, piece, places, rows)` reads the columns in these places.
    """

    file: File
    kinds: Mapping[str, pa.DataType]
    own_names: tuple[str, ...]
    pieces: tuple[FilePiece, ...]
    batches: "Callable[[ColumnarSource, FilePiece, list[int], int], Iterator[pa.RecordBatch]]"

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of some row groups or record batches, of the wanted columns alone."""
        names = list(self.kinds)
        places = [names.index(name) for name in wanted.names]
        own = [self.own_names[place] for place in places]
        for batch in self.batches(self, piece, places, rows):
            yield batch.select(own).rename_columns(wanted.names)


def _row_groups(
    source: ColumnarSource, piece: FilePiece, places: list[int], rows: int
) -> Iterator[pa.RecordBatch]:
    kinds, text = list(source.kinds.values()), (pa.string(), pa.large_string())
    words = [source.own_names[place] for place in places if kinds[place] in text]
    with _open_parquet(source.file, words) as parquet:
        yield from parquet.iter_batches(
            batch_size=rows,
            row_groups=list(range(piece.first, piece.last)),
            columns=[source.own_names[place] for place in places],
            use_threads=False,
        )


def _arrow_batches(
    source: ColumnarSource,
    piece: FilePiece,
    places: list[int],
    rows: int,  # noqa: ARG001  a batch in the file cannot be taken apart before it is read
) -> Iterator[pa.RecordBatch]:
    """Record batches, mapped into memory unless they are packed."""
    return _record_batches(_open_arrow(source.file, places), piece.first, piece.last)


def read_parquet(data: pa.Buffer, where: str, reading: Reading) -> pa.Table:  # noqa: ARG001
    """The table in a Parquet file."""
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read()
    return table.rename_columns(_without_index(table.column_names))


def read_arrow_file(data: pa.Buffer, where: str, reading: Reading) -> pa.Table:  # noqa: ARG001
    """The table in an Arrow file or stream."""
    import pyarrow.ipc

    is_file = bytes(memoryview(data)[:6]) == MAGIC
    opened = pyarrow.ipc.open_file(data) if is_file else pyarrow.ipc.open_stream(data)
    table = opened.read_all()
    return table.rename_columns(_without_index(table.column_names))


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table as a Parquet file."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, compression="zstd")


def survey_parquet(file: File, reading: Reading) -> ColumnarSource:  # noqa: ARG001
    """What the footer of a Parquet file says."""
    try:
        with _open_parquet(file) as parquet:
            schema, footer = parquet.schema_arrow, parquet.metadata
            counts = [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]
    except UNREADABLE as error:
        raise damaged("The file is not Parquet, or is damaged", error, file.shown) from None
    pieces = _cut(file, counts, "row groups")
    return ColumnarSource(file, _kinds(schema, file), tuple(schema.names), pieces, _row_groups)


def survey_arrow(file: File, reading: Reading) -> ColumnarSource:  # noqa: ARG001
    """What an Arrow file says; a stream is read through for the number of its rows."""
    try:
        reader = _open_arrow(file, [])
        schema, is_stream = reader.schema, not hasattr(reader, "get_batch")
        counted = _open_arrow(file, [0]) if schema.names else reader
        counts = [batch.num_rows for batch in _record_batches(counted, 0, None)]
    except UNREADABLE as error:
        raise damaged("The file is not Arrow, or is damaged", error, file.shown) from None
    whole = (FilePiece(file.shown, sum(counts)),)
    pieces = whole if is_stream else _cut(file, counts, "record batches")
    return ColumnarSource(file, _kinds(schema, file), tuple(schema.names), pieces, _arrow_batches)


def _open_parquet(file: File, words: Sequence[str] = ()) -> Any:
    """The file, of which these columns are given as codes of words, as they mostly are stored."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(
        file.system.open_input_file(file.path),
        read_dictionary=list(words),
        pre_buffer=False,
        buffer_size=PAGE_BYTES,
        page_checksum_verification=True,
    )


def _open_arrow(file: File, fields: list[int]) -> Any:
    """A reader of an Arrow file or stream, of only these fields where any are given."""
    import pyarrow.ipc

    options = pyarrow.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    bytes_ = pa.memory_map(file.path) if file.is_local else file.system.open_input_file(file.path)
    is_file = bytes_.read(6) == MAGIC
    bytes_.seek(0)
    opened = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
    return opened(bytes_, options=options)


def _record_batches(reader: Any, first: int, last: int | None) -> Iterator[pa.RecordBatch]:
    if not hasattr(reader, "get_batch"):
        yield from reader
        return
    for at in range(first, reader.num_record_batches if last is None else last):
        yield reader.get_batch(at)


def _cut(file: File, counts: list[int], of: str) -> tuple[FilePiece, ...]:
    """Pieces of at most MOST_ROWS rows, unless a single row group has more."""
    starts, total = [0], 0
    for at, count in enumerate(counts):
        total += count
        if total > MOST_ROWS and at > starts[-1]:
            starts.append(at)
            total = count
    if len(starts) == 1:
        return (FilePiece(file.shown, sum(counts), 0, len(counts)),)
    ends = [*starts[1:], len(counts)]
    return tuple(
        FilePiece(f"{file.shown}, {of} {first} to {last - 1}", sum(counts[first:last]), first, last)
        for first, last in zip(starts, ends, strict=True)
    )


def _kinds(schema: pa.Schema, file: File) -> dict[str, pa.DataType]:
    names = _without_index(schema.names)
    check_names(names, file.shown)
    return dict(zip(names, schema.types, strict=True))


def _without_index(names: Sequence[str]) -> list[str]:
    return ["index" if name == INDEX else name for name in names]


PARQUET = FileFormat(
    "Parquet", (".parquet", ".pq"), read_parquet, survey_parquet, write=write_parquet
)
ARROW = FileFormat("Arrow", (".arrow", ".feather", ".ipc"), read_arrow_file, survey_arrow)
