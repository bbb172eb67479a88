"""Work over more rows than memory holds: done chunk by chunk, in any order, on any machine.

A job is asked of chunks of rows and gives a state; states of different chunks merge. Every state is
a mapping of names to plain arrays, and merging is exact (sums of integers, least and greatest
values, sorted unions), so that neither the order nor the number of the chunks changes a bit.
"""

import io
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._data.table import Table
from sqrl._progress import Done

State = dict[str, NDArray[Any]]
Track = Done
# Makes a table of what is read, with the kinds and categories of the whole. Can be pickled.
ReadChunk = Callable[[pa.RecordBatch], Table]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows that follow one another: the number of the first among all rows, and the rows."""

    first: int
    table: Table


class Job(Protocol):
    """What is to be found out about all rows. It can be pickled."""

    @property
    def columns(self) -> frozenset[str] | None:
        """The columns that the job reads; None for all."""

    def start(self) -> State:
        """The state of no rows."""

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state with the rows of the chunk too; the given one may be changed in place."""

    def merge(self, first: State, second: State) -> State:
        """The state of the rows of both; either may be changed in place."""


class Part(Protocol):
    """Rows that are read one after the other, such as a file. It can be pickled."""

    @property
    def name(self) -> str:
        """What to call the part in messages."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of the part in order, a limited number at a time; columns None is all."""


class Engine(Protocol):
    """Data in parts, and what runs jobs over them: this process, Ray or Spark."""

    @property
    def name(self) -> str:
        """What to call the data in messages."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""

    def counts(self) -> list[int]:
        """How many rows each part has, in the order of the rows."""

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows; `firsts` are the numbers of the parts' first rows."""


def summarise_part(
    job: Job, batches: Iterator[pa.RecordBatch], first: int, read: ReadChunk
) -> State:
    """The state of the rows of one part."""
    state = job.start()
    for batch in batches:
        state = job.summarise(Chunk(first, read(batch)), state)
        first += batch.num_rows
    return state


def pack(state: State) -> bytes:
    """The state as bytes: for each array its name and numpy's own file format, never a pickle.

    >>> unpack(pack({"counts": np.array([3, 4])}))
    {'counts': array([3, 4])}
    """
    out = io.BytesIO()
    for name, array in state.items():
        encoded = name.encode()
        out.write(struct.pack("<I", len(encoded)))
        out.write(encoded)
        np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def unpack(packed: bytes) -> State:
    """The state that `pack` made the bytes of, bit for bit, in arrays that can be changed."""
    source = io.BytesIO(packed)
    state: State = {}
    while length := source.read(4):
        name = source.read(*struct.unpack("<I", length)).decode()
        state[name] = np.lib.format.read_array(source, allow_pickle=False)
    return state
