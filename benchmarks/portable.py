"""Run tests as other machines would: other instruction sets, other numbers of threads.

    python benchmarks/portable.py tests -m "not costly"

What is given is handed to pytest, once for each setting. Every setting is one that any machine can
take, so that a result which only this processor gives is found here and not elsewhere.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module


def settings(scratch: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The name of each setting and the environment that makes it."""
    dispatched = import_module("numpy._core._multiarray_umath").__cpu_dispatch__
    yield (
        "torch without vector instructions",
        {
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        },
    )
    yield (
        "numba for any processor",
        {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": scratch},
    )
    yield (
        "numpy without dispatched instructions",
        {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched), "OPENBLAS_CORETYPE": "Prescott"},
    )
    for threads in ("1", "4"):
        names = ("SQRL_TEST_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        yield f"threads: {threads}", dict.fromkeys(names, threads)


def main() -> int:
    """Returns how many settings failed."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="kernels") as scratch:
        for name, changes in settings(scratch):
            print(f"== {name}: {changes}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", *sys.argv[1:]]
            if subprocess.run(command, env={**os.environ, **changes}, check=False).returncode:
                failed.append(name)
    print("== failed under: " + ("; ".join(failed) or "no setting"))
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
