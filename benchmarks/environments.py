"""Empty environments, what is installed in them, and commands that run there."""

import os
import resource
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import HERE

CONSTRAINTS = HERE.parent / "constraints.txt"
QUIET = ("--quiet", "--disable-pip-version-check")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command wrote, and what it took: seconds on the clock, and seconds of processors."""

    out: str
    err: str
    seconds: float
    cpu: float


def run(arguments: Sequence[str | Path], *, expect: int = 0, cwd: Path | None = None) -> Ran:
    """A command that has ended with the status that is expected of it; else we end too."""
    # What the caller's Python looks at must not be seen by the environments.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    start, before = time.perf_counter(), _cpu()
    done = subprocess.run(arguments, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    took, cpu = time.perf_counter() - start, _cpu() - before
    if done.returncode != expect:
        command = " ".join(map(str, arguments))
        sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return Ran(out=done.stdout, err=done.stderr, seconds=round(took, 2), cpu=round(cpu, 2))


def environment(folder: Path, *packages: str) -> Path:
    """The folder of commands of a new environment with these packages."""
    venv.create(folder, with_pip=True)
    if packages:
        install(folder / "bin", *packages)
    return folder / "bin"


def install(commands: Path, *packages: str, constrained: bool = False) -> Ran:
    """Install packages, by choice in the versions that tests use."""
    bounds = ("--constraint", CONSTRAINTS) if constrained else ()
    return run([commands / "python", "-m", "pip", "install", *QUIET, *bounds, *packages])


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
