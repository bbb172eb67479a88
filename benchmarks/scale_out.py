"""Measures what a cluster's time is made of, and disturbs scans of many small parts.

    python benchmarks/scale_out.py [--quick] [-o FILE]

States and merges of parts, what a part costs beside its rows, how many passes there are where rows
are thousands of times what memory holds, and what a task costs Ray's driver; `scale_model.py` makes
a forecast of it. Then 2,000 small parts, undisturbed, with parts that are slow and with workers
that are killed: the rules and counts must stay the same to the last bit.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import sqrl
from measure import HERE, Json, describe_run
from scale_child import digest, digest_of_rules
from scale_data import COLUMNS, SCHEMA, boxes
from sqrl import Scan
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.job import Job, Part, ReadChunk, State, Track, summarise_part

RESULTS = HERE / "results" / "scale_out.json"
GIB = 1 << 30
ROWS_A_GIB = (100_000_000, 10_000_000_000)  # of memory: as in scale.json, and as in the forecast
SLOW_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    large: tuple[int, int]  # parts and rows of each, for states and rates
    few: int  # parts that the rows of the large ones are cut into, to see what a part costs
    small: tuple[int, int]  # parts and rows of each, to be disturbed; a quarter to learn from
    slow: int  # parts that are slow
    killed: int  # workers that are killed


FULL = Sizes(large=(8, 250_000), few=400, small=(2000, 500), slow=40, killed=3)
QUICK = Sizes(large=(2, 4000), few=8, small=(48, 200), slow=3, killed=1)


@dataclass(frozen=True, slots=True, eq=False)
class MadePart:
    """Boxes that are made when they are read; slow, or the end of its reader, where it says so."""

    block: int
    n_rows: int
    seed: int = 0
    seconds: float = 0.0
    marker: str = ""  # a file that is there once the reader was killed

    @property
    def name(self) -> str:
        """What to call the part in messages."""
        return f"part {self.block}"

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows, in the columns that are wanted."""
        if self.marker and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)
        table = boxes(self.n_rows, seed=self.seed, block=self.block)
        wanted = [name for name in COLUMNS if columns is None or name in columns]
        yield from table.select(wanted or [COLUMNS[0]]).to_batches()


@dataclass(frozen=True, slots=True, eq=False)
class HeldPart:
    """Rows in memory, so that reading costs nothing."""

    name: str
    table: pa.Table

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows, in the columns that are wanted."""
        wanted = [name for name in COLUMNS if columns is None or name in columns]
        yield from self.table.select(wanted or [COLUMNS[0]]).to_batches()


@dataclass(slots=True, eq=False)
class Watched:
    """An engine that does parts one after the other, and notes what each pass costs."""

    parts: Sequence[Part]
    name: str = "boxes"
    names: tuple[str, ...] = COLUMNS
    passes: list[Json] = field(default_factory=list)

    def counts(self) -> list[int]:
        """How many rows each part has."""
        return [part.n_rows for part in self.parts]

    def run(
        self,
        job: Job,
        firsts: list[int],
        read: ReadChunk,
        *,
        track: Track | None = None,  # noqa: ARG002
    ) -> State:
        """The state of all rows."""
        total, sizes, counting, merging = job.start(), [], 0.0, 0.0
        for part, first in zip(self.parts, firsts, strict=True):
            start = time.process_time()
            state = summarise_part(job, part.read(job.columns), first, read)
            counting += time.process_time() - start
            sizes.append(sum(array.nbytes for array in state.values()))
            start = time.process_time()
            total = job.merge(total, state)
            merging += time.process_time() - start
        n = len(self.parts)
        self.passes.append(
            {
                "count_seconds": counting,
                "state_bytes": sum(sizes) / n,
                "merge_seconds": merging / n,
            }
        )
        return total


def small_parts(task: str, sizes: Sizes) -> tuple[int, int]:
    """How many small parts there are and how many rows each has; learning has more passes."""
    n_parts, part_rows = sizes.small
    return n_parts // 4 if task == "learn" else n_parts, part_rows


def cut(table: pa.Table, n_parts: int) -> list[HeldPart]:
    """The rows in so many parts of the same size."""
    size = table.num_rows // n_parts
    return [HeldPart(f"part {i}", table.slice(i * size, size)) for i in range(n_parts)]


def work(task: str, engine: Any, rules: sqrl.RuleSet, memory: int = GIB) -> str:
    """Learn or check, and a digest of what came out."""
    if task == "learn":
        return digest_of_rules(sqrl.learn(Scan(engine, memory), SCHEMA))
    tally = sqrl.check(rules, Scan(engine, memory))
    return digest(list(zip(tally.applicable.tolist(), tally.broken.tolist(), strict=True)))


def measure_constants(task: str, table: pa.Table, rules: sqrl.RuleSet, sizes: Sizes) -> Json:
    """States and merges of each pass over large parts; what a part costs, from many small ones."""
    found = {}
    for n_parts in (sizes.large[0], sizes.few):
        engine = Watched(cut(table, n_parts))
        work(task, engine, rules)
        found[n_parts] = engine.passes
    large, small = (
        sum(one["count_seconds"] for one in found[n]) / len(found[n])
        for n in (sizes.large[0], sizes.few)
    )
    return {
        "part_rows": sizes.large[1],
        "passes": found[sizes.large[0]],
        "part_seconds": max(0.0, (small - large) / (sizes.few - sizes.large[0])),
        "row_seconds": large / table.num_rows,
    }


def measure_passes(task: str, table: pa.Table, rules: sqrl.RuleSet) -> list[Json]:
    """How many passes there are by how many rows there are for a GiB of memory."""
    runs = []
    for rows_a_gib in ROWS_A_GIB:
        engine = Watched(cut(table, 4))
        work(task, engine, rules, int(GIB * table.num_rows / rows_a_gib))
        runs.append({"rows_a_gib": rows_a_gib, "passes": len(engine.passes)})
    return runs


def measure_many(task: str, constants: Json, rules: sqrl.RuleSet, sizes: Sizes) -> Json:
    """Many small parts one after the other, beside what the constants foretell for them."""
    n_parts, part_rows = small_parts(task, sizes)
    parts = [
        HeldPart(f"part {i}", boxes(part_rows, seed=0, block=i).combine_chunks())
        for i in range(n_parts)
    ]
    engine = Watched(parts)
    work(task, engine, rules)
    n_passes = len(engine.passes)
    merge = sum(one["merge_seconds"] for one in constants["passes"]) / len(constants["passes"])
    a_part = part_rows * constants["row_seconds"] + constants["part_seconds"] + merge
    measured = sum(one["count_seconds"] + n_parts * one["merge_seconds"] for one in engine.passes)
    return {
        "parts": n_parts,
        "part_rows": part_rows,
        "passes": n_passes,
        "cpu_seconds": measured,
        "foretold_cpu_seconds": n_passes * n_parts * a_part,
    }


def measure_disturbed(task: str, rules: sqrl.RuleSet, sizes: Sizes, folder: Path) -> list[Json]:
    """The same work undisturbed, with slow parts and with killed workers: is it the same?"""
    n_parts, part_rows = small_parts(task, sizes)
    plain = [MadePart(block, part_rows) for block in range(n_parts)]
    slow = list(plain)
    for block in range(0, n_parts, n_parts // sizes.slow):
        slow[block] = MadePart(block, part_rows, seconds=SLOW_SECONDS)
    dying = list(slow)
    for number in range(sizes.killed):
        block = (2 * number + 1) * n_parts // (2 * sizes.killed)
        dying[block] = MadePart(block, part_rows, marker=str(folder / f"{task}-{number}"))
    runs: list[Json] = []
    memory = GIB // 512  # small states: every one goes through Ray's object store
    for engine, what, parts in (
        ("local", "undisturbed", plain),
        ("local", "slow parts", slow),
        ("ray", "undisturbed", plain),
        ("ray", "slow parts and killed workers", dying),
    ):
        start = time.perf_counter()
        made = _engine(engine, parts)
        found = work(task, made, rules, memory)
        run = {"engine": engine, "what": what, "seconds": time.perf_counter() - start}
        runs.append(run | {"digest": found, "is_equal": not runs or found == runs[0]["digest"]})
        print(f"{task}, {engine}, {what}: {run['seconds']:.0f} s", file=sys.stderr, flush=True)
    return runs


def measure_driver(sizes: Sizes) -> Json:
    """Processor time of Ray's driver for each task, with tasks that do nothing."""
    n_parts = sizes.small[0]
    engine = _engine("ray", [MadePart(block, 1) for block in range(n_parts)])
    engine.run(Nothing(), [0] * n_parts, _as_is)  # what is started once
    start = time.process_time()
    engine.run(Nothing(), [0] * n_parts, _as_is)
    from scale_model import n_merges

    tasks = n_parts + n_merges(n_parts)
    return {"tasks": tasks, "seconds_a_task": (time.process_time() - start) / tasks}


