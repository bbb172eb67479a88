"""Repeated timing, the machine it ran on, and jobs in processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from sqrl_paper.results import aim as bar
from sqrl_paper.results import describe_commit, describe_machine, describe_versions

__all__ = ["bar", "describe_commit", "describe_machine", "describe_versions"]
HERE = Path(__file__).parent
Json = dict[str, Any]
LIBRARIES = (
    "sqrl-rules",
    "numpy",
    "numba",
    "llvmlite",
    "pyarrow",
    "pyfim",
    "mlxtend",
    "pysubgroup",
    "scikit-learn",
    "pandas",
)
ADAPT_LIBRARIES = (
    "sqrl-rules",
    "numpy",
    "torch",
    "rtdl_revisiting_models",
    "safetensors",
    "scikit-learn",
    "pandas",
)


class KilledError(RuntimeError):
    """A process was ended by a signal, as one is that wants more memory than it may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much work the benchmark does."""

    quick: bool
    seed: int
    repetitions: int  # of what takes under a second
    few: int  # of what takes longer
    time_limit: float  # seconds, for one run of a library that may be slow


def settings(*, quick: bool, seed: int = 0) -> Settings:
    """The full benchmark, or one that only shows that everything runs."""
    if quick:
        return Settings(quick=True, seed=seed, repetitions=2, few=1, time_limit=1.0)
    return Settings(quick=False, seed=seed, repetitions=9, few=3, time_limit=60.0)


def describe_run(libraries: Sequence[str], seed: int) -> Json:
    """What every results file begins with: the day, the commit, the machine, versions, the seed."""
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(libraries),
        "seed": seed,
    }


def put_between(text: str, begin: str, end: str, made: str) -> str:
    """A page with this between its two marks, which stand in it once."""
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    assert len(pattern.findall(text)) == 1, f"the page has no single {begin}"
    return pattern.sub(lambda _: f"{begin}\n\n{made}\n\n{end}", text)


def timing(seconds: Sequence[float]) -> Json:
    """All repetitions with their minimum and median, in seconds."""
    rounded = [float(f"{value:.4g}") for value in seconds]
    return {"seconds": rounded, "min": min(rounded), "median": median(rounded)}


def alternate(works: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, Json]:
    """The timing of each piece of work.

    They take turns, so that whatever else the machine does meanwhile falls on all alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repetitions):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return {name: timing(values) for name, values in seconds.items()}


def repeat(work: Callable[[], object], repetitions: int) -> Json:
    """The timing of one piece of work."""
    return alternate({"work": work}, repetitions)["work"]


def run_command(command: Sequence[str], *, cwd: Path | None = None) -> str:
    """What a command prints; an error with its last words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def run_child(
    job: Json,
    *,
    script: str = "child.py",
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> Json:
    """What a script measures of a job, in a process of its own: what it prints last.

    subprocess.TimeoutExpired where it takes more than `limit` seconds; KilledError where a signal
    ends it.
    """
    done = subprocess.run(
        [sys.executable, HERE / script],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode < 0:
        first = next(iter(done.stderr.strip().splitlines()), "nothing said")
        raise KilledError(f"ended by {signal.Signals(-done.returncode).name}: {first[:200]}")
    if done.returncode:
        raise RuntimeError(f"{script} failed: {done.stderr.strip()[-3000:]}")
    result: Json = json.loads(done.stdout.splitlines()[-1])
    return result


def refuse_other_conditions(result: Json, path: Path, conditions: Sequence[str]) -> None:
    """Stop where sections of an earlier run would stand beside those of another machine or code."""
    earlier: Json = json.loads(path.read_text())
    differing = [key for key in conditions if earlier.get(key) != result[key]]
    if differing:
        raise SystemExit(
            f"{path.name} has sections measured under other conditions "
            f"({', '.join(differing)}). Leave --only out, or give another -o."
        )


def sqrl_command() -> list[str]:
    """The installed `sqrl` command of this interpreter."""
    script = Path(sys.executable).with_name("sqrl")
    if script.exists():
        return [str(script)]
    return [sys.executable, "-c", "from sqrl.cli import main; main()"]
