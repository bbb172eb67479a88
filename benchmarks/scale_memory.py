"""The memory of a process and all that it started, looked at again and again."""

import json
import os
import threading
import time
from pathlib import Path
from types import TracebackType

EVERY = 0.25  # seconds
OFTEN = 0.02  # seconds, where memory must not run out


class TreePeak:
    """The most memory that this process and its descendants held together, in bytes.

    Memory that several of them share is counted once: it is divided among them (Pss). Zero where
    the system does not tell.
    """

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "TreePeak":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            children = descendants(os.getpid())
            if children:  # a process by itself knows its peak better
                self.peak = max(self.peak, sum(map(_held, [os.getpid(), *children])))
            if self._done.wait(EVERY):
                return


def end_above(limit: int) -> None:
    """From now on, end this process as failed where it holds more memory than that.

    For a library that can be told no limit. One that the system sets is no way: denied a piece of
    memory, threads may wait for each other for ever.
    """
    page, start = os.sysconf("SC_PAGE_SIZE"), time.perf_counter()

    def watch() -> None:
        while True:
            held = int(Path("/proc/self/statm").read_text().split()[1]) * page
            if held > limit:
                why = f"took more than {limit / 2**30:.3g} GiB of memory"
                seconds = time.perf_counter() - start
                print(json.dumps({"failed": why, "seconds": seconds, "peak": held}), flush=True)
                os._exit(0)
            time.sleep(OFTEN)

    threading.Thread(target=watch, daemon=True).start()


def descendants(root: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents.setdefault(int(after_name[1]), []).append(int(folder.name))
    found: list[int] = []
    waiting = [root]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _held(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
