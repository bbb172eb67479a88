"""Jobs over the partitions of a Spark dataframe, on this machine."""

import os
import shutil
import sys

import numpy as np
import pytest

import sqrl
from engine_jobs import (
    BY_DAY,
    PATHS,
    RULES,
    SEQUENCES,
    TWICE,
    CountOnly,
    Dies,
    Fails,
    Names,
    Toy,
    bits,
    expected,
    made_rows,
    made_visits,
    run,
    sequences_in_memory,
    sequences_scanned,
)
from sqrl._scan.engines.spark import SparkEngine
from sqrl.errors import DataError, UnknownNameError

SLOW = pytest.mark.skipif("not os.environ.get('SQRL_SLOW')", reason="takes long: make slow")

pyspark = pytest.importorskip(
    "pyspark", reason='pyspark is not installed: pip install "sqrl-rules[spark]"'
)
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Spark's own code, when it starts and ends
    pytest.mark.skipif(
        not (os.environ.get("JAVA_HOME") or shutil.which("java")),
        reason="Spark needs Java, and none was found: install a JDK or set JAVA_HOME",
    ),
]
SCHEMA = "x double, pet string, n long"


@pytest.fixture(scope="module")
def spark():
    """A session of two cores, in which a task may fail three times."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", PATHS)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "1g",
            # Little work, done once: to compile it well takes longer than the work.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.log.level": "OFF",
            "spark.python.authenticate.socketTimeout": "5m",  # a busy machine is slow to start
        }
        builder = SparkSession.builder.master("local[2,4]").appName("sqrl tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def frame_of(spark, table, n_partitions):
    """The table as a dataframe of so many partitions, its rows in order."""
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, n_partitions), SCHEMA)


@pytest.mark.parametrize(
    ("n_partitions", "fan_in"),
    [(20, 2), pytest.param(1, 8, marks=SLOW)],
)
def test_spark_gives_the_same_bits_as_all_rows_at_once(spark, n_partitions, fan_in):
    """Neither the number of partitions nor the levels of merging change the state.

    Twenty partitions, merged two at a time: ten, five, and three that are merged at home.
    """
    table = made_rows()
    engine = SparkEngine(frame_of(spark, table, n_partitions), fan_in=fan_in)

    assert len(engine.counts()) == n_partitions
    assert sum(engine.counts()) == 2000
    assert bits(run(engine, Toy())) == bits(expected(table))


def test_empty_partitions_and_no_rows_give_the_state_of_the_rows_there_are(spark):
    """Nothing to read is no error."""
    table = made_rows(3)

    assert bits(run(SparkEngine(frame_of(spark, table, 5)), Toy())) == bits(expected(table))
    empty = SparkEngine(spark.createDataFrame([], SCHEMA))
    assert bits(run(empty, Toy())) == bits(Toy().start())


def test_a_python_worker_that_is_killed_at_work_changes_nothing(spark, tmp_path):
    """Spark runs its task again, and it is counted once."""
    table = made_rows()
    marker = tmp_path / "died"
    state = run(SparkEngine(frame_of(spark, table, 4)), Dies(marker=str(marker), row=700))

    assert marker.exists()
    assert bits(state) == bits(expected(table))


def test_an_error_of_ours_comes_through_with_its_own_text(spark):
    """What was wrong, where and how to mend it; no Java stack trace, and through merges too."""
    what, where, fix = "The file is damaged.", "b.parquet", "write it again"
    for n_partitions in (2, 20):
        with pytest.raises(DataError) as raised:
            run(SparkEngine(frame_of(spark, made_rows(), n_partitions)), Fails(row=700))

        assert type(raised.value) is DataError
        assert str(raised.value) == f"{what}\n  where: {where}\n  fix:   {fix}"


def test_only_the_columns_that_are_asked_for_are_read(spark):
    """A point, a space or a quote in a name is part of the name."""
    odd = {"x": "a.b", "pet": "the `pet`", "n": "n"}
    frame = frame_of(spark, made_rows(10), 2).withColumnsRenamed(odd)
    engine = SparkEngine(frame, name="odd names")
    some = run(engine, Names(columns=frozenset({"a.b", "the `pet`"})))
    with pytest.raises(UnknownNameError) as raised:
        run(engine, Names(columns=frozenset({"a.c"})))

    assert some["names"].tolist() == ["a.b", "the `pet`"]
    assert run(engine, Names())["names"].tolist() == ["a.b", "n", "the `pet`"]
    assert run(engine, Names(columns=frozenset()))["names"].tolist() == ["n"]
    what, where, fix = "Unknown column 'a.c'.", "odd names", "did you mean 'a.b'?"
    assert str(raised.value) == f"{what}\n  where: {where}\n  fix:   {fix}"


def test_small_batches_reach_the_job_joined(spark):
    """Kernels see many rows at a time, whatever the session's size of Arrow batches is."""
    most = "spark.sql.execution.arrow.maxRecordsPerBatch"

    class Sizes(CountOnly):
        def start(self):
            return {"n": np.array([], np.int64)}

        def summarise(self, chunk, state):
            return {"n": np.append(state["n"], chunk.table.n_rows)}

        def merge(self, first, second):
            return {"n": np.append(first["n"], second["n"])}

    spark.conf.set(most, 7)
    try:
        state = run(SparkEngine(frame_of(spark, made_rows(100), 2)), Sizes())

        assert state["n"].tolist() == [50, 50]
        assert spark.conf.get(most) == "7"
    finally:
        spark.conf.unset(most)


