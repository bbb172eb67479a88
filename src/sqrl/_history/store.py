"""A history as a folder: a file for each window, and one for what people have decided.

    history.json                the promise, accepted windows, waivers
    windows/2026-11-16.parquet  what the check of that window said of each rule
    .lock                       held while something is written
    .memo                       what can be computed again: see memo.py

Every file is replaced as a whole, so that a process killed at any moment leaves a history that is
complete up to the last finished check. Writers take turns by the lock; readers need none. What a
killed writer left behind is not read, and removed by the next writer. Other files are left alone.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sqrl._data.lock_file import locked
from sqrl._data.unfinished import is_unfinished
from sqrl._data.write_file import write_atomically
from sqrl._history.record import CheckRecord
from sqrl._history.settings import Settings, read_settings, write_settings
from sqrl._history.window_file import (
    SUFFIX,
    read_header,
    read_table,
    read_window,
    stamp_of,
    to_table,
    write_window,
)
from sqrl._history.window_times import file_stem, spell_at
from sqrl.errors import DataError, HistoryError, OutputError

SETTINGS, WINDOWS, LOCK, MEMO = "history.json", "windows", ".lock", ".memo"
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{6}Z)?")


@dataclass(frozen=True, slots=True)
class Store:
    """The files of one history, in a folder that the first window makes."""

    folder: Path

    @property
    def is_there(self) -> bool:
        """Whether the folder is a history already."""
        return (self.folder / SETTINGS).is_file()

    def settings(self) -> Settings:
        """What people have decided; of a history that is not there, what holds by default."""
        if not self.is_there:
            self._refuse_others()
            return Settings()
        return read_settings(self.folder / SETTINGS)

    def check(self) -> None:
        """Raise before any work where a window could not be written at the end of it."""
        self.settings()
        if not self.folder.absolute().parent.is_dir():
            raise self._homeless()

    def change(self, edit: Callable[[Settings], Settings]) -> Settings:
        """Decide anew: `edit` is given what holds now, while no other process can change it."""
        with self._writing():
            now = self.settings()
            made = edit(now)
            if made != now or not self.is_there:
                write_settings(self.folder / SETTINGS, made)
            return made

    def put(self, record: CheckRecord, *, fingerprint: str = "") -> None:
        """Write a window; one of the same time is replaced.

        `fingerprint` tells which data and rules the window was made from.
        """
        table, path = to_table(record, fingerprint), self._path(record.at)
        with self._writing():
            if not self.is_there:  # a window is never there without what makes it a history
                write_settings(self.folder / SETTINGS, Settings())
            path.parent.mkdir(exist_ok=True)
            write_window(path, table)

    def windows(self) -> list[str]:
        """The times of all windows, in their order."""
        self.settings()
        return [at for at, _ in self._files()]

    def records(self) -> list[CheckRecord]:
        """All windows, in the order of time."""
        self.settings()
        return [read_window(path, at) for at, path in self._files()]

    def stamped(self) -> list[tuple[str, str]]:
        """The time of each window, and what changes when its file does."""
        return [(at, f"{at} {stamp_of(path)}") for at, path in self._files()]

    def record(self, at: str) -> CheckRecord:
        """The window of a time."""
        return read_window(self._path(at), at)

    def memo(self) -> bytes | None:
        """What was kept so as not to compute it again; None where there is nothing."""
        try:
            return (self.folder / MEMO).read_bytes()
        except OSError:
            return None

    def keep_memo(self, content: bytes) -> None:
        """Keep what would have to be computed again."""
        with self._writing():
            write_atomically(self.folder / MEMO, content)

    def tables(self) -> list[pa.Table]:
        """The rows of all windows, in the order of time."""
        self.settings()
        return [read_table(path) for _, path in self._files()]

    def fingerprints(self) -> dict[str, str]:
        """Which data and rules each window was made from."""
        self.settings()
        return {at: read_header(path).fingerprint for at, path in self._files()}

    def _path(self, at: str) -> Path:
        """The file of a window, whose time must be spelt as `spell_at` does."""
        if spell_at(at) != at:
            raise DataError(f"The window's time {at[:40]!r} is not spelt as {spell_at(at)!r}.")
        return self.folder / WINDOWS / f"{file_stem(at)}{SUFFIX}"

    def _files(self) -> Iterator[tuple[str, Path]]:
        folder = self.folder / WINDOWS
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        named = ((_at_of(path), path) for path in found)
        yield from sorted((at, path) for at, path in named if at is not None)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A time in which nobody else writes; leftovers of those who were killed are gone."""
        self._refuse_others()
        try:
            self.folder.mkdir(exist_ok=True)
        except FileNotFoundError:
            raise self._homeless() from None
        except OSError as error:
            fix = "check the name, the disk's free space and the permissions"
            what = f"Cannot make the folder: {error.strerror}."
            raise OutputError(what, where=str(self.folder), fix=fix) from None
        with locked(self.folder / LOCK):
            for folder in (self.folder, self.folder / WINDOWS):
                for path in folder.iterdir() if folder.is_dir() else ():
                    if is_unfinished(path) and path.is_file():
                        path.unlink(missing_ok=True)
            yield

    def _homeless(self) -> OutputError:
        fix = f"create it: mkdir -p {self.folder.parent}"
        what = "The folder of the history's folder does not exist."
        return OutputError(what, where=str(self.folder), fix=fix)

    def _refuse_others(self) -> None:
        """Raise where the place holds something else than a history."""
        if self.is_there or not self.folder.exists():
            return
        where = str(self.folder)
        if not self.folder.is_dir():
            what = "A history is a folder, and this is a file."
            raise HistoryError(what, where=where, fix="name another place")
        names = sorted(path.name for path in self.folder.iterdir() if not is_unfinished(path))
        strange = [name for name in names if name not in {LOCK, MEMO}]
        if SETTINGS in strange:  # another process has just made it
            return
        if strange == [WINDOWS]:
            what = f"The history has windows, and no {SETTINGS}."
            raise HistoryError(what, where=where, fix="bring the file back, or name another place")
        if strange:
            what = f"The folder is no history: it holds {strange[0]!r}."
            raise HistoryError(what, where=where, fix="name a new or an empty folder")


def _at_of(path: Path) -> str | None:
    """The time in the name of a window's file; None for other files."""
    if path.suffix != SUFFIX or not _NAME.fullmatch(path.stem):
        return None
    try:
        return spell_at(path.stem)
    except DataError:
        return None
