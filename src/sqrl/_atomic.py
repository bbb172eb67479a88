"""Writing a file so that it is either the old one or the new one, never half of it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqrl.errors import OutputError


def check_writable(path: Path) -> None:
    """Raise before any work is done where the file cannot be written at the end of it."""
    folder = path.parent
    if path.is_dir():
        raise OutputError("The output is a folder.", where=str(path), fix="name a file in it")
    if not folder.is_dir():
        raise OutputError(
            "The folder of the output does not exist.",
            where=str(path),
            fix=f"create it: mkdir -p {folder}",
        )
    if not os.access(folder, os.W_OK):
        raise OutputError(
            "The folder of the output cannot be written to.",
            where=str(path),
            fix="choose another folder with -o",
        )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file to write, which takes the place of `path` if nothing goes wrong meanwhile."""
    check_writable(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(
            f"Cannot write the file: {error.strerror or error}.",
            where=str(path),
            fix="check the disk's free space and permissions",
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` beside `path` under another name, then move it into place."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
