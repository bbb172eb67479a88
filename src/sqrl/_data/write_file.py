"""Writing a file or a folder so that it is either the old or the new one, never half of it."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqrl._data.unfinished import (
    put_in_place,
    remove_leftovers,
    unfinished_file,
    unfinished_folder,
)
from sqrl.errors import OutputError, SqrlError

IsOurs = Callable[[Path], bool]
ELSEWHERE = "choose another place"


def check_writable(path: Path) -> None:
    """Raise before any work is done where the file cannot be written at the end of it."""
    where = str(path)
    try:
        is_folder, exists = path.is_dir(), path.exists()
        folder = _target(path).parent
        blocking = next((part for part in (folder, *folder.parents) if part.is_file()), None)
    except OSError as error:  # such as a name that is too long
        raise _unwritable(error, path) from None
    if is_folder:
        raise OutputError("The output is a folder.", where=where, fix="name a file in it")
    if blocking is not None:
        raise OutputError(f"'{blocking}' is a file, not a folder.", where=where, fix=ELSEWHERE)
    if not folder.is_dir():
        fix = f"create it: mkdir -p {folder}"
        raise OutputError("The folder of the output does not exist.", where=where, fix=fix)
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise OutputError("The output may not be written to.", where=where, fix=ELSEWHERE)
        return
    if not os.access(folder, os.W_OK):
        what = "The folder of the output cannot be written to."
        raise OutputError(what, where=where, fix=ELSEWHERE)
    if exists and not os.access(path, os.W_OK):
        what = "The output exists and may not be changed."
        raise OutputError(what, where=where, fix=ELSEWHERE)


@contextmanager
def replacing(path: Path, *, tidy: bool = True) -> Iterator[Path]:
    """A new file to write, which takes the place of `path` if nothing goes wrong meanwhile.

    A link stays a link: what it points to is replaced. The permissions of an old file are kept. A
    device or a pipe is written into instead. What killed writers left beside the file is removed
    first, unless `tidy` is off: in a new folder there is nothing.
    """
    check_writable(path)
    if is_stream(path):
        with _written_into(path) as temporary:
            yield temporary
        return
    target = _target(path)
    if tidy:
        remove_leftovers(target.parent)
    try:
        with unfinished_file(target.parent) as temporary:
            yield temporary
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.chmod(_mode(target))
            temporary.replace(target)
    except SqrlError:
        raise
    except OSError as error:
        raise _unwritable(error, path) from None


def is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, which is written into and never replaced.

    >>> is_stream(Path(os.devnull)), is_stream(Path("no such file"))
    (True, False)
    """
    if not path.exists():
        return False
    # /dev/stdout may be a file that somebody else writes to.
    return not path.is_file() or path.absolute().parts[1:2] in {("dev",), ("proc",)}


@contextmanager
def _written_into(path: Path) -> Iterator[Path]:
    """A file elsewhere to write, whose bytes then go into a device or a pipe."""
    with TemporaryDirectory(prefix="sqrl-") as folder:
        temporary = Path(folder, "written")
        temporary.touch()
        yield temporary
        try:
            with temporary.open("rb") as source, path.open("ab") as stream:
                shutil.copyfileobj(source, stream)
        except OSError as error:
            raise _unwritable(error, path) from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` beside `path` under another name, then move it into place."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _unwritable(error: OSError, path: Path, what: str = "file") -> OutputError:
    return OutputError(
        f"Cannot write the {what}: {error.strerror or error}.",
        where=str(path),
        fix="check the name, the disk's free space and the permissions",
    )


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _mode(path: Path) -> int:
    """The permissions of the file that is there, else those any new file gets."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_folder(path: Path, *, is_ours: IsOurs, others: str, fix: str) -> None:
    """Raise before any work where a folder could not be replaced, or holds what is not ours.

    `others` and `fix` are for the message about that.
    """
    where = str(path)
    try:
        inside = sorted(path.iterdir()) if path.is_dir() else []
        strangers = [entry.name for entry in inside if not is_ours(entry)]
        is_there, parent = path.is_dir() or not path.exists(), path.absolute().parent
        has_parent, is_here = parent.is_dir(), path.exists() and path.samefile(Path.cwd())
    except OSError as error:
        raise _unwritable(error, path, "folder") from None
    if not is_there:
        raise OutputError("The output is a file.", where=where, fix="name a folder")
    if not has_parent:
        make = f"create it: mkdir -p {path.parent}"
        raise OutputError("The folder of the output does not exist.", where=where, fix=make)
    if is_here:
        what = "The output is the folder that this is run in, which cannot be replaced."
        raise OutputError(what, where=where, fix="name another folder, or run it elsewhere")
    if not os.access(parent, os.W_OK):
        what = "The folder of the output cannot be written to."
        raise OutputError(what, where=where, fix=ELSEWHERE)
    if path.is_symlink():
        raise OutputError("The output is a link.", where=where, fix="name the folder itself")
    if strangers:
        what = f"The folder holds {others}, such as {strangers[0]!r}."
        raise OutputError(what, where=where, fix=fix)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the place of `path` if nothing goes wrong meanwhile.

    What killed writers left beside it is removed, or put back where they had only begun to move.
    """
    path = path.absolute()
    try:
        remove_leftovers(path.parent)
        with unfinished_folder(path.parent) as temporary:
            new = temporary / "new"
            new.mkdir()
            yield new
            put_in_place(new, path, temporary)
    except SqrlError:
        raise
    except OSError as error:
        raise _unwritable(error, path, "folder") from None
