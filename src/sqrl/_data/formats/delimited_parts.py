"""Delimited text that is read once for the types of all its rows, then in blocks.

A large file is cut into pieces, which are read side by side. Whatever is amiss in them, the file is
read anew as one piece: so a fault is told with its line, as that of a small file is.
"""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath

import numpy as np
import pyarrow as pa

from sqrl._data.column import check_names
from sqrl._data.formats.cut_text import UNCUT, cut_rows, side_by_side
from sqrl._data.formats.delimited import (
    BLOCK_BYTES,
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
from sqrl._data.formats.delimited_source import CsvSource
from sqrl._data.formats.delimited_types import Rungs, all_rungs, join, remaining, settle
from sqrl._data.formats.file_format import FileFormat, FilePiece, Reading, damaged
from sqrl._data.formats.stored_file import File, plain_suffix
from sqrl.errors import DataError

BLANK = b" \t\r\n\0\xff\xfe\xef\xbb\xbf"
# In these a quote, a separator and a newline are each one byte, and no other letter has that byte.
PLAIN_ENCODINGS = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1", "iso8859-15")


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
        # Numpy lets other threads compute meanwhile, and does not slow down where quotes are many.
        self.n_quotes += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord('"')))
        self.has_nul = self.has_nul or b"\0" in data
        self.is_blank = self.is_blank and not data.strip(BLANK)
        return data

    def close(self) -> None:
        self.stream.close()
        self.closed = True


@dataclass(frozen=True, slots=True)
class _Seen:
    """What rows that were read through say: types, their number, and what makes them doubtful."""

    rungs: tuple[Rungs, ...]
    n_rows: int
    has_nul: bool
    is_blank: bool
    has_odd_quotes: bool

    def is_doubtful(self, encoding: str) -> bool:
        """Whether there may be NUL bytes, nothing but blanks, or a quote that never closes."""
        is_wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
        return self.is_blank or (self.has_nul and not is_wide) or self.has_odd_quotes


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
        encodings = _encodings(head, reading.encoding)
        for survey in (_survey_pieces, _survey_whole):
            for encoding in encodings:
                try:
                    source = survey(_draft(file, head, encoding, reading), head)
                except UnicodeError:
                    continue
                if source is None:
                    break
                return source
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


def _draft(file: File, head: bytes, encoding: str, reading: Reading) -> CsvSource:
    sample = sample_of(pa.py_buffer(head), encoding)
    separator = _separator(file.path, reading) or detect_separator(sample)
    return CsvSource(file, {}, (), (), separator, encoding, reading.block_bytes)


def _survey_whole(draft: CsvSource, head: bytes) -> CsvSource:
    """The source with what all rows say, read from the first to the last."""
    sample = sample_of(pa.py_buffer(head), draft.encoding)
    has_one_line = len(head) <= SAMPLE_BYTES and not set("\r\n") & set(sample)
    if has_one_line:
        head.decode(draft.encoding)  # raises where it does not fit; the sample has marks there

    def start() -> pa.NativeFile:
        # Arrow wants a header's line to end.
        ended = f"{sample}\n".encode(draft.encoding)
        return pa.BufferReader(ended) if has_one_line else draft.file.stream()

    try:
        with start() as stream:
            named = _with_names(draft, stream)
        seen = _survey(named, start(), has_header=True)
    except pa.ArrowInvalid as error:
        if "invalid UTF8 data" in str(error):
            raise UnicodeError from None
        if "straddl" in str(error) and draft.block_bytes < BLOCK_BYTES:
            return _survey_whole(replace(draft, block_bytes=BLOCK_BYTES), head)
        raise _find_fault(draft) or unsplit(error, draft.file.shown) from None
    if seen.is_doubtful(draft.encoding) and (fault := _find_fault(draft)):
        raise fault
    return _finished(named, (FilePiece(draft.file.shown, 0),), [seen])


def _survey_pieces(draft: CsvSource, head: bytes) -> CsvSource | None:
    """The source with what all rows say, read in pieces; None where it is to be read whole."""
    encoding = codecs.lookup(draft.encoding).name
    if encoding not in PLAIN_ENCODINGS:
        return None
    is_marked = encoding.startswith("utf") and head.startswith(codecs.BOM_UTF8)
    skip = len(codecs.BOM_UTF8) if is_marked else 0
    try:
        pieces = cut_rows(draft.file, draft.separator, skip=skip)
        if not pieces:
            return None
        with draft.file.stream() as stream:
            named = _with_names(draft, stream)
        seen = side_by_side([partial(_survey_piece, named, piece) for piece in pieces])
    except UnicodeError:
        raise
    except UNCUT as error:
        if "invalid UTF8 data" in str(error):
            raise UnicodeError from None
        return None
    if any(each.has_nul or each.has_odd_quotes for each in seen) or all(s.is_blank for s in seen):
        return None
    return _finished(named, pieces, seen)


def _with_names(draft: CsvSource, stream: pa.NativeFile) -> CsvSource:
    with draft.blocks(stream, {}, []) as reader:
        return replace(draft, own_names=tuple(reader.schema.names))


def _finished(source: CsvSource, pieces: Sequence[FilePiece], seen: Sequence[_Seen]) -> CsvSource:
    """The source with the types that the rows of all pieces fit, and how many each has."""
    names = [name.strip() for name in source.own_names]
    names[0] = names[0] or "index"
    check_names(names, source.file.shown)
    rungs = [frozenset.intersection(*each) for each in zip(*(s.rungs for s in seen), strict=True)]
    counted = [replace(piece, n_rows=s.n_rows) for piece, s in zip(pieces, seen, strict=True)]
    return replace(source, kinds=dict(zip(names, rungs, strict=True)), pieces=tuple(counted))


def _survey_piece(source: CsvSource, piece: FilePiece) -> _Seen:
    stream = source.file.stream(piece.first, piece.last)
    return _survey(source, stream, has_header=not piece.first)


def _survey(source: CsvSource, bytes_: pa.NativeFile, *, has_header: bool) -> _Seen:
    """The types that the values of each column fit, and the number of rows."""
    names = source.own_names
    rungs, n_rows = [all_rungs()] * len(names), 0
    types = dict.fromkeys(names, pa.string())
    watched = _Watched(bytes_)
    with (
        pa.PythonFile(watched, mode="r") as stream,
        source.blocks(stream, types, [], has_header=has_header) as reader,
    ):
        for batch in reader:
            n_rows += batch.num_rows
            rungs = [remaining(*pair) for pair in zip(batch.columns, rungs, strict=True)]
    is_odd = bool(watched.n_quotes % 2)
    return _Seen(tuple(rungs), n_rows, watched.has_nul, watched.is_blank, is_odd)


def _find_fault(source: CsvSource) -> DataError | None:
    """The first row that is amiss; raises where the file is not even text."""
    with source.file.whole() as data:
        refuse_binary(data, source.encoding, where=source.file.shown)
        return find_fault(data, source.separator, source.encoding, source.file.shown)


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
