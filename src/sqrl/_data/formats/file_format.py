"""FileFormat: how files of one format are told, read whole, read in pieces and written."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from sqrl._data.column import check_names
from sqrl._data.formats.stored_file import File
from sqrl.errors import DataError

UNREADABLE = (pa.ArrowException, OSError, UnicodeError)

SMALL_BLOCK_BYTES = 1 << 20  # Arrow reads 32 blocks ahead; rows that are longer get larger ones


@dataclass(frozen=True, slots=True)
class FilePiece:
    """Row groups or record batches of a file that follow one another, or bytes of a text file.

    It has those from `first` to before `last`; bytes before 0 are all up to the end.
    """

    name: str
    n_rows: int
    first: int = 0
    last: int = 0


class FileSource(Protocol):
    """A file whose columns and rows are known. It can be pickled."""

    @property
    def file(self) -> File:
        """Where it is."""

    @property
    def kinds(self) -> Mapping[str, Any]:
        """What is known of the type of each column, by name, in the order of the file."""

    @property
    def pieces(self) -> tuple[FilePiece, ...]:
        """What can be read on its own."""

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns of a piece; text is given the types, others keep their own."""


def checked(
    source: FileSource, piece: FilePiece, wanted: pa.Schema, rows: int
) -> Iterator[pa.RecordBatch]:
    """What is read of a piece; a fault in the file is an error with its name."""
    try:
        for batch in source.read(piece, wanted, rows):
            batch.validate(full=True)
            yield batch
    except UNREADABLE as error:
        raise damaged("The rows cannot be read", error, piece.name) from None


def verify(source: FileSource, rows: int) -> None:
    """Read all rows of all columns once; raise where that cannot be done."""
    own = pa.schema(list(source.kinds.items()))
    for piece in source.pieces:
        for _ in checked(source, piece, own, rows):
            pass


def damaged(what: str, error: Exception, where: str) -> DataError:
    """The error for a file that cannot be read, with the reason that the reader gives."""
    if isinstance(error, PermissionError):
        fix = "ask its owner, or change its permissions"
        return DataError("The file may not be read.", where=where, fix=fix)
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return DataError(f"{what}: {reason}.", where=where, fix="write or fetch it again")


@dataclass(frozen=True, slots=True)
class Reading:
    """How text is to be read; what is None is found out."""

    separator: str | None = None
    encoding: str | None = None
    block_bytes: int = SMALL_BLOCK_BYTES


Read = Callable[[pa.Buffer, str, Reading], pa.Table]
Survey = Callable[[File, Reading], FileSource]
Write = Callable[[pa.Table, Path], None]


def join_types(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both; None where there is none.

    >>> str(join_types(pa.int32(), pa.float64())), join_types(pa.int32(), pa.string())
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


def _itself(kind: pa.DataType) -> pa.DataType:
    return kind


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of tables in files, told by suffix.

    `read(data, where, reading)` gives the table in the bytes of a file; `where` is for messages.
    That is enough. A format that can be read in pieces, for scans of files larger than memory,
    has a `survey` too, which looks at a file once for its columns, types and rows. Types of
    several files are joined by `join`, None where they do not go together, and settled into one
    of Arrow's by `settle`.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Read
    survey: Survey | None = None
    write: Write | None = None  # under the first suffix
    join: Callable[[Any, Any], Any] = join_types
    settle: Callable[[Any], Any] = _itself
    may_be_packed: bool = False  # as .gz
    may_lack: bool = False  # a field that a line of JSON lacks is missing, so a file may lack it
    is_read_through: bool = False  # when surveyed, so that damage shows then

    def read_whole(self, data: pa.Buffer, where: str, reading: Reading) -> pa.Table:
        """The table in the bytes of a file; a fault in them is an error in our words."""
        try:
            table = self.read(data, where, reading)
            table.validate(full=True)
        except UNREADABLE as error:
            raise damaged(f"The file is not {self.name}, or is damaged", error, where) from None
        return table

    def look_at(self, file: File, reading: Reading) -> FileSource:
        """The columns of a file, and the pieces in which it can be read."""
        if self.survey is not None:
            return self.survey(file, reading)
        try:
            with file.whole() as data:
                table = self.read_whole(data, file.shown, reading)
                n_rows, names, types = table.num_rows, table.column_names, table.schema.types
        except OSError as error:
            raise damaged("It cannot be read", error, file.shown) from None
        check_names(names, file.shown)
        kinds = dict(zip(names, types, strict=True))
        return WholeSource(file, kinds, (FilePiece(file.shown, n_rows),), self, reading)


@dataclass(frozen=True, slots=True)
class WholeSource:
    """A file that can only be read whole: one piece, in memory while it is read."""

    file: File
    kinds: Mapping[str, pa.DataType]
    pieces: tuple[FilePiece, ...]
    form: FileFormat
    reading: Reading

    def read(self, piece: FilePiece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of the file, of which only the wanted columns are kept."""
        del piece
        with self.file.whole() as data:
            table = self.form.read_whole(data, self.file.shown, self.reading)
            yield from table.select(wanted.names).to_batches(max_chunksize=rows)
