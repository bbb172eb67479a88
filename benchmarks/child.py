"""Learns once or more in this process, and prints time and memory as JSON; the job is on stdin.

A process of its own, because the peak of a process's memory never falls again.
"""

import json
import resource
import sys
import time
from pathlib import Path

import sqrl

WARM_UP = {
    "let": {"Y": "values(y)", "L": "literals(a = 1, b = 1)"},
    "rules": ["? <= f1(L{1..2} => y = Y) <= ? over 16"],
    "batches": {"train": 2, "valid": 2},
    "bounds": {"min_support": 1},
}


def warm_up() -> None:
    """Load every compiled loop, so that neither its time nor its memory is taken for learning's."""
    column = [0, 1] * 100
    sqrl.learn({"a": column, "b": column[::-1], "y": column}, WARM_UP)


def peak_memory() -> int:
    """The most memory this process ever held, in bytes."""
    # Linux counts what the parent held before exec into ru_maxrss; VmHWM is this program's own.
    value = _status("VmHWM")
    return value or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory() -> int:
    """What this process holds now, in bytes."""
    return _status("VmRSS") or peak_memory()


def _status(key: str) -> int:
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key)), 0)


def _forget_peak() -> None:
    """Let the peak start anew where the system can; reading the table may have had a higher one."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def main() -> None:
    """Do the job: `table`, `schema`, `repetitions`, `warm`."""
    job = json.load(sys.stdin)
    table = sqrl.read_table(job["table"])
    if job["warm"]:
        warm_up()
    plan = sqrl.plan(table, job["schema"])
    _forget_peak()
    before = memory()
    seconds = []
    for repetition in range(job["repetitions"]):
        start = time.perf_counter()
        rules = sqrl.learn(table, job["schema"])
        seconds.append(time.perf_counter() - start)
        if repetition == 0:
            peak = peak_memory()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "memory_before": before,
                "memory_peak": peak,
                "memory_above": peak - before,
                "memory_stated": plan.nbytes,
                "candidates": plan.n_candidates,
                "selected": len(rules),
            }
        )
    )


if __name__ == "__main__":
    main()
