"""JSON Lines: read whole, or once for the types of all fields and then in blocks of lines."""

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqrl._data.formats.file_format import FileFormat, FilePiece, Reading, damaged
from sqrl._data.formats.stored_file import File
from sqrl.errors import DataError

BLOCK_BYTES = 2**23  # no line of JSON may be longer than this
MOST_DEPTH = 100  # of lists and objects in one another; Arrow's reader dies of some thousands
# Arrow's reader dies of a line `null`, and refuses all others that are no objects.
NO_OBJECT = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|\n)[ \t\r]*[^\s{]")
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
ONE_OBJECT = 'write one JSON object a line: {"name": value}'
OPENING, CLOSING = b"[{", b"]}"
JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list"}


@dataclass(frozen=True, slots=True)
class JsonSource:
    """A file of JSON Lines and the types of its fields."""

    file: File
    kinds: Mapping[str, pa.DataType]
    pieces: tuple[FilePiece, ...]
    block_bytes: int

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in blocks of lines, with the types that are wanted."""
        del piece, rows
        for block in _blocks(self.file, self.block_bytes):
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
        raise _find_json_fault(data, where) or _not_json(error, where) from None
    return table


def survey_json(file: File, reading: Reading) -> JsonSource:
    """The fields of all lines, each with the type that all its values fit, and the number of rows.

    A field that a line lacks is missing there.
    """
    kinds: dict[str, pa.DataType] = {}
    n_rows = 0
    try:
        for block in _blocks(file, reading.block_bytes):
            table = _parse(block, None)
            table.validate(full=True)
            n_rows += table.num_rows
            for name, kind in zip(table.column_names, table.schema.types, strict=True):
                joined = join(kinds.get(name, pa.null()), kind)
                if joined is None:
                    raise pa.ArrowInvalid(f"Field {name!r} is {kinds[name]} first and {kind} later")
                kinds[name] = joined
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise _fault(file, error) from None
    except OSError as error:
        what = "The .gz file is damaged or was cut short" if file.is_packed else "It cannot be read"
        raise damaged(what, error, file.shown) from None
    return JsonSource(file, kinds, (FilePiece(file.shown, n_rows),), reading.block_bytes)


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


def _blocks(file: File, block_bytes: int) -> Iterator[bytes]:
    """The bytes of whole lines, about a block at a time; without blocks of blanks."""
    with file.stream() as stream:
        yield from _lines(stream, block_bytes, file.shown)


def _lines(stream: pa.NativeFile, block_bytes: int, where: str) -> Iterator[bytes]:
    """Whole lines, about a block at a time, all of which Arrow's reader survives."""
    rest, line = b"", 1
    while data := stream.read(block_bytes):
        end = data.rfind(b"\n") + 1
        block, rest = (rest + data[:end], data[end:]) if end else (b"", rest + data)
        if len(rest) > BLOCK_BYTES:
            raise pa.ArrowInvalid(f"a line has more than {BLOCK_BYTES:,} bytes")
        if block.strip():
            refuse_deadly(block, where, line)
            yield block
        line += block.count(b"\n")
    if rest.strip():
        refuse_deadly(rest, where, line)
        yield rest


def refuse_deadly(block: bytes, where: str, line: int = 1) -> None:
    r"""Raise where lines would end the process that reads them: a `null`, or a deep nest.

    >>> refuse_deadly(b'{"x": [1]}\n{}\n', "doctest")
    >>> refuse_deadly(b'{"x": 1}\nnull\n', "doctest")
    Traceback (most recent call last):
        ...
    sqrl.errors.DataError: The line is a JSON null, not an object.
      where: doctest, line 2
      fix:   write one JSON object a line: {"name": value}
    """
    found = NO_OBJECT.search(block)
    if found is not None:
        number = line + block.count(b"\n", 0, found.end() - 1)
        raise _find_json_fault(pa.py_buffer(block), where, line) or DataError(
            "The line does not begin with '{'.",
            where=f"{where}, line {number}",
            fix=ONE_OBJECT,
        )
    if block.count(b"{") + block.count(b"[") - block.count(b"\n") <= MOST_DEPTH:
        return
    for number, text in enumerate(block.split(b"\n"), start=line):
        if _depth(text) > MOST_DEPTH and _depth(STRING.sub(b"", text)) > MOST_DEPTH:
            raise _too_deep(f"{where}, line {number}")


def _depth(text: bytes) -> int:
    """How deep lists and objects lie in one another, letters of strings taken for such too."""
    if text.count(b"{") + text.count(b"[") <= MOST_DEPTH:
        return 0
    letters = np.frombuffer(text, np.uint8)
    opened, closed = (np.isin(letters, list(ends)).astype(np.int64) for ends in (OPENING, CLOSING))
    return int(np.cumsum(opened - closed).max(initial=0))


def _too_deep(where: str) -> DataError:
    what = f"The line has more than {MOST_DEPTH} lists and objects in one another."
    return DataError(what, where=where, fix="write values that are flat")


def _parse(block: bytes, schema: pa.Schema | None) -> pa.Table:
    import pyarrow.json

    options = pyarrow.json.ReadOptions(block_size=len(block) + 1, use_threads=False)
    behaviour = "infer" if schema is None else "ignore"
    parse = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behaviour)
    return pyarrow.json.read_json(pa.BufferReader(block), read_options=options, parse_options=parse)


def _fault(file: File, error: Exception) -> DataError:
    with file.whole() as data:
        return _find_json_fault(data, file.shown) or _not_json(error, file.shown)


def _find_json_fault(  # noqa: PLR0911  (one for each kind of fault)
    data: pa.Buffer, where: str, first: int = 1
) -> DataError | None:
    """The first line that is not a JSON object in UTF-8 with the types of the lines before."""
    types: dict[str, str] = {}
    for number, line in enumerate(io.BufferedReader(pa.BufferReader(data)), start=first):
        place = f"{where}, line {number}"
        try:
            row = json.loads(line) if line.strip() else {}
        except UnicodeDecodeError:
            return DataError("The line is not UTF-8 text.", where=place, fix="save it as UTF-8")
        except json.JSONDecodeError as error:
            what = f"The line is not JSON: {error.msg} at character {error.colno}."
            return DataError(what, where=place, fix="write one JSON object a line")
        except RecursionError:
            return _too_deep(place)
        except ValueError:  # of Python's, which reads no numbers of thousands of digits
            fix = "write a shorter number, or the text in quotes"
            return DataError("The line has a number of too many digits.", where=place, fix=fix)
        if not isinstance(row, dict):
            what = f"The line is a JSON {_json_type(row)}, not an object."
            return DataError(what, where=place, fix=ONE_OBJECT)
        for name, value in row.items():
            seen = _json_type(value)
            expected = types.setdefault(name, seen) if value is not None else seen
            if seen != expected:
                what = f"Field {name!r} is {expected} in earlier lines and {seen} here."
                return DataError(what, where=place, fix="give the field one type throughout")
    return None


def _json_type(value: object) -> str:
    return "null" if value is None else JSON_TYPES.get(type(value), "object")


def _not_json(error: Exception, where: str) -> DataError:
    reason = str(error).splitlines()[0].rstrip(".")
    what = f"The file is not JSON Lines: {reason}."
    return DataError(what, where=where, fix="write one JSON object a line")


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
