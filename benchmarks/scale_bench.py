"""Runs in processes of their own: what sqrl learns and checks, measured once for each size."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from measure import Json, KilledError, run_child
from scale_data import Sizes, write_files

GIB = 1 << 30
MEMORY = GIB  # that scan() is told
MOST_MEMORY = 2 * GIB  # the bar, and what DuckDB may use
# polars can be told no limit: it gets what a machine can spare, and no more, as others live there.
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MEMORIES = {"duckdb": MOST_MEMORY, "polars": MACHINE * 3 // 4}
SEED = 0
FEW = Sizes(10_000, 10_000)  # rows to compile with


@dataclass(slots=True, eq=False)
class Bench:
    """The files, the runs that were made, and where results go."""

    files: list[Path]
    rows: list[int]
    sizes: Sizes
    scratch: Path
    save: Callable[[str, Json], None]
    learned: dict[int, Json] = field(default_factory=dict)
    checked: dict[int, Json] = field(default_factory=dict)

    def run(
        self, task: str, engine: str, n_rows: int, *, limit: float | None = None, **more: object
    ) -> Json:
        """What a process of its own measures of a task on the first so many rows.

        Another library that takes over `limit` seconds, or more memory than it may, has failed.
        """
        files = self.files[: n_rows // self.sizes.file_rows]
        memory = MEMORIES.get(engine, MEMORY)
        job = {"task": task, "engine": engine, "files": list(map(str, files)), "memory": memory}
        job |= {"rules": None, "scratch": str(self.scratch)} | more
        load = round(os.getloadavg()[0], 2)
        try:
            found = run_child(job, script="scale_child.py", limit=limit)
        except subprocess.TimeoutExpired:
            return _failed(task, engine, n_rows, f"not done after {limit:.0f} s")
        except KilledError as error:
            if engine not in MEMORIES:
                raise
            return _failed(task, engine, n_rows, str(error))
        rounded = {key: _short(value) for key, value in found.items()}
        _tell(task, engine, n_rows, rounded)
        return {"rows": n_rows, **rounded, "load_before": load}

    def rules(self, n_rows: int) -> str:
        """The file of the rules that sqrl learns from so many rows."""
        return str(self.scratch / f"rules-{n_rows}.json")

    def learn(self, n_rows: int) -> Json:
        """How sqrl learns from so many rows; measured once."""
        if n_rows not in self.learned:
            self.learned[n_rows] = self.run("learn", "local", n_rows, rules=self.rules(n_rows))
        return self.learned[n_rows]

    def check(self, n_rows: int) -> Json:
        """How sqrl checks so many rows with rules learned from the fewest; measured once."""
        if n_rows not in self.checked:
            self.learn(self.rows[0])
            rules = self.rules(self.rows[0])
            self.checked[n_rows] = self.run("check", "local", n_rows, rules=rules)
        return self.checked[n_rows]


def _short(value: object) -> object:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _failed(task: str, engine: str, n_rows: int, why: str) -> Json:
    print(f"{task} {n_rows:,} rows, {engine}: {why}", file=sys.stderr)
    return {"rows": n_rows, "failed": why}


def _tell(task: str, engine: str, n_rows: int, found: Json) -> None:
    told = f"{task} {n_rows:,} rows, {engine}: {found.get('failed') or ''}"
    print(f"{told} {found['seconds']:.1f} s, {found['peak'] / GIB:.2f} GiB", file=sys.stderr)


def warm_up(bench: Bench) -> None:
    """Learn and check a few rows, so that every loop is compiled and kept on disk.

    So few would be left to numpy, and the first large run would wait for the compiler.
    """
    if bench.rows[0] <= FEW.file_rows:
        return  # what is to be measured is no more work
    few = Bench(
        write_files(bench.scratch, FEW.file_rows, FEW, seed=SEED),
        [FEW.file_rows],
        FEW,
        bench.scratch,
        bench.save,
    )
    with patch.dict(os.environ, {"SQRL_KERNELS": "compiled"}):
        few.check(FEW.file_rows)
        few.run("check", "memory", FEW.file_rows, rules=few.rules(FEW.file_rows))
