"""Parquet and Arrow files: cut at row groups or record batches, read without holding the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqrl._data.table import _check_names
from sqrl._scan.files.find import File
from sqrl._scan.files.parts import UNREADABLE, Piece, Source, checked, damaged

MOST_ROWS = 1 << 22  # in a part, so that a single large file is still shared out
PAGE_BYTES = 1 << 20  # read ahead within a column
INDEX = "__index_level_0__"  # what pandas calls an index without a name


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """A Parquet file: the types of its columns, and what it calls them itself."""

    file: File
    kinds: Mapping[str, pa.DataType]
    own_names: tuple[str, ...]
    pieces: tuple[Piece, ...]

    def read(self, piece: Piece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of some row groups, of which only the wanted columns are ever in memory."""
        places = _places(self.kinds, wanted)
        names = [self.own_names[place] for place in places]
        words = [self.own_names[place] for place in places if _is_text(self._kind(place))]
        with _open_parquet(self.file, words) as parquet:
            batches = parquet.iter_batches(
                batch_size=rows,
                row_groups=list(range(piece.first, piece.last)),
                columns=names,
                use_threads=False,
            )
            for batch in batches:
                yield batch.select(names).rename_columns(wanted.names)

    def _kind(self, place: int) -> pa.DataType:
        return list(self.kinds.values())[place]


@dataclass(frozen=True, slots=True)
class ArrowSource:
    """An Arrow file or stream: the types of its columns, and what it calls them itself."""

    file: File
    kinds: Mapping[str, pa.DataType]
    own_names: tuple[str, ...]
    pieces: tuple[Piece, ...]

    def read(self, piece: Piece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of some record batches, mapped into memory unless they are packed."""
        del rows  # a batch in the file cannot be taken apart before it is read
        places = _places(self.kinds, wanted)
        names = [self.own_names[place] for place in places]
        reader = _open_arrow(self.file, places)
        for batch in _record_batches(reader, piece.first, piece.last):
            yield batch.select(names).rename_columns(wanted.names)


def survey_parquet(file: File) -> ParquetSource:
    """What the footer of a Parquet file says."""
    try:
        with _open_parquet(file) as parquet:
            schema, footer = parquet.schema_arrow, parquet.metadata
            counts = [footer.row_group(at).num_rows for at in range(footer.num_row_groups)]
    except UNREADABLE as error:
        raise damaged("The file is not Parquet, or is damaged", error, file.shown) from None
    kinds = _kinds(schema, file)
    return ParquetSource(file, kinds, tuple(schema.names), _cut(file, counts, "row groups"))


def survey_arrow(file: File) -> ArrowSource:
    """What an Arrow file says; a stream is read through for the number of its rows."""
    try:
        reader = _open_arrow(file, [])
        schema, is_stream = reader.schema, not hasattr(reader, "get_batch")
        counted = _open_arrow(file, [0]) if schema.names else reader
        counts = [batch.num_rows for batch in _record_batches(counted, 0, None)]
    except UNREADABLE as error:
        raise damaged("The file is not Arrow, or is damaged", error, file.shown) from None
    whole = (Piece(file.shown, sum(counts)),)
    pieces = whole if is_stream else _cut(file, counts, "record batches")
    return ArrowSource(file, _kinds(schema, file), tuple(schema.names), pieces)


def verify(source: Source, rows: int) -> None:
    """Read all rows of all columns once; raise where that cannot be done."""
    own = pa.schema(list(source.kinds.items()))
    for piece in source.pieces:
        for _ in checked(source, piece, own, rows):
            pass


def join(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both; None where there is none.

    >>> str(join(pa.int32(), pa.float64())), join(pa.int32(), pa.string())
    ('double', None)
    """
    if first == second:
        return first
    plain = [each.value_type if pa.types.is_dictionary(each) else each for each in (first, second)]
    schemas = [pa.schema([("values", each)]) for each in plain]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _is_text(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


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
    is_file = bytes_.read(6) == b"ARROW1"
    bytes_.seek(0)
    opened = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
    return opened(bytes_, options=options)


def _record_batches(reader: Any, first: int, last: int | None) -> Iterator[pa.RecordBatch]:
    if not hasattr(reader, "get_batch"):
        yield from reader
        return
    for at in range(first, reader.num_record_batches if last is None else last):
        yield reader.get_batch(at)


def _cut(file: File, counts: list[int], of: str) -> tuple[Piece, ...]:
    """Pieces of at most MOST_ROWS rows, unless a single row group has more."""
    starts, total = [0], 0
    for at, count in enumerate(counts):
        total += count
        if total > MOST_ROWS and at > starts[-1]:
            starts.append(at)
            total = count
    if len(starts) == 1:
        return (Piece(file.shown, sum(counts), 0, len(counts)),)
    ends = [*starts[1:], len(counts)]
    return tuple(
        Piece(f"{file.shown}, {of} {first} to {last - 1}", sum(counts[first:last]), first, last)
        for first, last in zip(starts, ends, strict=True)
    )


def _kinds(schema: pa.Schema, file: File) -> dict[str, pa.DataType]:
    names = ["index" if name == INDEX else name for name in schema.names]
    _check_names(names, file.shown)
    return dict(zip(names, schema.types, strict=True))


def _places(kinds: Mapping[str, pa.DataType], wanted: pa.Schema) -> list[int]:
    names = list(kinds)
    return [names.index(name) for name in wanted.names]
