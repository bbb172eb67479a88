"""How results came about, and what several seeds say together."""

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from sqrl_paper.sources import digests, read_sources

Json = dict[str, Any]
PACKAGE = Path(__file__).parent.parent
DIGITS = 6


def spread(values: Sequence[float]) -> Json:
    """The mean, the standard deviation between seeds (0 for one), and the values themselves.

    >>> spread([1.0, 2.0, 3.0])
    {'mean': 2.0, 'spread': 1.0, 'seeds': [1.0, 2.0, 3.0]}
    """
    return {
        "mean": fmean(values),
        "spread": stdev(values) if len(values) > 1 else 0.0,
        "seeds": [float(f"{value:.{DIGITS}g}") for value in values],
    }


def show_spread(one: Json | None, digits: int, *, factor: float = 1.0) -> str:
    """A mean and its spread as text, a dash where there is none.

    >>> show_spread(spread([0.5, 0.7]), 1, factor=100)
    '60.0 ± 14.1'
    """
    if one is None:
        return "-"
    return f"{factor * one['mean']:z.{digits}f} ± {factor * one['spread']:.{digits}f}"


def redundant(sources: list[Json]) -> float:
    """Redundant rules in % of those whose bounds agree on held-out rows, mean over seeds.

    >>> redundant([{"counts": {"redundant": 1, "valid": 2, "selected": 1}}])
    25.0
    """
    counts = [one["counts"] for one in sources]
    return fmean(
        100 * one["redundant"] / max(1, one["redundant"] + one["valid"] + one["selected"])
        for one in counts
    )


def aim(
    what: str,
    measured: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Json:
    """A figure that was promised beside the one that was measured.

    >>> aim("time", 12.0, "minutes", at_most=60)["met"]
    True
    """
    met = (at_most is None or measured <= at_most) and (at_least is None or measured >= at_least)
    return {
        "what": what,
        "unit": unit,
        "at_most": at_most,
        "at_least": at_least,
        "measured": float(f"{measured:.4g}"),
        "met": met,
    }


def describe_machine() -> Json:
    """Processor, cores, memory and operating system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": n_cores(),
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def n_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_versions(libraries: Sequence[str]) -> dict[str, str]:
    """The version of Python and of the libraries, empty for one that is not installed."""
    return {"python": platform.python_version()} | {name: _version(name) for name in libraries}


def describe_commit() -> Json:
    """The commit of the code that ran, whether the code differs from it, and digests of the code.

    Without git, or installed, there are none. The digests tell later what has changed since.
    """
    root = PACKAGE.parent.parent
    if not (root / ".git").exists():
        return {"id": None, "dirty": None}
    code = ["src", "paper/src", "benchmarks", ":!benchmarks/results"]
    try:
        commit = _git("rev-parse", "HEAD", cwd=root).strip()
        changed = _git("status", "--porcelain", "--", *code, cwd=root)
    except (OSError, subprocess.CalledProcessError):
        return {"id": None, "dirty": None}
    rooms = digests(read_sources(root))
    return {"id": commit, "dirty": bool(changed.strip()), "rooms": rooms}


def _git(*words: str, cwd: Path) -> str:
    command = ["git", "--no-optional-locks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd)
    return done.stdout


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()