def test_progress_ends_with_all_rows(spark):
    """A person sees that the pass is done."""
    told = []
    engine = SparkEngine(frame_of(spark, made_rows(100), 2))
    run(engine, CountOnly(), track=lambda *rows: told.append(rows))

    assert told[-1] == (100, 100)


def test_a_dataframe_that_gives_other_rows_at_each_pass_is_refused(spark, tmp_path):
    """A wrong result would be worse than none; the message says how to hold the rows still."""
    marker = tmp_path / "seen"

    def grow(rows):
        yield from rows
        if marker.exists():
            yield (1.0, "cat", 7)

    table = made_rows(20)
    rows = spark.sparkContext.parallelize([tuple(row.values()) for row in table.to_pylist()], 2)
    engine = SparkEngine(spark.createDataFrame(rows.mapPartitions(grow), SCHEMA), name="growing")
    engine.counts()
    marker.touch()
    with pytest.raises(DataError) as raised:
        run(engine, Toy())

    assert str(raised.value) == (
        "The dataframe was computed anew for this pass and gave other rows than when they "
        "were counted.\n  where: growing\n"
        "  fix:   call cache() on it, or write it to Parquet and read that"
    )


def test_rules_and_counts_are_those_of_memory_to_the_last_bit(spark):
    """From partitions of a dataframe as from one table."""
    table = made_rows()
    frame = frame_of(spark, table, 5)
    whole = sqrl.learn(table, RULES)

    assert sqrl.learn(frame, RULES).table.equals(whole.table)
    assert sqrl.check(whole, frame).to_dict() == sqrl.check(whole, table).to_dict()


@SLOW
def test_a_task_killed_during_learn_and_during_check_changes_nothing(spark, tmp_path):
    """Spark runs it again, and the rules and the counts are the same."""
    table = made_rows()
    schema = {**RULES, "rules": RULES["rules"][:1]}
    whole = sqrl.learn(table, schema)
    marks = tmp_path / "learn", tmp_path / "check"

    def dying(mark, at):
        def pass_on(batches):
            from engine_jobs import die_once

            die_once(str(mark), at)
            yield from batches

        return frame_of(spark, table, 2).mapInArrow(pass_on, SCHEMA)

    rules = sqrl.learn(dying(marks[0], 5), schema)
    found = sqrl.check(whole, dying(marks[1], 4))

    assert marks[0].stat().st_size > 5
    assert marks[1].stat().st_size > 4
    assert rules.table.equals(whole.table)
    assert found.to_dict() == sqrl.check(whole, table).to_dict()


def test_columns_that_follow_from_rows_before_are_those_of_memory(spark):
    """In the order that the rows had, to the last bit."""
    table = made_visits(200)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    kinds = "who string, day long, x double, city string, flag boolean"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), kinds)
    expected = sequences_in_memory(table, SEQUENCES, BY_DAY, TWICE)

    found = sequences_scanned(SparkEngine(frame), SEQUENCES, BY_DAY, TWICE)

    for name in SEQUENCES:
        assert found[name].tolist() == pytest.approx(expected[name].tolist(), nan_ok=True)
        assert found[name].tobytes() == expected[name].tobytes()
