"""Columns that follow from the rows before, computed by Ray tasks.

A task divides each part into portions, another computes each portion and gives every part its rows.
All of it lies in Ray's object store, which spills to disk, as long as the engine does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._data.arrow_arrays import from_numpy
from sqrl._data.column import Column, Kind
from sqrl._kernels.arrays import Int64s
from sqrl._scan.engines.ray import RETRIES, RayEngine, connect
from sqrl._scan.facts import Facts, Scanned
from sqrl._scan.job import Chunk, Part
from sqrl._scan.portions import Wanted, divide, portion_table
from sqrl._scan.side_columns import as_read, widened


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Some rows of a part by their numbers, and of each column its kind and words or numbers."""

    rows: Int64s
    kinds: list[Kind]
    values: list[Any]


def widen_ray(engine: RayEngine, data: Scanned, wanted: Wanted, n_portions: int) -> RayEngine:
    """The engine over parts that are read with the wanted columns."""
    if not engine.parts:
        return RayEngine(engine.name, (), (*engine.names, *wanted.names))
    ray, counts = connect(), engine.counts()
    work = ray.put((data.facts, wanted, n_portions))
    dividing = ray.remote(max_retries=RETRIES, num_returns=n_portions)(_divide)
    divided = [
        _listed(dividing.remote(work, part, first, getattr(part, "block", None)))
        for part, first in zip(engine.parts, data.firsts, strict=True)
    ]
    computing = ray.remote(max_retries=RETRIES, num_returns=len(counts))(_compute)
    computed = [
        _listed(computing.remote(work, data.firsts, *(one[portion] for one in divided)))
        for portion in range(n_portions)
    ]
    parts = [
        WiderBlock(part, first, [one[place] for one in computed], wanted)
        for place, (part, first) in enumerate(zip(engine.parts, data.firsts, strict=True))
    ]
    return RayEngine(engine.name, parts, (*engine.names, *wanted.names))


def _listed(references: Any) -> list[Any]:
    """What a task gives, which Ray does not put in a list where it is one thing."""
    return references if isinstance(references, list) else [references]


def _divide(work: tuple[Facts, Wanted, int], part: Part, first: int, _block: object) -> Any:
    """For each portion the batches of a part that are in it."""
    facts, wanted, n_portions = work
    divided: list[list[pa.RecordBatch]] = [[] for _ in range(n_portions)]
    for batch in part.read(wanted.behind):
        chunk = Chunk(first, facts(batch))
        batches = divide(chunk, wanted.behind, wanted.row_order, n_portions)
        for some, one in zip(divided, batches, strict=True):
            some.append(one)
        first += batch.num_rows
    return divided if n_portions > 1 else divided[0]


def _compute(
    work: tuple[Facts, Wanted, int], firsts: Sequence[int], *divided: list[pa.RecordBatch]
) -> Any:
    """For each part the rows that a portion has of it, with the wanted columns."""
    facts, wanted, _ = work
    batches = [batch for some in divided for batch in some]
    table, rows = portion_table(batches, facts, wanted.behind)
    columns = list(wanted.compute(table))
    ends = np.searchsorted(rows, [*firsts, np.iinfo(np.int64).max])
    kinds = [column.kind for column in columns]
    found: list[Found] = []
    for begin, end in pairwise(ends.tolist()):
        some = [column.take(np.arange(begin, end)) for column in columns]
        values = [as_read(one) if one.kind == "category" else one.values for one in some]
        found.append(Found(rows[begin:end], kinds, values))
    return found if len(found) > 1 else found[0]


@dataclass(frozen=True, slots=True, eq=False)
class WiderBlock:
    """A part whose rows have more columns, in as many objects as there are portions."""

    part: Part
    first: int
    found: list[Any]
    wanted: Wanted

    @property
    def name(self) -> str:
        """What to call the part in messages."""
        return self.part.name

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.part.n_rows

    @property
    def stamp(self) -> Any:
        """What tells it from parts with other rows, or other columns."""
        return getattr(self.part, "stamp", self.part.name), self.wanted

    @property
    def block(self) -> Any:
        """Where most of it lies, if it is in the object store."""
        return getattr(self.part, "block", None)

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of the part in order; columns None is all."""
        asked = [n for n in self.wanted.names if columns is None or n in columns]
        more = self._columns(asked) if asked and self.n_rows else {}

        def beside(name: str, first: int, n_rows: int) -> pa.Array:
            return more[name].slice(first, n_rows)

        yield from widened(self.part, columns, asked, beside, self.wanted.stand_in)

    def _columns(self, asked: list[str]) -> dict[str, pa.Array]:
        """The columns that are asked for, of all rows of the part."""
        import ray

        found: list[Found] = ray.get(self.found)
        rows = np.concatenate([one.rows for one in found]) - self.first
        made = {}
        for name in asked:
            place = self.wanted.names.index(name)
            values, kind = [one.values[place] for one in found], found[0].kinds[place]
            if kind == "category":
                at = np.full(self.n_rows, -1, np.int64)
                at[rows] = np.arange(rows.size)
                words = pa.chunked_array(values, pa.string()).combine_chunks()
                made[name] = words.take(from_numpy(at, at < 0))
            else:
                numbers = np.full(self.n_rows, np.nan)
                numbers[rows] = np.concatenate(values)
                made[name] = as_read(Column(name, kind, numbers))
        return made
