"""A progress bar on stderr for work that takes more than a moment, and lines for who listens."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Track = Callable[[str, int, int], object]  # is told what is done, how far, and of how much
Done = Callable[[int, int], object]  # is told how far one thing is, and of how much
PATIENCE = 1.0  # seconds before a bar is worth looking at

_listeners: list[Callable[[str], None]] = []


def tell(line: str) -> None:
    """Hand a line to all who listen: the command line does, and a library says nothing."""
    for listener in _listeners:
        listener(line)


def labelled(track: Track | None, label: str) -> Done | None:
    """Reports of what is done under this label; None where nobody watches."""
    return None if track is None else lambda done, total: track(label, done, total)


class Bar:
    """Follows (label, done, total) reports; shows nothing for quick work or into a file."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._listens = not quiet
        self._quiet = quiet or not sys.stderr.isatty()
        self._started = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "Bar":
        if self._listens:
            _listeners.append(_write_line)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._listens:
            _listeners.remove(_write_line)
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of what `label` names are finished."""
        if self._quiet or time.monotonic() - self._started < PATIENCE:
            return
        if self._progress is None:
            self._progress = _make_progress()
            self._progress.start()
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total)
        self._progress.update(self._tasks[label], completed=done, total=total)


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _make_progress() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    return Progress(
        TextColumn("{task.description:>10}"),
        BarColumn(),
        TaskProgressColumn(),
        Remaining(),
        console=Console(stderr=True),
        transient=True,
    )
