"""Source: a file whose columns and rows are known, read piece by piece."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from sqrl._data.formats.stored_file import File
from sqrl.errors import DataError

UNREADABLE = (pa.ArrowException, OSError, UnicodeError)


@dataclass(frozen=True, slots=True)
class Piece:
    """Row groups or record batches of a file that follow one another; of a text file all rows."""

    name: str
    n_rows: int
    first: int = 0
    last: int = 0


class Source(Protocol):
    """A file whose columns and rows are known. It can be pickled."""

    @property
    def file(self) -> File:
        """Where it is."""

    @property
    def kinds(self) -> Mapping[str, Any]:
        """What is known of the type of each column, by name, in the order of the file."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What can be read on its own."""

    def read(self, piece: Piece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns of a piece; text is given the types, others keep their own."""


def checked(source: Source, piece: Piece, wanted: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """What is read of a piece; a fault in the file is an error with its name."""
    try:
        for batch in source.read(piece, wanted, rows):
            batch.validate(full=True)
            yield batch
    except UNREADABLE as error:
        raise damaged("The rows cannot be read", error, piece.name) from None


def verify(source: Source, rows: int) -> None:
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
