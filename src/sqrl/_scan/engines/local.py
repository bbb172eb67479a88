"""Jobs over parts on threads of this process.

Numpy, Arrow and the kernels let go of the interpreter while they compute, so that threads use all
cores, and nothing has to be carried from process to process.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import pyarrow as pa

from sqrl._kernels.dispatch import expect
from sqrl._kernels.threads import available_cores, keep_freed_memory
from sqrl._scan.job import Job, Part, ReadChunk, State, Track, summarise_part


@dataclass(frozen=True, slots=True, eq=False)
class LocalEngine:
    """Parts, and threads that take one part after another; `threads` is all cores if not given.

    At most one batch of rows and one state for each thread are in memory, and the state so far.
    """

    name: str
    parts: Sequence[Part]
    threads: int = field(default_factory=available_cores)
    names: tuple[str, ...] = ()

    def counts(self) -> list[int]:
        """How many rows each part has, in the order of the rows."""
        return [part.n_rows for part in self.parts]

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows; `firsts` are the numbers of the parts' first rows.

        The first error of a part, or an interrupt, stops all threads at their next batch and
        is raised once they have ended.
        """
        expect(sum(self.counts()))
        keep_freed_memory()
        work = _SharedWork(job, read)
        for part, first in zip(self.parts, firsts, strict=True):
            work.todo.put((part, first))
        n_threads = min(max(self.threads, 1), len(self.parts))
        crew = [
            threading.Thread(target=work.do, name=f"sqrl part reader {number}", daemon=True)
            for number in range(n_threads)
        ]
        for thread in crew:
            thread.start()
        try:
            _attend(work.news, n_threads, sum(self.counts()) if track else 0, track)
        finally:
            work.stopped.set()
            for thread in crew:
                thread.join()
        return job.start() if work.total is None else work.total


class _StoppedError(Exception):
    """Another thread failed, or somebody interrupted: what is begun is of no use."""


@dataclass(slots=True, eq=False)
class _SharedWork:
    """What the threads share: the parts to do, the state so far, and the news they give.

    News is a number of rows that are done, an error, or None from a thread that has ended.
    """

    job: Job
    read: ReadChunk
    todo: SimpleQueue[tuple[Part, int]] = field(default_factory=SimpleQueue)
    news: SimpleQueue[int | BaseException | None] = field(default_factory=SimpleQueue)
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    total: State | None = None

    def do(self) -> None:
        """Do parts until there are none left or the work is stopped; what one thread runs."""
        try:
            while not self.stopped.is_set():
                part, first = self.todo.get_nowait()
                self._add(summarise_part(self.job, self._batches(part), first, self.read))
        except (Empty, _StoppedError):
            pass
        except BaseException as error:
            self.news.put(error)
        finally:
            self.news.put(None)

    def _batches(self, part: Part) -> Iterator[pa.RecordBatch]:
        for batch in part.read(self.job.columns):
            if self.stopped.is_set():
                raise _StoppedError
            yield batch
            self.news.put(batch.num_rows)

    def _add(self, state: State) -> None:
        with self.lock:
            self.total = state if self.total is None else self.job.merge(self.total, state)


def _attend(
    news: "SimpleQueue[int | BaseException | None]", running: int, n_rows: int, track: Track | None
) -> None:
    """Returns when all threads have ended; raises the first error that one of them reports.

    Progress is told from here, so that `track` is only ever called by the caller's own thread.
    """
    done = 0
    while running:
        item = news.get()
        if item is None:
            running -= 1
        elif isinstance(item, BaseException):
            raise item
        else:
            done += item
            if track:
                track(done, n_rows)
