"""JSON Lines: read whole, or once for the types of all fields and then in blocks of lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from sqrl._data.formats.cut_text import UNCUT, cut_lines, side_by_side
from sqrl._data.formats.file_format import FileFormat, FilePiece, Reading, damaged
from sqrl._data.formats.json_faults import find_json_fault, not_json, refuse_deadly
from sqrl._data.formats.stored_file import File
from sqrl.errors import DataError

BLOCK_BYTES = 2**23  # no line of JSON may be longer than this


@dataclass(frozen=True, slots=True)
class JsonSource:
    """A file of JSON Lines and the types of its fields."""

    file: File
    kinds: Mapping[str, pa.DataType]
    pieces: tuple[FilePiece, ...]
    block_bytes: int

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in blocks of lines, with the types that are wanted."""
        del rows
        for block in _blocks(self.file, piece, self.block_bytes):
            table = _parse(block, wanted)
            yield from table.select(wanted.names).combine_chunks().to_batches()


def read_json_lines(data: pa.Buffer, where: str, reading: Reading) -> pa.Table:  # noqa: ARG001
    """The table with one row for each line, a field that a line lacks being missing."""
    import pyarrow.json

    if not bytes(memoryview(data)[:BLOCK_BYTES]).strip():
        raise DataError("The file is empty.", where=where, fix="write one JSON object a line")
    options = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    try:
        with pa.BufferReader(data) as stream:
            for _ in _lines(stream, BLOCK_BYTES, where):
                pass
        table = pyarrow.json.read_json(pa.BufferReader(data), read_options=options)
        table.validate(full=True)
        _ = table.column_names
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise find_json_fault(data, where) or not_json(error, where) from None
    return table


def survey_json(file: File, reading: Reading) -> JsonSource:
    """The fields of all lines, each with the type that all its values fit, and the number of rows.

    A field that a line lacks is missing there.
    """
    found = _survey_pieces(file, reading)
    if found is not None:
        return found
    whole = FilePiece(file.shown, 0)
    try:
        seen = _survey_piece(file, whole, reading.block_bytes, BLOCK_BYTES)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _fault(file, error) from None
    except OSError as error:
        what = "The .gz file is damaged or was cut short" if file.is_packed else "It cannot be read"
        raise damaged(what, error, file.shown) from None
    return JsonSource(file, seen.kinds, (replace(whole, n_rows=seen.n_rows),), reading.block_bytes)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What lines that were read through say: the types of fields, and how many rows there are."""

    kinds: dict[str, pa.DataType]
    n_rows: int


def _survey_pieces(file: File, reading: Reading) -> JsonSource | None:
    """What a large file says, read in pieces; None where it has a fault or is to be read whole."""
    # Whether a longer line is refused depends on the block it begins in.
    longest = BLOCK_BYTES - reading.block_bytes
    kinds: dict[str, pa.DataType] = {}
    try:
        pieces = cut_lines(file)
        blocks = reading.block_bytes
        seen = side_by_side([partial(_survey_piece, file, p, blocks, longest) for p in pieces])
        for each in seen:
            _widen(kinds, each.kinds)
    except (DataError, *UNCUT):
        return None
    counted = tuple(replace(p, n_rows=s.n_rows) for p, s in zip(pieces, seen, strict=True))
    return JsonSource(file, kinds, counted, blocks) if pieces else None


def _survey_piece(file: File, piece: FilePiece, block_bytes: int, longest: int) -> _Seen:
    kinds: dict[str, pa.DataType] = {}
    n_rows = 0
    for block in _blocks(file, piece, block_bytes, longest):
        table = _parse(block, None)
        table.validate(full=True)
        n_rows += table.num_rows
        _widen(kinds, dict(zip(table.column_names, table.schema.types, strict=True)))
    return _Seen(kinds, n_rows)


def _widen(kinds: dict[str, pa.DataType], more: Mapping[str, pa.DataType]) -> None:
    """Let the types of fields fit those of later lines too; raises where that cannot be."""
    for name, kind in more.items():
        joined = join(kinds.get(name, pa.null()), kind)
        if joined is None:
            raise pa.ArrowInvalid(f"Field {name!r} is {kinds[name]} first and {kind} later")
        kinds[name] = joined


def join(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that Arrow gives values of both; None where it refuses them.

    >>> str(join(pa.int64(), pa.float64())), join(pa.int64(), pa.string())
    ('double', None)
    """
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if pa.types.is_list(first) and pa.types.is_list(second):
        inner = join(first.value_type, second.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_struct(first) and pa.types.is_struct(second):
        return _join_structs(first, second)
    for loose, strict in ((pa.float64(), pa.int64()), (pa.string(), pa.timestamp("s"))):
        if {first, second} == {loose, strict}:
            return loose
    return None


def _join_structs(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    kinds = {inner.name: inner.type for inner in first}
    for inner in second:
        joined = join(kinds.get(inner.name, pa.null()), inner.type)
        if joined is None:
            return None
        kinds[inner.name] = joined
    return pa.struct(list(kinds.items()))


def _blocks(
    file: File, piece: FilePiece, block_bytes: int, longest: int = BLOCK_BYTES
) -> Iterator[bytes]:
    """The bytes of whole lines, about a block at a time; without blocks of blanks."""
    with file.stream(piece.first, piece.last) as stream:
        yield from _lines(stream, block_bytes, file.shown, longest)


def _lines(
    stream: pa.NativeFile, block_bytes: int, where: str, longest: int = BLOCK_BYTES
) -> Iterator[bytes]:
    """Whole lines, about a block at a time, all of which Arrow's reader survives."""
    rest, line = b"", 1
    while data := stream.read(block_bytes):
        end = data.rfind(b"\n") + 1
        block, rest = (rest + data[:end], data[end:]) if end else (b"", rest + data)
        if len(rest) > longest:
            raise pa.ArrowInvalid(f"a line has more than {longest:,} bytes")
        if block.strip():
            refuse_deadly(block, where, line)
            yield block
        line += block.count(b"\n")
    if rest.strip():
        refuse_deadly(rest, where, line)
        yield rest


def _parse(block: bytes, schema: pa.Schema | None) -> pa.Table:
    import pyarrow.json

    options = pyarrow.json.ReadOptions(block_size=len(block) + 1, use_threads=False)
    behaviour = "infer" if schema is None else "ignore"
    parse = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behaviour)
    return pyarrow.json.read_json(pa.BufferReader(block), read_options=options, parse_options=parse)


def _fault(file: File, error: Exception) -> DataError:
    with file.whole() as data:
        return find_json_fault(data, file.shown) or not_json(error, file.shown)


JSON_LINES = FileFormat(
    "JSON Lines",
    (".jsonl", ".ndjson"),
    read_json_lines,
    survey_json,
    join=join,
    may_be_packed=True,
    may_lack=True,
    is_read_through=True,
)
