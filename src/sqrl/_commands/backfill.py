"""sqrl history --backfill: past files become windows, those that are not there yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqrl.errors import DataError

if TYPE_CHECKING:
    from sqrl._history.history import History
    from sqrl._history.past_files import PastFile
    from sqrl._progress import Track
    from sqrl._rules.ruleset import RuleSet

LITTLE = 1 << 26  # bytes that are checked before other processes would have started


@dataclass(frozen=True, slots=True)
class Backfill:
    """How past files are checked: what a process needs to know to do one of them."""

    folder: Path
    rules: "RuleSet"
    prediction: str | None

    def todo(self, files: "Sequence[PastFile]", history: "History") -> "list[PastFile]":
        """The files whose windows are not there, or were made from other data or rules."""
        there = history.store.fingerprints()
        known = self._known_by()
        return [file for file in files if there.get(file.at) != file.fingerprint(*known)]

    def check(self, file: "PastFile") -> str:
        """The time of a window, which is written when this returns."""
        import sqrl
        from sqrl._history.history import History
        from sqrl._history.window_times import day_of
        from sqrl._opening import Opening

        fingerprint = file.fingerprint(*self._known_by())  # before: the file may change meanwhile
        (table,) = Opening().open(file.path)
        found = sqrl.check(self.rules, table, prediction=self.prediction, today=day_of(file.at))
        History(self.folder).add(found, at=file.at, fingerprint=fingerprint)
        return file.at

    def _known_by(self) -> tuple[str, str]:
        from sqrl._rules.held_out import digest_of

        return digest_of(self.rules.texts()), self.prediction or ""


def check_past_files(
    work: Backfill,
    files: "Sequence[PastFile]",
    *,
    processes: int | None = None,
    track: "Track | None" = None,
) -> int:
    """How many windows were written; an error leaves those that are finished."""
    from sqrl._kernels.threads import available_cores

    if processes is None:
        is_little = sum(file.n_bytes for file in files) < LITTLE
        processes = 1 if is_little else min(available_cores(), len(files))
    finished = map(work.check, files) if processes <= 1 else _in_processes(work, files, processes)
    done = 0
    for done, _ in enumerate(finished, start=1):
        if track is not None:
            track("windows", done, len(files))
    return done


def _in_processes(work: Backfill, files: "Sequence[PastFile]", processes: int) -> Iterator[str]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context
    from signal import SIG_IGN, SIGINT, signal

    # Processes that begin anew: threads of this one would be torn in the middle of something. An
    # interrupt is for this one, which lets the others finish what they have begun.
    spawn, deaf = get_context("spawn"), (SIGINT, SIG_IGN)
    with ProcessPoolExecutor(processes, spawn, initializer=signal, initargs=deaf) as pool:
        futures = [pool.submit(work.check, file) for file in files]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise DataError(
                "A process that checked past files was ended; there may be too little memory.",
                where=str(work.folder),
                fix="run the command again: it goes on with the windows that are not there yet",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)
