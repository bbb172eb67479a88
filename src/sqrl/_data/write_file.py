"""Writing a file or a folder so that it is either the old or the new one, never half of it."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
    if not os.access(folder, os.W_OK):
        what = "The folder of the output cannot be written to."
        raise OutputError(what, where=where, fix=ELSEWHERE)
    if exists and not os.access(path, os.W_OK):
        what = "The output exists and may not be changed."
        raise OutputError(what, where=where, fix=ELSEWHERE)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file to write, which takes the place of `path` if nothing goes wrong meanwhile.

    A link stays a link: what it points to is replaced. The permissions of an old file are kept.
    """
    check_writable(path)
    target = _target(path)
    temporary = _unfinished(target)
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(_mode(target))
        temporary.replace(target)
    except SqrlError:
        raise
    except OSError as error:
        raise _unwritable(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)


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


def _unfinished(path: Path) -> Path:
    """A name beside `path`, known before it is made, so that no interrupt leaves it behind."""
    return path.parent / f".sqrl-{os.urandom(8).hex()}"


def is_unfinished(path: Path) -> bool:
    """Whether a file bears the name of one that was being written; a killed process leaves it.

    >>> is_unfinished(Path("a/.sqrl-0123456789abcdef")), is_unfinished(Path("a/.sqrl-mine"))
    (True, False)
    """
    return re.fullmatch(r"\.sqrl-[0-9a-f]{16}", path.name) is not None


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
        is_there, has_parent = path.is_dir() or not path.exists(), path.absolute().parent.is_dir()
    except OSError as error:
        raise _unwritable(error, path, "folder") from None
    if not is_there:
        raise OutputError("The output is a file.", where=where, fix="name a folder")
    if not has_parent:
        parent = f"create it: mkdir -p {path.parent}"
        raise OutputError("The folder of the output does not exist.", where=where, fix=parent)
    if path.is_symlink():
        raise OutputError("The output is a link.", where=where, fix="name the folder itself")
    if strangers:
        what = f"The folder holds {others}, such as {strangers[0]!r}."
        raise OutputError(what, where=where, fix=fix)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the place of `path` if nothing goes wrong meanwhile."""
    temporary = _unfinished(path.absolute())
    new, old = temporary / "new", temporary / "old"
    try:
        temporary.mkdir(mode=0o700)
        new.mkdir()
        yield new
        if path.exists():
            path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            if old.exists():
                old.rename(path)
            raise
    except OSError as error:
        raise _unwritable(error, path, "folder") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
