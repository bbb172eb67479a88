"""Delimited text that is read once for the types of all its rows, then in blocks."""

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from sqrl._data.column import check_names
from sqrl._data.formats.delimited import (
    BLOCK_BYTES,
    MISSING_MARKERS,
    SAMPLE_BYTES,
    detect_encoding,
    detect_separator,
    find_fault,
    read_delimited,
    refuse_binary,
    sample_of,
    undecodable,
    unsplit,
)
from sqrl._data.formats.delimited_types import Rungs, all_rungs, join, remaining, settle
from sqrl._data.formats.file_format import FileFormat, FilePiece, Reading, damaged
from sqrl._data.formats.stored_file import File, plain_suffix
from sqrl.errors import DataError

BLANK = b" \t\r\n\0\xff\xfe\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class CsvSource:
    """A delimited text: the types that each column can have, and what its header says."""

    file: File
    kinds: Mapping[str, Rungs]
    own_names: tuple[str, ...]
    pieces: tuple[FilePiece, ...]
    separator: str
    encoding: str
    block_bytes: int

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in blocks, with the types that are wanted."""
        del piece, rows
        places = [list(self.kinds).index(name) for name in wanted.names]
        names = [self.own_names[place] for place in places]
        types = dict(zip(names, wanted.types, strict=True))
        with self.file.stream() as stream, _open(self, stream, types, names) as reader:
            for batch in reader:
                yield batch.rename_columns(wanted.names)


@dataclass(slots=True)
class _Watched:
    """A stream that notes in passing what an Arrow reader lets through without a word."""

    stream: pa.NativeFile
    closed: bool = False
    n_quotes: int = 0
    has_nul: bool = False
    is_blank: bool = True

    def read(self, count: int) -> bytes:
        data: bytes = self.stream.read(count)
        self.n_quotes += data.count(b'"')
        self.has_nul = self.has_nul or b"\0" in data
        self.is_blank = self.is_blank and not data.strip(BLANK)
        return data

    def close(self) -> None:
        self.stream.close()
        self.closed = True


def read_text(data: pa.Buffer, where: str, reading: Reading) -> pa.Table:
    """The rows of a delimited text."""
    separator = _separator(where, reading)
    return read_delimited(data, where=where, separator=separator, encoding=reading.encoding)


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a table as comma-separated text."""
    import pyarrow.csv

    pyarrow.csv.write_csv(table, path)


def survey_csv(file: File, reading: Reading) -> CsvSource:
    """The columns of a delimited text, the types that all its values fit, and how many rows it has.

    The encoding is the one that the byte order mark tells, else UTF-8, else Windows-1252, as far
    as the whole of the text fits.
    """
    try:
        with file.stream() as stream:
            head = stream.read(SAMPLE_BYTES + 1)
        if not head:
            return CsvSource(file, {}, (), (FilePiece(file.shown, 0),), ",", "utf-8", BLOCK_BYTES)
        for encoding in _encodings(head, reading.encoding):
            try:
                return _survey(file, head, encoding, reading)
            except UnicodeError:
                continue
    except OSError as error:
        what = "The .gz file is damaged or was cut short" if file.is_packed else "It cannot be read"
        raise damaged(what, error, file.shown) from None
    raise undecodable(reading.encoding, file.shown)


def _separator(path: str, reading: Reading) -> str | None:
    """The separator that is given, else the one that the suffix tells."""
    return reading.separator or ("\t" if plain_suffix(PurePath(path)) == ".tsv" else None)


def _encodings(head: bytes, given: str | None) -> tuple[str, ...]:
    if given is not None:
        return (given,)
    marked = detect_encoding(pa.py_buffer(head[:4]))
    return (marked,) if marked.startswith(("utf-16", "utf-32")) else ("utf-8", "cp1252")


def _survey(file: File, head: bytes, encoding: str, reading: Reading) -> CsvSource:
    sample = sample_of(pa.py_buffer(head), encoding)
    separator = _separator(file.path, reading) or detect_separator(sample)
    draft = CsvSource(file, {}, (), (), separator, encoding, reading.block_bytes)
    has_one_line = len(head) <= SAMPLE_BYTES and not set("\r\n") & set(sample)
    if has_one_line:
        head.decode(encoding)  # raises where it does not fit; the sample has marks in its place

    def start() -> pa.NativeFile:
        # Arrow wants a header's line to end.
        return pa.BufferReader(f"{sample}\n".encode(encoding)) if has_one_line else file.stream()

    watched = _Watched(start())
    try:
        with start() as stream, _open(draft, stream, {}, []) as reader:
            own_names = tuple(reader.schema.names)
        rungs, n_rows = _climb(draft, watched, own_names)
    except pa.ArrowInvalid as error:
        if "invalid UTF8 data" in str(error):
            raise UnicodeError from None
        if "straddl" in str(error) and reading.block_bytes < BLOCK_BYTES:
            return _survey(file, head, encoding, replace(reading, block_bytes=BLOCK_BYTES))
        raise _find_fault(draft) or unsplit(error, file.shown) from None
    _refuse_unseen(draft, watched)
    names = [name.strip() for name in own_names]
    names[0] = names[0] or "index"
    check_names(names, file.shown)
    return replace(
        draft,
        kinds=dict(zip(names, rungs, strict=True)),
        own_names=own_names,
        pieces=(FilePiece(file.shown, n_rows),),
    )


def _climb(source: CsvSource, watched: _Watched, names: tuple[str, ...]) -> tuple[list[Rungs], int]:
    """The types that the values of each column fit, and the number of rows."""
    rungs, n_rows = [all_rungs()] * len(names), 0
    types = dict.fromkeys(names, pa.string())
    with pa.PythonFile(watched, mode="r") as stream, _open(source, stream, types, []) as reader:
        for batch in reader:
            n_rows += batch.num_rows
            rungs = [remaining(*pair) for pair in zip(batch.columns, rungs, strict=True)]
    return rungs, n_rows


def _refuse_unseen(source: CsvSource, watched: _Watched) -> None:
    """Raise for NUL bytes, for nothing but blanks, and for a quote that never closes."""
    is_wide = codecs.lookup(source.encoding).name.startswith(("utf-16", "utf-32"))
    if watched.is_blank or (watched.has_nul and not is_wide) or watched.n_quotes % 2:
        fault = _find_fault(source)
        if fault is not None:
            raise fault


def _find_fault(source: CsvSource) -> DataError | None:
    """The first row that is amiss; raises where the file is not even text."""
    with source.file.whole() as data:
        refuse_binary(data, source.encoding, where=source.file.shown)
        return find_fault(data, source.separator, source.encoding, source.file.shown)


def _open(source: CsvSource, stream: Any, types: dict[str, pa.DataType], names: list[str]) -> Any:
    """A reader of blocks with these types and columns; none are all."""
    import pyarrow.csv

    return pyarrow.csv.open_csv(
        stream,
        read_options=pyarrow.csv.ReadOptions(
            encoding=source.encoding, block_size=source.block_bytes, use_threads=False
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=source.separator, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=list(MISSING_MARKERS),
            strings_can_be_null=True,
            column_types=types,
            include_columns=names,
        ),
    )


DELIMITED = FileFormat(
    "delimited text",
    (".csv", ".tsv", ".txt"),
    read_text,
    survey_csv,
    write=write_csv,
    join=join,
    settle=settle,
    may_be_packed=True,
    is_read_through=True,
)
