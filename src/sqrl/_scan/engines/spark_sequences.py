"""Columns that follow from the rows before, computed by Spark.

Rows are numbered, brought together by their entity, computed, and put back in the order that they
had: sorted by number, which gives partitions whose rows follow one another as before.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._data.arrow_arrays import from_numpy
from sqrl._data.column import Column
from sqrl._data.table import Table
from sqrl._scan.engines.spark import SparkEngine
from sqrl._scan.facts import Facts, Scanned
from sqrl._scan.portions import Wanted, portions_of
from sqrl._scan.side_columns import as_read

ROW, PORTION = "sqrl_row", "sqrl_portion"  # beside c0, c1 and so on
RecordBatches = Iterator[pa.RecordBatch]


def widen_spark(engine: SparkEngine, data: Scanned, wanted: Wanted, n_portions: int) -> SparkEngine:
    """The engine over a dataframe with the wanted columns, which Spark keeps."""
    from pyspark import StorageLevel
    from pyspark.sql.types import IntegerType, LongType, StructField, StructType

    narrow, names = engine.narrowed(None)
    n_portions = max(n_portions, narrow.sparkSession.sparkContext.defaultParallelism)
    fields = [*narrow.schema.fields, StructField(ROW, LongType())]
    numbered = StructType([*fields, StructField(PORTION, IntegerType())])
    made = wanted.compute(data.facts.no_rows())
    kinds = [StructField(f"s{place}", _spark_type(one)) for place, one in enumerate(made)]
    computed = StructType([*fields, *kinds])
    rows = narrow.mapInArrow(_numberer(data, wanted, names, n_portions), numbered)
    together = rows.repartition(n_portions, PORTION)
    found = together.mapInArrow(_computer(data.facts, wanted, names), computed)
    n_parts = max(1, len(engine.counts()))
    ordered = found.repartitionByRange(n_parts, ROW).sortWithinPartitions(ROW).drop(ROW)
    frame = ordered.toDF(*names, *wanted.names).persist(StorageLevel.MEMORY_AND_DISK)
    wider = SparkEngine(frame, name=engine.name)
    wider.stamp = (engine.stamp, wanted)
    weakref.finalize(wider, frame.unpersist).atexit = False  # Spark may have ended before
    return wider


def _spark_type(column: Column) -> Any:
    from pyspark.sql.types import BooleanType, DoubleType, StringType, TimestampNTZType

    made = {"category": StringType(), "boolean": BooleanType(), "date": TimestampNTZType()}
    return made.get(column.kind, DoubleType())


def _numberer(
    data: Scanned, wanted: Wanted, names: list[str], n_portions: int
) -> Callable[[RecordBatches], RecordBatches]:
    """What adds the number of each row and the portion that it is in."""
    facts, firsts = data.facts, data.firsts
    keys = [names.index(name) for name in wanted.row_order.entity]

    def number(batches: RecordBatches) -> RecordBatches:
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        first = firsts[part] if part < len(firsts) else 0
        for batch in batches:
            chosen = [batch.column(place) for place in keys]
            entity = list(wanted.row_order.entity)
            table = Table({}, batch.num_rows)
            if keys:
                table = facts(pa.RecordBatch.from_arrays(chosen, names=entity))
            portion = portions_of(table, wanted.row_order, n_portions)
            row = np.arange(first, first + batch.num_rows)
            more = [from_numpy(row), from_numpy(portion.astype(np.int32))]
            first += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *more], names=[*batch.schema.names, ROW, PORTION]
            )

    return number


def _computer(
    facts: Facts, wanted: Wanted, names: list[str]
) -> Callable[[RecordBatches], RecordBatches]:
    """What gives the rows of a partition, all of its portions, with the wanted columns."""
    behind = sorted(wanted.behind)

    def compute(batches: RecordBatches) -> RecordBatches:
        some = list(batches)
        if not some:
            return
        together = pa.Table.from_batches(some).drop_columns([PORTION])
        together = together.sort_by(ROW).combine_chunks()
        chosen = [together.column(f"c{names.index(name)}").combine_chunks() for name in behind]
        table = facts(pa.RecordBatch.from_arrays(chosen, names=behind))
        made = together
        for place, column in enumerate(wanted.compute(table)):
            values = as_read(column)
            if column.kind == "date":
                values = values.cast(pa.timestamp("us"), safe=False)
            made = made.append_column(f"s{place}", values)
        yield from made.to_batches()

    return compute
