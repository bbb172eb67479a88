"""Which rows are held out, known from their numbers alone: see `split_rows`."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sqrl._data.draws import held_out_threshold, row_keys
from sqrl._kernels.arrays import Bools, Ints
from sqrl._scan.job import Chunk

STEP = 1 << 20  # rows between the marks


class AnySplit(Protocol):
    """Says which rows are held out, chunk by chunk."""

    @property
    def n_valid(self) -> int:
        """How many rows are held out."""

    @property
    def n_train(self) -> int:
        """How many rows are learned from."""

    def held_out(self, chunk: Chunk) -> Bools:
        """Which rows of a chunk are held out."""

    def before(self, chunk: Chunk, seen: int) -> int:
        """How many rows before a chunk are held out, `seen` of them in the same part."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to learn from and rows to hold out, each numbered among their own.

    `marks` says how many rows are held out before each multiple of STEP.
    """

    n_rows: int
    seed: int
    threshold: np.uint64
    marks: Ints

    @property
    def n_valid(self) -> int:
        """How many rows are held out."""
        return int(self.marks[-1])

    @property
    def n_train(self) -> int:
        """How many rows are learned from."""
        return self.n_rows - self.n_valid

    def is_held_out(self, first: int, n_rows: int) -> Bools:
        """Which of these rows are held out."""
        return np.asarray(row_keys(first, n_rows, seed=self.seed, draw=0) <= self.threshold)

    def held_out(self, chunk: Chunk) -> Bools:
        """Which rows of a chunk are held out."""
        return self.is_held_out(chunk.first, chunk.table.n_rows)

    def before(self, chunk: Chunk, seen: int) -> int:  # noqa: ARG002
        """How many rows before a chunk are held out."""
        return self.held_out_before(chunk.first)

    def held_out_before(self, row: int) -> int:
        """How many rows before this one are held out."""
        mark = row // STEP
        rest = row - mark * STEP
        return int(self.marks[mark]) + int(self.is_held_out(mark * STEP, rest).sum())


def make_split(n_rows: int, share: float, *, seed: int) -> Split:
    """The split that `split_rows` makes, without an array of all rows.

    >>> split = make_split(10, 0.2, seed=0)
    >>> split.n_train, split.n_valid, np.flatnonzero(split.is_held_out(0, 10)).size
    (8, 2, 2)
    """
    threshold = held_out_threshold(n_rows, share, seed=seed)
    bare = Split(n_rows, seed, threshold, np.zeros(1, np.int64))
    counts = [
        int(bare.is_held_out(first, min(STEP, n_rows - first)).sum())
        for first in range(0, n_rows, STEP)
    ]
    marks = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Split(n_rows, seed, threshold, marks)
