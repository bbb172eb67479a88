"""Writing a folder of files so that it is either the old one or the new one, never half of it."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sqrl.errors import OutputError


def check_folder(path: Path, *, prefix: str) -> None:
    """Raise before any work where a folder could not be replaced, or holds what is not ours."""
    where = str(path)
    try:
        others = sorted(
            entry.name
            for entry in (path.iterdir() if path.is_dir() else ())
            if not (entry.name.startswith(prefix) and entry.suffix == ".sql" and entry.is_file())
        )
        is_there, has_parent = path.is_dir() or not path.exists(), path.absolute().parent.is_dir()
    except OSError as error:
        raise _unwritable(error, path) from None
    if not is_there:
        raise OutputError("The output is a file.", where=where, fix="name a folder")
    if not has_parent:
        fix = f"create it: mkdir -p {path.parent}"
        raise OutputError("The folder of the output does not exist.", where=where, fix=fix)
    if path.is_symlink():
        raise OutputError("The output is a link.", where=where, fix="name the folder itself")
    if others:
        raise OutputError(
            f"The folder holds files that were not exported, such as {others[0]!r}.",
            where=where,
            fix="name a folder of its own, such as tests/sqrl",
        )


def write_folder(path: Path, files: Mapping[str, str], *, prefix: str) -> None:
    """Write the files beside `path` under another name, then move the folder into place.

    A folder of files that were exported before is replaced: rules that are gone leave no test.
    """
    check_folder(path, prefix=prefix)
    temporary: Path | None = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=".sqrl-"))
        new, old = temporary / "new", temporary / "old"
        new.mkdir()
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8", newline="\n")
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
