"""A lock that processes share: held for a moment, and let go of by the system when one dies."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqrl.errors import OutputError

PATIENCE = 60.0  # seconds; what is done under a lock takes milliseconds
PAUSE = 0.01


@contextmanager
def locked(path: Path, *, patience: float = PATIENCE) -> Iterator[None]:
    """A time in which no other process holds the lock of this file, which is made if need be.

    The file stays: to remove it would let two processes lock two files of one name.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise OutputError(
            f"Cannot make the lock file: {error.strerror}.",
            where=str(path),
            fix="check the name, the disk's free space and the permissions",
        ) from None
    try:
        _wait(handle, path, patience)
        yield
    finally:
        os.close(handle)  # which also unlocks


def _wait(handle: int, path: Path, patience: float) -> None:
    """Returns when the lock is ours."""
    end = time.monotonic() + patience
    while not try_lock(handle):
        if time.monotonic() > end:
            raise OutputError(
                f"Another process has held the lock for {patience:g} seconds.",
                where=str(path),
                fix="find the process that hangs, end it, and try again",
            )
        time.sleep(PAUSE)


if sys.platform == "win32":
    import msvcrt

    def try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
