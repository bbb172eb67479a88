"""File: where a file is, on this machine or in an object store, and its bytes."""

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

import pyarrow as pa

from sqrl._data.read_file import read_at_most, refuse_device
from sqrl.errors import DataError, LimitError

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

    def stream(self, first: int = 0, last: int = 0) -> pa.NativeFile:
        """The bytes from `first` to before `last`, 0 being the end; all of a .gz, unpacked."""
        if not first and not last:
            compression = "gzip" if self.is_packed else None
            return self.system.open_input_stream(self.path, compression=compression)
        opened = self.system.open_input_file(self.path)
        if last:
            return opened.get_stream(first, last - first)
        opened.seek(first)
        return opened

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


def load_file(path: Path, *, max_bytes: int) -> pa.Buffer:
    """The bytes of the file, unpacked if it is a .gz, else mapped into memory."""
    where = str(path)
    refuse_absent(path)
    try:
        refuse_device(path, DataError)
        with path.open("rb") as file:
            refuse_large(path.stat().st_size, max_bytes, where)
            if path.suffix.lower() == ".gz":
                data = unpack(file, max_bytes=max_bytes, where=where)
            elif not path.is_file():  # a pipe
                content = read_at_most(file, max_bytes)
                if content is None:
                    raise _too_large(max_bytes + 1, max_bytes, where)
                data = pa.py_buffer(content)
            elif path.stat().st_size:
                data = pa.memory_map(os.fsencode(path)).read_buffer()
            else:
                data = pa.py_buffer(b"")
    except PermissionError:
        fix = "ask its owner, or change its permissions"
        raise DataError("The file may not be read.", where=where, fix=fix) from None
    except OSError as error:
        what = f"The file cannot be read: {error.strerror or error}."
        raise DataError(what, where=where, fix="check the path") from None
    if not len(data):
        raise DataError("The file is empty.", where=where, fix="add a header and rows")
    return data


def refuse_absent(path: Path) -> None:
    """Raise where there is no such file, with the nearest name that there is."""
    if path.is_dir():
        fix = "name a file in it, or a folder of labels: .txt of KITTI or YOLO, .xml of Pascal VOC"
        raise DataError("This is a folder, not a file.", where=str(path), fix=fix)
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise DataError("There is no such folder.", where=str(folder), fix="check the path")
    close = get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    fix = f"did you mean {close[0]!r}?" if close else "check the path"
    raise DataError("There is no such file.", where=str(path), fix=fix)


def refuse_large(size: int, max_bytes: int, where: str) -> None:
    """Raise where a file is larger than the limit."""
    if size > max_bytes:
        raise _too_large(size, max_bytes, where)


def _too_large(size: int, max_bytes: int, where: str) -> LimitError:
    what = f"The file has {size:,} bytes or more, above the limit of {max_bytes:,}."
    fix = "raise max_bytes= if it fits in memory, or read fewer rows or columns"
    return LimitError(what, where=where, fix=fix)


def unpack(file: BinaryIO, *, max_bytes: int, where: str) -> pa.Buffer:
    """What a .gz file holds, up to the limit."""
    try:
        with gzip.open(file) as unpacked:
            data = read_at_most(cast("BinaryIO", unpacked), max_bytes)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        what = "The .gz file is damaged or was cut short."
        raise DataError(what, where=where, fix="fetch or compress it again") from None
    if data is None:
        raise _too_large(max_bytes + 1, max_bytes, where)
    return pa.py_buffer(data)
