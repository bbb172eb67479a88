"""Jobs over the partitions of a Spark dataframe, through mapInArrow.

Each partition gives one row with its state. There are no accumulators: those count a task that is
run again twice, while a row of a task that failed is never seen.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa

from sqrl import errors
from sqrl._scan.engines.rechunk import gathered
from sqrl._scan.job import Job, ReadChunk, State, Track, pack, summarise_part, unpack
from sqrl.errors import DataError, SqrlError, unknown

SPARK_SCHEMA = "parts array<int>, rows array<bigint>, state binary, error string"
ARROW_SCHEMA = pa.schema(
    {
        "parts": pa.list_(pa.int32()),
        "rows": pa.list_(pa.int64()),
        "state": pa.binary(),
        "error": pa.string(),
    }
)

# Bytes of a value by Spark's name of the type; what is not here is of any length.
SIZES = {"boolean": 1, "byte": 1, "short": 2, "integer": 4, "float": 4, "date": 4, "long": 8}
RecordBatches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True, eq=False)
class SparkRow:
    """The numbers of the partitions, how many rows each has, and their packed state or an error.

    An error travels as data: raised in a worker, it would be tried again in vain and then reach
    people as a Java stack trace.
    """

    parts: list[int]
    rows: list[int]
    state: bytes | None
    error: SqrlError | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "SparkRow":
        """The row from its fields, as Arrow and Spark give them."""
        state = None if row["state"] is None else bytes(row["state"])
        error = None if row["error"] is None else _error(row["error"])
        return cls(row["parts"], row["rows"], state, error)

    def to_batch(self) -> pa.RecordBatch:
        """A batch of this one row.

        >>> error = errors.DataError("The file is empty.", where="a.csv")
        >>> batch = SparkRow([3], [0], None, error).to_batch()
        >>> print(SparkRow.of(batch.to_pylist()[0]).error)
        The file is empty.
          where: a.csv
        """
        error = None if self.error is None else _text(self.error)
        row = {"parts": self.parts, "rows": self.rows, "state": self.state, "error": error}
        return pa.RecordBatch.from_pylist([row], schema=ARROW_SCHEMA)


def _text(error: SqrlError) -> str:
    kind = type(error).__name__
    return json.dumps({"kind": kind, "what": error.what, "where": error.where, "fix": error.fix})


def _error(text: str) -> SqrlError:
    fields = json.loads(text)
    kind: type[SqrlError] = getattr(errors, fields["kind"], SqrlError)
    return kind(fields["what"], where=fields["where"], fix=fields["fix"])


class SparkEngine:
    """A Spark dataframe, each partition of it a part.

    Rows are numbered in the order of the partitions. Spark computes a dataframe anew for every
    pass: one that does not come straight from files should be cached or written first.

    Groups of about `fan_in` states are merged by tasks, until twice as many are left: those are
    merged here.
    """

    def __init__(self, frame: Any, *, name: str = "Spark dataframe", fan_in: int = 8) -> None:
        self._frame = frame
        self._fan_in = fan_in
        self.stamp: Any = None  # of what was computed for it, to tell it from other such data
        self.name = name
        self.names = tuple(frame.columns)

    def counts(self) -> list[int]:
        """How many rows each partition has, in order; found once."""
        return list(self._counts)

    @cached_property
    def _counts(self) -> list[int]:
        narrow, _ = self.narrowed(frozenset())
        found = {row[0]: row[1] for row in narrow.mapInArrow(_count, "part int, n long").collect()}
        return [found.get(part, 0) for part in range(max(found, default=-1) + 1)]

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows; `firsts` are the numbers of the partitions' first rows."""
        counts = self.counts()
        narrow, names = self.narrowed(job.columns)
        rows = narrow.mapInArrow(_summariser(job, firsts, read, names), SPARK_SCHEMA)
        n_states = len(counts)
        while n_states > 2 * self._fan_in:
            n_states = -(-n_states // self._fan_in)
            rows = _grouped(rows, n_states).mapInArrow(_merger(job), SPARK_SCHEMA)
        merged = _merged(job, [SparkRow.of(row.asDict()) for row in rows.collect()])
        if merged.error:
            raise merged.error
        seen = {part: n for part, n in zip(merged.parts, merged.rows, strict=True) if n}
        if seen != {part: n for part, n in enumerate(counts) if n}:
            raise DataError(
                "The dataframe was computed anew for this pass and gave other rows than when they "
                "were counted.",
                where=self.name,
                fix="call cache() on it, or write it to Parquet and read that",
            )
        if track:
            track(sum(counts), sum(counts))
        return job.start() if merged.state is None else unpack(merged.state)

    def narrowed(self, columns: frozenset[str] | None) -> tuple[Any, list[str]]:
        """The dataframe of only these columns, called c0, c1 and so on, and their true names.

        Of no columns, it is the one with the smallest values, so that there are rows to count.
        Spark reads a point in a name as a field in a structure; the new names have none.
        """
        from pyspark.sql.functions import col

        known = {field.name: field.dataType.typeName() for field in self._frame.schema.fields}
        for name in sorted((columns or frozenset()) - set(known)):
            raise unknown("column", name, known, where=self.name)
        names = [name for name in known if columns is None or name in columns]
        if not names:
            names = sorted(known, key=lambda name: SIZES.get(known[name], 16))[:1]
        quoted = ["`" + name.replace("`", "``") + "`" for name in names]
        chosen = [col(name).alias(f"c{position}") for position, name in enumerate(quoted)]
        return self._frame.select(*chosen), names


def _count(batches: RecordBatches) -> RecordBatches:
    from pyspark import TaskContext

    n_rows = sum(batch.num_rows for batch in batches)
    part = pa.array([TaskContext.get().partitionId()], pa.int32())
    yield pa.record_batch({"part": part, "n": pa.array([n_rows], pa.int64())})


def _summariser(
    job: Job, firsts: list[int], read: ReadChunk, names: list[str]
) -> Callable[[RecordBatches], RecordBatches]:
    """What gives the one row of a partition; all that it needs travels with it."""

    def summarise(batches: RecordBatches) -> RecordBatches:
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        # A part that was not counted is found out by the one who collects the rows.
        first = firsts[part] if part < len(firsts) else 0
        named = _Named(batches, names)
        try:
            state = summarise_part(job, gathered(named), first, read)
        except SqrlError as error:
            yield SparkRow([part], [named.n_rows], None, error).to_batch()
        else:
            yield SparkRow([part], [named.n_rows], pack(state), None).to_batch()

    return summarise


@dataclass(slots=True, eq=False)
class _Named:
    """The batches with their columns' true names, and how many rows went by."""

    batches: RecordBatches
    names: list[str]
    n_rows: int = 0

    def __iter__(self) -> RecordBatches:
        for batch in self.batches:
            self.n_rows += batch.num_rows
            yield pa.RecordBatch.from_arrays(batch.columns, names=self.names)


def _grouped(rows: Any, n_groups: int) -> Any:
    """The rows in groups that depend on their parts alone, so that a stage can be run again."""
    from pyspark.sql.functions import expr

    return rows.repartition(n_groups, expr(f"parts[0] % {n_groups}"))


def _merger(job: Job) -> Callable[[RecordBatches], RecordBatches]:
    """What gives one row for all rows of a partition."""

    def merge(batches: RecordBatches) -> RecordBatches:
        rows = [SparkRow.of(row) for batch in batches for row in batch.to_pylist()]
        if rows:
            yield _merged(job, rows).to_batch()

    return merge


def _merged(job: Job, rows: list[SparkRow]) -> SparkRow:
    """One row for all: the state of their parts, or the error of the first part that has one."""
    parts = [part for row in rows for part in row.parts]
    n_rows = [n for row in rows for n in row.rows]
    failed = [row for row in rows if row.error]
    if failed:
        return SparkRow(parts, n_rows, None, min(failed, key=lambda row: row.parts[0]).error)
    states = [row.state for row in rows if row.state is not None]
    state = pack(reduce(job.merge, map(unpack, states))) if states else None
    return SparkRow(parts, n_rows, state, None)
