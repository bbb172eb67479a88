"""Run work in chunks on threads, so that it can be followed and interrupted."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sqrl._kernels.arrays import Int64s, distinct
from sqrl._progress import Done

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Chunk = Callable[[], None]
KEPT_BYTES = 31 << 20  # glibc looks at blocks below 32 MiB
CHUNK_COST = 1e6  # about a millisecond of vectorised steps


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_freed_memory() -> None:
    """Let the C library keep arrays of chunks that are freed for those of the next chunks.

    It gives large blocks back to the system, which clears their pages for the next chunk anew: a
    sixth of the time of a scan. Once a block of this size was freed, glibc keeps smaller ones, up
    to twice as much of them in all; elsewhere nothing changes.
    """
    np.empty(KEPT_BYTES, np.uint8)


def split(ends: Int64s, cost: float) -> list[tuple[int, int]]:
    """Ranges of items with about the same share of the work, each worth a thread's while.

    Shapes: ends (n_items + 1,), the work done before each item, in any unit.
    Cost: O(chunks * log(n_items)).

    >>> split(np.array([0, 3, 5, 6]), cost=2e5)
    [(0, 1), (1, 3)]
    """
    n_items = len(ends) - 1
    n_chunks = max(1, int(min(n_items, 1 + cost * (ends[-1] - ends[0]) // CHUNK_COST)))
    targets = ends[0] + (ends[-1] - ends[0]) * np.arange(n_chunks + 1) / n_chunks
    edges = distinct(np.searchsorted(ends, targets, side="left"))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def run(phases: Sequence[Sequence[Chunk]], *, threads: int | None, track: Done | None) -> None:
    """Run the chunks of each phase in any order, and the phases one after the other.

    `track(done, total)` is called from this thread after each chunk. An exception, also
    KeyboardInterrupt, cancels the chunks that have not begun.

    >>> run([[lambda: None] * 2], threads=1, track=lambda done, total: print(done, "of", total))
    1 of 2
    2 of 2
    """
    threads = available_cores() if threads is None else max(threads, 1)
    total = sum(len(phase) for phase in phases)
    done = 0
    pool = _make_pool(threads) if threads > 1 else None
    try:
        for phase in phases:
            for _ in _finished(phase, pool):
                done += 1
                if track is not None:
                    track(done, total)
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _make_pool(threads: int) -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


def _finished(phase: Sequence[Chunk], pool: "ThreadPoolExecutor | None") -> Iterator[None]:
    """Run the chunks, and give a sign of life after each."""
    if pool is None or len(phase) == 1:
        for chunk in phase:
            yield chunk()
        return
    from concurrent.futures import as_completed

    futures: list[Future[None]] = [pool.submit(chunk) for chunk in phase]
    for future in as_completed(futures):
        yield future.result()
