"""Writing a folder of files so that it is either the old one or the new one, never half of it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqrl.errors import OutputError

IsOurs = Callable[[Path], bool]


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
        raise _unwritable(error, path) from None
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
    temporary: Path | None = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=".sqrl-"))
        new, old = temporary / "new", temporary / "old"
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
        raise _unwritable(error, path) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _unwritable(error: OSError, path: Path) -> OutputError:
    return OutputError(
        f"Cannot write the folder: {error.strerror or error}.",
        where=str(path),
        fix="check the name, the disk's free space and the permissions",
    )
