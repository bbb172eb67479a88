"""Learns or checks once in this process, and prints time, memory and a digest; the job is on stdin.

A process of its own for each, because the peak of a process's memory never falls again.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqrl
from child import peak_memory
from measure import Json
from scale_data import SCHEMA
from scale_memory import TreePeak, end_above
from scale_rules import differences
from sqrl import RuleSet, Scan, scan
from sqrl._scan.job import Engine, Job, ReadChunk, State, Track
from sqrl_paper.results import n_cores


@dataclass(slots=True, eq=False)
class Counted:
    """An engine that counts how often it goes over the rows."""

    engine: Engine
    passes: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def run(
        self, job: Job, firsts: list[int], read: ReadChunk, *, track: Track | None = None
    ) -> State:
        """The state of all rows."""
        self.passes += 1
        return self.engine.run(job, firsts, read, track=track)


@contextmanager
def _spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master(f"local[{n_cores()}]").appName("sqrl benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@contextmanager
def _opened(job: Json) -> Iterator[Callable[[], Any]]:
    """What opens the data; a cluster is started before."""
    files, memory = job["files"], job["memory"]
    if job["engine"] == "memory":
        import pyarrow.parquet as pq

        yield lambda: sqrl.as_table(pq.ParquetDataset(files).read())
    elif job["engine"] == "local":
        yield lambda: scan(files, memory=memory)
    elif job["engine"] == "ray":
        from sqrl._scan.engines.ray import connect

        ray = connect()
        yield lambda: scan(files, engine="ray", memory=memory)
        ray.shutdown()
    else:
        with _spark() as session:
            yield lambda: scan(session.read.parquet(*files), memory=memory)


def measure_sqrl(job: Json) -> Json:
    """One learn or one check by sqrl; opening the files is part of the time."""
    started = time.perf_counter()
    with _opened(job) as opened, TreePeak() as tree:
        ready, before = time.perf_counter(), time.process_time()
        data, counted = opened(), None
        if isinstance(data, Scan):
            counted = Counted(data.engine)
            data = Scan(counted, data.memory)
        if job["task"] == "learn":
            rules = sqrl.learn(data, SCHEMA)
            found = {"rules": len(rules), "digest": digest_of_rules(rules)}
        else:
            tally = sqrl.check(sqrl.load_rules(job["rules"]), data)
            pairs = list(zip(tally.applicable.tolist(), tally.broken.tolist(), strict=True))
            chances = [tally.expected.tobytes(), tally.p_value.tobytes()]
            effects = tally.row_effect.tobytes()
            found = {
                "violations": tally.total,
                "counts": digest(pairs),
                "digest": digest([pairs, chances, effects]),
            }
        seconds, cpu_seconds = time.perf_counter() - ready, time.process_time() - before
    if job["task"] == "learn" and job["rules"]:
        rules.save(job["rules"])
    alone = job["engine"] in {"local", "memory"}
    return found | {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds if alone else None,
        "start_seconds": ready - started,
        "peak": peak_memory() if alone else tree.peak,
        "passes": counted.passes if counted is not None else None,
    }


def measure_other(job: Json) -> Json:
    """The same work by DuckDB or polars."""
    rules = sqrl.load_rules(job["rules"])
    prepared = _prepare_duckdb if job["engine"] == "duckdb" else _prepare_polars
    works, too_much = prepared(job, rules)
    found: Json = {}
    start, before = time.perf_counter(), time.process_time()
    try:
        made = works[job["task"]]()
    except too_much as error:
        found = {"failed": str(error).splitlines()[0][:200]}
    found |= {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - before,
        "peak": peak_memory(),
    }
    if "failed" in found:
        return found
    if job["task"] != "learn":
        return found | {"counts": digest([tuple(pair) for pair in made])}
    differing = list(differences(rules, *made))
    return found | {
        "values": len(differing),
        "equal": sum(value == 0 for value in differing),
        "largest_difference": max(differing),
    }


Works = dict[str, Callable[[], Any]]


def _prepare_duckdb(job: Json, rules: RuleSet) -> tuple[Works, type[Exception]]:
    """The work of each task, and what is raised where memory is too short for it."""
    import duckdb

    import scale_duckdb

    scratch = Path(job["scratch"])
    connection = scale_duckdb.connect(
        job["files"], scratch, memory=job["memory"], threads=n_cores()
    )
    works: Works = {
        "learn": lambda: scale_duckdb.bounds(connection, at_once=job["at_once"]),
        "check": lambda: scale_duckdb.counts(connection, rules),
        "export": lambda: scale_duckdb.exported_counts(connection, rules),
    }
    return works, duckdb.OutOfMemoryException


def _prepare_polars(job: Json, rules: RuleSet) -> tuple[Works, type[Exception]]:
    """The work of each task; a process that takes more memory than it may is ended."""
    os.environ["POLARS_MAX_THREADS"] = str(n_cores())
    import scale_polars

    end_above(job["memory"])
    works: Works = {
        "learn": lambda: scale_polars.bounds(scale_polars.boxes(job["files"])),
        "check": lambda: scale_polars.counts(scale_polars.boxes(job["files"]), rules),
    }
    return works, MemoryError


def digest_of_rules(rules: RuleSet) -> str:
    """Tells whether two sets of rules are the same to the last bit."""
    return digest([rules.texts(), rules.table.to_pylist()])


def digest(of: object) -> str:
    """The hash of what Python shows of it; it shows every bit of a float."""
    return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


def main() -> None:
    """Do the job: `task`, `engine`, `files`, `rules`, `memory`, `scratch`, `at_once`."""
    job = json.load(sys.stdin)
    work = measure_other if job["engine"] in {"duckdb", "polars"} else measure_sqrl
    print(json.dumps(work(job)))


if __name__ == "__main__":
    main()
