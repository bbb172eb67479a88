"""load_file: the bytes of a file, mapped or unpacked, never more than a limit."""

import gzip
import zlib
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from sqrl.errors import DataError, LimitError


def load_file(path: Path, *, max_bytes: int) -> pa.Buffer:
    """The bytes of the file, unpacked if it is a .gz, else mapped into memory."""
    where = str(path)
    refuse_absent(path)
    try:
        with path.open("rb") as file:
            refuse_large(path.stat().st_size, max_bytes, where)
            if path.suffix.lower() == ".gz":
                data = unpack(file, max_bytes=max_bytes, where=where)
            elif path.stat().st_size:
                data = pa.memory_map(where).read_buffer()
            else:
                data = pa.py_buffer(b"")
    except PermissionError:
        fix = "ask its owner, or change its permissions"
        raise DataError("The file may not be read.", where=where, fix=fix) from None
    if not len(data):
        raise DataError("The file is empty.", where=where, fix="add a header and rows")
    return data


def refuse_absent(path: Path) -> None:
    """Raise where there is no such file, with the nearest name that there is."""
    if path.is_dir():
        fix = "name a file in it, or a folder whose .txt files are KITTI labels"
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
        what = f"The file has {size:,} bytes or more, above the limit of {max_bytes:,}."
        fix = "raise max_bytes= if it fits in memory, or read fewer rows or columns"
        raise LimitError(what, where=where, fix=fix)


def unpack(file: BinaryIO, *, max_bytes: int, where: str) -> pa.Buffer:
    """What a .gz file holds, up to the limit."""
    try:
        with gzip.open(file) as unpacked:
            data = unpacked.read(max_bytes + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        what = "The .gz file is damaged or was cut short."
        raise DataError(what, where=where, fix="fetch or compress it again") from None
    refuse_large(len(data), max_bytes, where)
    return pa.py_buffer(data)
