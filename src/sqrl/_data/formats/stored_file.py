"""File: where a file is, on this machine or in an object store, and its bytes."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

Partition = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class File:
    """Where a file is and how messages call it. `partition` is what its folders say of its rows."""

    shown: str
    path: str
    system: Any  # a pyarrow.fs.FileSystem
    n_bytes: int
    partition: Partition = ()

    @property
    def is_packed(self) -> bool:
        """Whether it is a .gz."""
        return is_packed(Path(self.path))

    def stream(self) -> pa.NativeFile:
        """The bytes from the first to the last, unpacked."""
        compression = "gzip" if self.is_packed else None
        return self.system.open_input_stream(self.path, compression=compression)

    @contextmanager
    def whole(self) -> Iterator[pa.Buffer]:
        """All bytes, unpacked, mapped into memory."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "unpacked") if self.is_packed or not self.is_local else self.path
            if isinstance(path, Path):
                with self.stream() as packed, path.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
            is_empty = not Path(path).stat().st_size
            yield pa.py_buffer(b"") if is_empty else pa.memory_map(str(path)).read_buffer()

    @property
    def is_local(self) -> bool:
        """Whether the file is on a disk of this machine."""
        return bool(self.system.type_name == "local")


def plain_suffix(path: PurePath) -> str:
    """The suffix that tells the format, in small letters, without .gz.

    >>> plain_suffix(PurePath("a.CSV")), plain_suffix(PurePath("a.csv.gz"))
    ('.csv', '.csv')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join((suffixes[:-1] if is_packed(path) else suffixes)[-1:])


def is_packed(path: PurePath) -> bool:
    """Whether the file is a .gz."""
    return path.name.lower().endswith(".gz")
