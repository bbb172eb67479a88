"""An engine that remembers what finished passes have found, so that a run can go on later."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from sqrl._data.write_file import write_atomically
from sqrl._scan.digest import digest
from sqrl._scan.job import Job, ReadChunk, State, Track
from sqrl._scan.packed_state import pack, unpack
from sqrl._scan.wrapped import Around
from sqrl._version import __version__
from sqrl.errors import DataError


@dataclass(slots=True, eq=False)
class Resuming(Around):
    """Runs jobs by another engine, unless the folder knows the state that they would give.

    A state is kept under a digest of the job and of the data: names, sizes and times of files.
    """

    folder: Path
    what: str = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = getattr(self.engine, "parts", ())
        seen = [_stamp(part.name) for part in parts]
        self.what = digest((__version__, self.engine.name, self.engine.counts(), seen))

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows, remembered or found."""
        path = self.folder / f"{digest((self.what, job, firsts, read))}.pass"
        if path.exists():
            return self._recall(path)
        state = Around.run(self, job, firsts, read, track=track)
        write_atomically(path, pack(state))
        return state

    def _recall(self, path: Path) -> State:
        try:
            return unpack(path.read_bytes())
        except (ValueError, OSError, KeyError) as error:
            raise DataError(
                f"What a pass had found cannot be read: {error}.",
                where=str(path),
                fix="remove the file; the pass is then done again",
            ) from None


def _stamp(name: str) -> tuple[str, int, int]:
    """A part's name, and size and time of its file where it is one on this machine."""
    path = name.partition(", row groups")[0]
    try:
        found = os.stat(path)  # noqa: PTH116  a URI is no Path
    except OSError:
        return name, -1, -1
    return name, found.st_size, found.st_mtime_ns


def forget(folder: Path) -> None:
    """Remove what passes have found, and the folder if nothing else is in it."""
    for path in folder.glob("*.pass"):
        path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()
