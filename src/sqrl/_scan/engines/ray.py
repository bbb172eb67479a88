"""Jobs over parts as Ray tasks, on this machine or on the cluster that RAY_ADDRESS names.

A task whose worker dies is run again. Nothing is counted twice by that: each task gives a state of
its own, and only states that arrived are merged.
"""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._scan.engines.rechunk import ROWS_AT_ONCE, gathered
from sqrl._scan.job import Job, Part, ReadChunk, State, Track, summarise_part
from sqrl.errors import MissingExtraError, SqrlError, unknown

FAN_IN = 8
RETRIES = 5  # of a task whose worker died; an error of the job itself is final
TASKS_PER_CORE = 2  # one at work and one ready to start


@dataclass(frozen=True, slots=True, eq=False)
class RayEngine:
    """Parts that every worker can read, such as files on shared storage, and Ray to read them."""

    name: str
    parts: Sequence[Part]
    names: tuple[str, ...] = ()

    @classmethod
    def of_dataset(
        cls, dataset: Any, *, name: str = "Ray dataset", rows_at_once: int = ROWS_AT_ONCE
    ) -> "RayEngine":
        """The engine for a `ray.data.Dataset`, each block of it a part.

        The dataset is computed once, its blocks in order, and stays in Ray's object store (which
        spills to disk) as long as the engine does: every pass then sees the same rows.
        """
        ray = connect()
        blocks = _blocks_in_order(dataset)
        count = ray.remote(max_retries=5)(_count_rows)
        counts = ray.get([count.remote(block) for block in blocks])
        parts = [
            BlockPart(f"{name}, block {number}", n_rows, block, rows_at_once)
            for number, (n_rows, block) in enumerate(zip(counts, blocks, strict=True), start=1)
        ]
        return cls(name, parts, tuple(dataset.schema().names) if parts else ())

    def counts(self) -> list[int]:
        """How many rows each part has, in the order of the rows."""
        return [part.n_rows for part in self.parts]

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows; `firsts` are the numbers of the parts' first rows."""
        if not self.parts:
            return job.start()
        ray = connect()
        tasks = Tasks(ray, ray.put((job, read)), list(zip(self.parts, firsts, strict=True)))
        try:
            return tasks.finish(sum(self.counts()) if track else 0, track)
        except ray.exceptions.RayError as error:
            raise _fault(error, self.name) from error
        # What an error or an interrupt leaves at work ends by itself, a part or two for each core.
        # To cancel it could end this process: Ray fails an assertion where a task completes then.


@dataclass(frozen=True, slots=True, eq=False)
class BlockPart:
    """A block in Ray's object store, read in batches of at most `rows_at_once` rows."""

    name: str
    n_rows: int
    block: Any
    rows_at_once: int = ROWS_AT_ONCE

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of the block in order; for no columns one of them, so that rows are seen."""
        import ray

        if not self.n_rows:
            return
        table: pa.Table = ray.get(self.block)
        if columns is not None:
            for name in sorted(columns - set(table.column_names)):
                raise unknown("column", name, table.column_names, where=self.name)
            wanted = [name for name in table.column_names if name in columns]
            table = table.select(wanted or table.column_names[:1])
        yield from gathered(table.to_batches(), rows=self.rows_at_once)


def connect() -> Any:
    """The module `ray`, connected: as the program did before, else to RAY_ADDRESS, else here."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError(
            "The Ray engine needs ray.", fix='pip install "sqrl-rules[ray]"'
        ) from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        address = "local"  # Ray's default looks for clusters of other programs
        quiet["include_dashboard"] = False
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody was asked
    ray.init(address=address, ignore_reinit_error=True, **quiet)
    return ray


def _blocks_in_order(dataset: Any) -> list[Any]:
    """References to the dataset's blocks, as Arrow tables in the order of its rows.

    Without the option Ray gives blocks in the order in which they happen to be done.
    """
    options = dataset.context.execution_options
    before = options.preserve_order
    options.preserve_order = True
    try:
        return list(dataset.to_arrow_refs())
    finally:
        options.preserve_order = before


def _count_rows(block: pa.Table) -> int:
    return int(block.num_rows)


def _fault(error: BaseException, name: str) -> BaseException:
    """What went wrong in a task: the fault of the program, else what befell its worker."""
    from ray.exceptions import RayError, RayTaskError

    while isinstance(error, RayTaskError) and error.cause is not None:
        error = error.cause
    if not isinstance(error, RayError):
        return error
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return SqrlError(
        f"Ray could not finish a part: {reason}.",
        where=name,
        fix="see whether workers have sqrl installed and memory enough, or cut smaller parts",
    )


class Tasks:
    """The parts that wait, the tasks that are busy, and the states that are ready to be merged.

    Every task gives two objects: a small one that tells how many rows it did, or the error of
    ours that it met, and the state, which stays in the object store until a merging task, or the
    end, asks for it.
    """

    def __init__(self, ray: Any, work: Any, parts: list[tuple[Part, int]]) -> None:
        self._ray = ray
        self._work = work
        self._waiting = deque(parts)
        self._busy: dict[Any, Any] = {}
        self._ready: deque[Any] = deque()
        remote = ray.remote(max_retries=RETRIES, retry_exceptions=False, num_returns=2)
        self._summarise = remote(_summarise)
        self._merge = remote(_merge)

    def finish(self, n_rows: int, track: Track | None) -> State:
        """The state of all parts, when all tasks are done."""
        done = 0
        while self._waiting or self._busy or len(self._ready) > 1:
            self._submit()
            finished, _ = self._ray.wait(list(self._busy), num_returns=1)
            for reference in finished:
                news = self._ray.get(reference)
                if isinstance(news, SqrlError):
                    raise news
                self._ready.append(self._busy.pop(reference))
                done += news
            if track:
                track(done, n_rows)
        return _changeable(self._ray.get(self._ready[0]))

    def _submit(self) -> None:
        while len(self._ready) >= (FAN_IN if self._waiting or self._busy else 2):
            some = [self._ready.popleft() for _ in range(min(FAN_IN, len(self._ready)))]
            news, state = self._merge.remote(self._work, *some)
            self._busy[news] = state
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        while self._waiting and len(self._busy) < max(cores, 1) * TASKS_PER_CORE:
            part, first = self._waiting.popleft()
            # A block is handed over by itself too, so that Ray starts the task where it lies.
            block = getattr(part, "block", None)
            news, state = self._summarise.remote(self._work, part, first, block)
            self._busy[news] = state


def _summarise(
    work: tuple[Job, ReadChunk], part: Part, first: int, _block: object
) -> tuple[int | SqrlError, State]:
    job, read = work
    try:
        return part.n_rows, summarise_part(job, part.read(job.columns), first, read)
    except SqrlError as error:  # as data, since Ray logs errors that were raised
        return error, {}


def _merge(work: tuple[Job, ReadChunk], *states: State) -> tuple[int, State]:
    job, _ = work
    return 0, reduce(job.merge, map(_changeable, states))


def _changeable(state: State) -> State:
    """The state in arrays of its own: those of the object store are shared and read-only."""
    return {name: np.array(array) for name, array in state.items()}