@dataclass(frozen=True, slots=True)
class Nothing:
    """A job that looks at no row."""

    columns: frozenset[str] | None = frozenset()

    def start(self) -> State:
        """Nothing."""
        return {}

    def summarise(self, chunk: Any, state: State) -> State:  # noqa: ARG002
        """Nothing."""
        return state

    def merge(self, first: State, second: State) -> State:  # noqa: ARG002
        """Nothing."""
        return first


def _as_is(batch: pa.RecordBatch) -> Any:
    return batch


def _engine(name: str, parts: Sequence[Part]) -> Any:
    if name == "local":
        return LocalEngine("boxes", parts, names=COLUMNS)
    from sqrl._scan.engines.ray import RayEngine

    return RayEngine("boxes", parts, COLUMNS)


def measure(sizes: Sizes, folder: Path) -> Json:
    """All of it."""
    # Workers of Ray read parts that are made here.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    n_parts, part_rows = sizes.large
    table = boxes(n_parts * part_rows, seed=0, block=10**6).combine_chunks()
    rules = sqrl.learn(table.slice(0, min(200_000, table.num_rows)), SCHEMA)
    result = describe_run(("sqrl-rules", "numpy", "numba", "pyarrow", "ray"), seed=0)
    result |= {"constants": {}, "passes": {}, "many": {}, "disturbed": {}}
    for task in ("learn", "check"):
        work(task, Watched(cut(table.slice(0, 4000), 2)), rules)  # compiled loops are loaded
        constants = measure_constants(task, table, rules, sizes)
        result["constants"][task] = constants
        result["passes"][task] = measure_passes(task, table.slice(0, table.num_rows // 4), rules)
        result["many"][task] = measure_many(task, constants, rules, sizes)
        print(f"{task}: constants, passes and many parts", file=sys.stderr, flush=True)
    result["driver"] = measure_driver(sizes)
    for task in ("learn", "check"):
        result["disturbed"][task] = measure_disturbed(task, rules, sizes, folder)
    return result


def main() -> None:
    """Parse the command line, measure and write."""
    parser = argparse.ArgumentParser(description="Measures what a cluster's time is made of.")
    parser.add_argument("--quick", action="store_true", help="few small parts")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(QUICK if given.quick else FULL, Path(folder))
    given.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    # Under its own name, so that Ray's workers find the parts and the job.
    from scale_out import main as run_main

    run_main()
