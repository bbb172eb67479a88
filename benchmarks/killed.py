"""Work in a child process that is ended at a moment of one's choice."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 120.0  # seconds of the clock, after which a child hangs


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its exit status, or minus the signal; None where it hung."""

    code: int | None
    said: str


def start(work: Callable[[int], int | None]) -> tuple[int, int]:
    """A child that does the work, and where to read what it says: `work` is told where to write."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(read)
            code = work(write) or 0
        except KeyboardInterrupt:  # before the work has begun, when Python would end with this
            code = 130
        finally:
            os._exit(code)
    os.close(write)
    return child, read


def end(child: int, read: int, *, sent: int | None = None, after: float = 0.0) -> Ended:
    """Send the child a signal after some seconds, if any, and wait for its end."""
    begin = time.monotonic()
    code = None
    is_sent = sent is None
    while time.monotonic() - begin < PATIENCE:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            break
        if not is_sent and time.monotonic() - begin >= after:
            os.kill(child, sent or signal.SIGKILL)
            is_sent = True
        time.sleep(0.002)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(read, errors="replace") as lines:
        return Ended(code, lines.read())
