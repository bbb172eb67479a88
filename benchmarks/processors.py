"""Counting conjunctions with the instructions of lesser processors, beside PyFIM."""

import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from contenders import Bools
from counts import LEAST_FASTER
from measure import Json, Settings, bar, run_child


def measure_processors(true: Bools, head: Bools, settings: Settings) -> Json:
    """Our time and PyFIM's, in a process for each kind of processor.

    Loops are compiled anew for it, into a folder of their own; PyFIM is what it is.
    """
    true = true[-16:] if settings.quick else true
    found, bars = {}, []
    for name, processor in processors():
        with tempfile.TemporaryDirectory() as scratch:
            table = Path(scratch) / "features.npz"
            np.savez(table, true=true, head=head)
            job = {"table": str(table), "repetitions": settings.repetitions}
            environment = {
                "NUMBA_CPU_NAME": processor,
                "NUMBA_CPU_FEATURES": "",
                "NUMBA_CACHE_DIR": scratch,
                "SQRL_KERNELS": "compiled",
            }
            run = run_child(job, script="counts_child.py", environment=environment)
        ratio = run["timed"]["PyFIM"]["min"] / run["timed"]["sqrl"]["min"]
        found[name] = {"processor": processor, **run}
        what = f"times as fast as PyFIM with bit vectors, processor: {name}"
        bars.append(bar(what, ratio, "x", at_least=LEAST_FASTER))
    return {"features": len(true), "rows": true.shape[1], "processors": found, "bars": bars}


def processors() -> Iterator[tuple[str, str]]:
    """Kinds of processors that this one can stand for, and their names for the compiler."""
    yield "any of its kind", "generic"
    if platform.machine().lower() in {"x86_64", "amd64"}:
        yield "with POPCNT, without AVX", "x86-64-v2"
        yield "with AVX2, without AVX-512", "x86-64-v3"
