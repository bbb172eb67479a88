"""The Ray tasks of one run: parts to states, states to one state, never too many at a time."""

from collections import deque
from functools import reduce
from typing import Any

import numpy as np

from sqrl._scan.engines.local import CountedPart
from sqrl._scan.job import Job, ReadChunk, State, Track, summarise_part
from sqrl.errors import SqrlError

FAN_IN = 8
RETRIES = 5  # of a task whose worker died; an error of the job itself is final
TASKS_PER_CORE = 2  # one at work and one ready to start


class Tasks:
    """The parts that wait, the tasks that are busy, and the states that are ready to be merged.

    Every task gives two objects: a small one that tells how many rows it did, or the error of
    ours that it met, and the state, which stays in the object store until a merging task, or the
    end, asks for it.
    """

    def __init__(self, ray: Any, work: Any, parts: list[tuple[CountedPart, int]]) -> None:
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
            told, _ = self._ray.wait(list(self._busy), num_returns=1)
            for reference in told:
                news = self._ray.get(reference)
                if isinstance(news, SqrlError):
                    raise news
                self._ready.append(self._busy.pop(reference))
                done += news
            if track:
                track(done, n_rows)
        return _changeable(self._ray.get(self._ready[0]))

    def _submit(self) -> None:
        while len(self._ready) >= FAN_IN or (len(self._ready) > 1 and self._is_last_merge()):
            some = [self._ready.popleft() for _ in range(min(FAN_IN, len(self._ready)))]
            told, state = self._merge.remote(self._work, *some)
            self._busy[told] = state
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        while self._waiting and len(self._busy) < max(cores, 1) * TASKS_PER_CORE:
            part, first = self._waiting.popleft()
            # A block is handed over by itself too, so that Ray starts the task where it lies.
            block = getattr(part, "block", None)
            told, state = self._summarise.remote(self._work, part, first, block)
            self._busy[told] = state

    def _is_last_merge(self) -> bool:
        return not self._waiting and not self._busy


def _summarise(
    work: tuple[Job, ReadChunk], part: CountedPart, first: int, _block: object
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
