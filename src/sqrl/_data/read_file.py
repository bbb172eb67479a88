"""Reading the bytes of a whole file, up to a limit that holds whatever the file says of itself."""

import stat
from pathlib import Path
from typing import BinaryIO

from sqrl.errors import SqrlError

CHUNK = 1 << 20


def read_file(path: Path, *, most: int, error: type[SqrlError], fix: str) -> bytes:
    """The bytes of a file or a pipe; devices, and more bytes than `most`, are refused.

    `error` is raised with `fix` for what is too large, and with words of its own for the rest.
    """
    where = str(path)
    try:
        refuse_device(path, error)
        with path.open("rb") as file:
            content = read_at_most(file, most)
    except SqrlError:  # which may be a ValueError too
        raise
    except IsADirectoryError:
        raise error("This is a folder.", where=where, fix="name a file in it") from None
    except PermissionError:
        what, ask = "The file may not be read.", "ask its owner, or change its permissions"
        raise error(what, where=where, fix=ask) from None
    except (OSError, ValueError) as fault:
        what = f"The file cannot be read: {getattr(fault, 'strerror', None) or fault}."
        raise error(what, where=where, fix="check the path") from None
    if content is None:
        raise error(f"The file has more than {most:,} bytes.", where=where, fix=fix)
    return content


def read_at_most(file: BinaryIO, most: int) -> bytes | None:
    """All that is left in a stream, or None where that is more than so many bytes.

    It is read in chunks: to ask for the limit at once would take as much memory.

    >>> from io import BytesIO
    >>> read_at_most(BytesIO(b"abc"), 3), read_at_most(BytesIO(b"abcd"), 3)
    (b'abc', None)
    """
    found = bytearray()
    while chunk := file.read(CHUNK):
        found += chunk
        if len(found) > most:
            return None
    return bytes(found)


def refuse_device(path: Path, error: type[SqrlError]) -> None:
    """Raise where a path is a device, such as /dev/zero, which has no end."""
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise error("This is a device, not a file.", where=str(path), fix="name a file")
