"""Runs: jobs side by side in processes, each remembered, so that a bench goes on where it was."""

import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import torch

import sqrl
from sqrl.commands import write_atomically
from sqrl.errors import SqrlError
from sqrl_paper.place import Place
from sqrl_paper.shared.checkpoints import make_folder_of

Json = dict[str, Any]
Job = TypeVar("Job")
Track = Callable[[str, int, int], None]
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "16000000000"}


class Runs:
    """Does jobs and keeps what they gave, by all that it follows from: code, data, job.

    `n_workers` processes work side by side, with one thread of torch each: two with one thread do
    more than one with two, and results do not depend on how many there are. With one worker all is
    done in this process.
    """

    def __init__(self, place: Place, *, n_workers: int, track: Track) -> None:
        self.place, self.n_workers = place, n_workers
        self.n_done, self.n_remembered, self.seconds = 0, 0, 0.0
        self._track = track
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, work: Callable[[Place, Job], Json], jobs: Sequence[Job], *, label: str
    ) -> list[Json]:
        """What `work(place, job)` gives for each of the jobs, in their order.

        `work` is a function of a module and a job a dataclass of plain values. Jobs begin in the
        order given: the longest first leaves no process idle at the end. A number that is not
        finite comes back as None.
        """
        paths = [self._path(work, job) for job in jobs]
        found: dict[int, Json] = {}
        for at, path in enumerate(paths):
            remembered = _read(path)
            if remembered is not None:
                found[at] = remembered
        self.n_remembered += len(found)
        self._track(label, len(found), len(jobs))
        todo = [at for at in range(len(jobs)) if at not in found]
        for at, result in self._do(work, jobs, todo):
            _write(paths[at], result)
            found[at] = result
            self.n_done += 1
            self._track(label, len(found), len(jobs))
        self.seconds += sum(one["seconds"] for one in found.values())
        return [found[at]["found"] for at in range(len(jobs))]

    @contextmanager
    def working(self) -> Iterator["Runs"]:
        """Processes to work in meanwhile; they are stopped at once where something fails."""
        if self.n_workers == 1:
            with _one_thread():
                yield self
            return
        context = multiprocessing.get_context("spawn")
        # Read by the C library when a process begins: large tensors are kept for the next ones, in
        # place of asking the system for cleared memory in every step: a fifth of the time of images
        for name, value in MALLOC.items():
            os.environ.setdefault(name, value)
        pool = ProcessPoolExecutor(self.n_workers, mp_context=context, initializer=_begin)
        self._pool = pool
        try:
            yield self
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            self._pool = None
        pool.shutdown()

    def _do(
        self, work: Callable[[Place, Job], Json], jobs: Sequence[Job], todo: Sequence[int]
    ) -> Iterator[tuple[int, Json]]:
        if self._pool is None:
            for at in todo:
                yield at, _timed(work, self.place, jobs[at])
            return
        futures: dict[Future[Json], int] = {
            self._pool.submit(_timed, work, self.place, jobs[at]): at for at in todo
        }
        try:
            for done in as_completed(futures):
                yield futures[done], done.result()
        except BrokenProcessPool:
            raise SqrlError(
                "A process that did part of the work was stopped from outside, as is done where "
                "memory runs out.",
                fix="run it again with --workers 1; what was finished is kept",
            ) from None

    def _path(self, work: Callable[[Place, Job], Json], job: Job) -> Path:
        key = {
            "code": fingerprint_of_code(),
            "data": self.place.data,
            "quick": self.place.quick,
            "work": f"{work.__module__}.{work.__qualname__}",
            "job": job,
        }
        text = msgspec.json.encode(key, order="deterministic")
        digest = hashlib.sha256(text).hexdigest()[:20]
        return self.place.cache / "runs" / f"{work.__name__.strip('_')}-{digest}.json"


@cache
def fingerprint_of_code() -> str:
    """Hex digits that change with any line of sqrl or of this package."""
    digest = hashlib.sha256()
    for package in (Path(sqrl.__file__).parent, Path(__file__).parent):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _timed(work: Callable[[Place, Job], Json], place: Place, job: Job) -> Json:
    start = time.process_time()  # of the processor: what else runs on the machine has no part
    found = work(place, job)
    seconds = time.process_time() - start
    # Through JSON, so that what is new and what is remembered are alike.
    plain: Json = msgspec.json.decode(msgspec.json.encode({"found": found, "seconds": seconds}))
    return plain


def _read(path: Path) -> Json | None:
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = {name: kept.get(name) for name in ("found", "seconds")}
    # A file that was damaged, or edited, is not believed: the run is done again.
    return found if kept.get("digest") == _digest(found) else None


def _write(path: Path, result: Json) -> None:
    make_folder_of(path, what="finished runs")
    write_atomically(path, msgspec.json.encode({**result, "digest": _digest(result)}))


def _digest(result: Json) -> str:
    return hashlib.sha256(msgspec.json.encode(result, order="deterministic")).hexdigest()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch works in one thread meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _begin() -> None:
    """Prepare a process: one thread, and Ctrl-C is left to the process that asked."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
