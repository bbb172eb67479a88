"""Files and folders that are being written, under names of their own beside what they will replace.

Each is locked by its writer. So what a killed process left can be told from what another process is
still writing, and the next writer in that folder removes it. Where a file system has no locks, or
on Windows, leftovers stay.
"""

import ctypes
import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sqrl._data.lock_file import PAUSE, try_lock

_EXCHANGE = 2  # of renameat2 in Linux, and of renamex_np in macOS
_HERE = -100  # AT_FDCWD: names are not of a folder that is open


def is_unfinished(path: Path) -> bool:
    """Whether a file bears the name of one that was being written; a killed process leaves it.

    >>> is_unfinished(Path("a/.sqrl-0123456789abcdef")), is_unfinished(Path("a/.sqrl-mine"))
    (True, False)
    """
    return re.fullmatch(r"\.sqrl-[0-9a-f]{16}", path.name) is not None


@contextmanager
def unfinished_file(folder: Path) -> Iterator[Path]:
    """An empty file to write, gone at the end unless it was given another name."""
    with _own(folder, is_folder=False) as path:
        yield path


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, gone at the end with what is then in it."""
    with _own(folder, is_folder=True) as path:
        yield path


@contextmanager
def _own(folder: Path, *, is_folder: bool) -> Iterator[Path]:
    handle: int | None = None
    # Known before it is made, so that no interrupt leaves it behind.
    path = folder / f".sqrl-{os.urandom(8).hex()}"
    try:
        while True:
            if is_folder:
                path.mkdir(mode=0o700)
            else:
                path.touch(mode=0o600, exist_ok=False)
            handle = _lock(path, is_ours=True)
            if path.exists():  # else another writer took it for a leftover before it was locked
                break
            _close(handle)
        yield path
    finally:
        _remove(path)
        _close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left in a folder; a folder they had moved away is put back."""
    with suppress(OSError):
        for path in folder.iterdir():
            if not is_unfinished(path):
                continue
            handle = _lock(path)
            if handle is None:
                continue
            try:
                _put_back(path)
                _remove(path)
            finally:
                _close(handle)


def _lock(path: Path, *, is_ours: bool = False) -> int | None:
    """A handle by which the file is locked; None where it cannot be, or is by another process.

    Who has made the file waits: another holds it for no longer than it takes to remove it.
    """
    if sys.platform == "win32":  # a lock there would keep its own writer out
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        while not (is_locked := try_lock(handle)) and is_ours:
            time.sleep(PAUSE)
        if is_locked:
            return handle
    os.close(handle)
    return None


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def put_in_place(new: Path, path: Path, temporary: Path) -> None:
    """Give a new folder the name of an old one, in one step where the system can.

    Where it cannot, the old one is first moved into `temporary`, from where the next writer puts it
    back if this process is killed meanwhile.
    """
    if not path.exists():
        new.rename(path)
        return
    if _exchange(new, path):
        return
    old = temporary / "old" / path.name
    old.parent.mkdir()
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise


def _put_back(temporary: Path) -> None:
    """Give a folder its name again that was moved away by a process which was then killed."""
    moved = temporary / "old"
    for old in moved.iterdir() if moved.is_dir() else ():
        if not (temporary.parent / old.name).exists():
            old.rename(temporary.parent / old.name)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system, or the file system, has no such step."""
    swap = _swap()
    if swap is None:
        return False
    if swap(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}:
        return False
    raise OSError(code, os.strerror(code))


@cache
def _swap() -> Any:
    """The system's function that swaps two names, or None."""
    if sys.platform == "win32":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        call = library.renameat2
        call.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
        return lambda one, other: call(_HERE, one, _HERE, other, _EXCHANGE)
    if hasattr(library, "renamex_np"):
        call = library.renamex_np
        call.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
        return lambda one, other: call(one, other, _EXCHANGE)
    return None
