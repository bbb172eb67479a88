"""Runs cases against sqrl in processes with limits; errors that are no SqrlError are findings.

    python fuzz/run.py [--seconds N] [--only TARGET,..] [--seed N] [--replay] [-o FILE]

Each target makes cases from a seed and runs them in a child process, many to a child. A child has
LIMIT_CPU seconds of processor for a case and LIMIT_BYTES of memory beyond what it starts with. A
crash, a hang, too much memory, an error that is no SqrlError, or a wrong answer is a finding. Its
case is written to a file in FINDINGS, and belongs into fuzz/corpus once it is mended. `--replay`
runs the corpus alone.
"""

import argparse
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]

import targets  # noqa: E402
from draw import Draw  # noqa: E402

CORPUS = HERE / "corpus"
RESULTS = HERE.parent / "benchmarks" / "results" / "fuzz.json"
FINDINGS = Path(tempfile.gettempdir()) / "sqrl-fuzz"
LIMIT_CPU = 10  # seconds of processor for a case
LIMIT_BYTES = 2 << 30  # beyond what a child has when it starts
LIMIT_WALL = 300  # seconds without a word from a child
SLICE = 15.0  # seconds of processor for a child, after which another target has its turn
Case = dict[str, Any]


class HangError(Exception):
    """A case took more than its time."""


@dataclass
class Tally:
    """What a target has done."""

    cases: int = 0
    refused: int = 0  # with a SqrlError
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    findings: dict[str, Case] = field(default_factory=dict)  # by what they have in common


def run_case(module: Any, case: Case) -> tuple[str, str]:
    """What became of a case: "answered", "refused", or "finding" with the error."""
    from sqrl.errors import SqrlError

    folder = Path(tempfile.mkdtemp(prefix="sqrl-fuzz-"))
    signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_CPU)
    try:
        if "make" in case:
            raise AssertionError(f"the case could not be made: {case['make']}")
        module.run(case, folder)
    except SqrlError:
        return "refused", ""
    except (Exception, RecursionError) as error:
        return "finding", _describe(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(folder, ignore_errors=True)
    return "answered", ""


def _hang(*_: Any) -> None:
    raise HangError(f"more than {LIMIT_CPU} s of processor")


def _describe(error: BaseException) -> str:
    """The error and where it was raised: what findings of one cause have in common."""
    frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in frames if frame.name != "expect"] or frames
    ours = [frame for frame in frames if "sqrl" in frame.filename or "fuzz" in frame.filename]
    last = ours[-1] if ours else frames[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"{type(error).__name__} at {place}: {str(error)[:400]}"


def child(name: str, cases: Iterator[tuple[int, Case]], told: int, seconds: float) -> None:
    """Run cases until the time is over, with a line for each that begins and ends."""
    module = targets.target(name)
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)
    _say(told, {"ready": True})
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + LIMIT_BYTES,) * 2)
    start, before = time.process_time(), _rss()
    for number, case in cases:
        _say(told, {"begin": number})
        what, said = run_case(module, case)
        _say(told, {"end": number, "what": what, "said": said, "bytes": max(0, _rss() - before)})
        if time.process_time() - start > seconds:
            break
    _say(told, {"cpu": time.process_time() - start})


def _rss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _say(told: int, what: dict[str, Any]) -> None:
    os.write(told, json.dumps(what).encode() + b"\n")


def made_cases(name: str, seed: int, first: int) -> Iterator[tuple[int, Case]]:
    """The cases of a target, from a number on; each is made of its number alone."""
    module = targets.target(name)
    number = first
    while True:
        try:
            case = module.make(Draw(f"{seed} {name} {number}"))
        except Exception as error:
            case = {"make": _describe(error)}
        yield number, case
        number += 1


def kept_cases(name: str) -> list[Case]:
    """The cases of the corpus."""
    return [json.loads(path.read_text()) for path in sorted((CORPUS / name).glob("*.json"))]


def run_child(
    name: str, seed: int, first: int, seconds: float, tally: Tally, *, replay: bool = False
) -> int:
    """Run a child and take down what it says; the number of the case to go on with."""
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(read)
            kept = list(enumerate(kept_cases(name)))[first:]
            cases = iter(kept) if replay else made_cases(name, seed, first)
            child(name, cases, write, seconds)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    begun, last, is_over = None, first, False
    buffer = b""
    while True:
        ready, _, _ = select.select([read], [], [], LIMIT_WALL)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        data = os.read(read, 1 << 16)
        if not data:
            break
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "begin" in said:
                begun = said["begin"]
            elif "end" in said:
                last = begun + 1
                tally.cases += 1
                tally.refused += said["what"] == "refused"
                tally.peak_bytes = max(tally.peak_bytes, said["bytes"])
                if said["what"] == "finding":
                    _note(tally, name, seed, begun, said["said"], replay)
                begun = None
            elif "cpu" in said:
                tally.cpu_seconds += said["cpu"]
                is_over = True
    os.close(read)
    _, status = os.waitpid(pid, 0)
    if begun is not None:  # it died in the middle of a case
        tally.cases += 1
        _note(tally, name, seed, begun, f"the process died: status {status}", replay)
        return begun + 1
    if not is_over and last == first:
        _note(tally, name, seed, first, f"the process did not start: status {status}", replay)
        return first + 1
    return last


def _note(tally: Tally, name: str, seed: int, number: int, said: str, replay: bool) -> None:
    key = said[:60] if "Wrong" in said or "Assert" in said else said.partition(": ")[0]
    if key in tally.findings:
        tally.findings[key]["times"] += 1
        return
    module = targets.target(name) if name not in targets.SLOW else None
    case = None
    if replay:
        case = kept_cases(name)[number]
    elif module is not None:
        with suppress(Exception):
            case = module.make(Draw(f"{seed} {name} {number}"))
    tally.findings[key] = {"number": number, "said": said, "times": 1, "case": case}
    FINDINGS.mkdir(exist_ok=True)
    path = FINDINGS / f"{name}-{seed}-{number}.json"
    path.write_text(json.dumps(case))
    print(f"{path}: {said}", file=sys.stderr, flush=True)


def campaign(
    names: list[str], seconds: float, seed: int, *, replay: bool = False
) -> dict[str, Tally]:
    """All targets in turn, for so many seconds of processor in all."""
    _warm_up(names)
    tallies = {name: Tally() for name in names}
    firsts = dict.fromkeys(names, 0)
    if replay:
        for name in names:
            while firsts[name] < len(kept_cases(name)):
                firsts[name] = run_child(name, seed, firsts[name], 1e9, tallies[name], replay=True)
        return tallies
    used = 0.0
    slice_ = min(SLICE, seconds / len(names))
    while used < seconds:
        print(f"{used:.0f} of {seconds:.0f} s of processor", file=sys.stderr, flush=True)
        for name in names:
            start, before = time.monotonic(), tallies[name].cpu_seconds
            firsts[name] = run_child(name, seed, firsts[name], slice_, tallies[name])
            # A child that died has told no time: its own does not count, but some passed.
            told = tallies[name].cpu_seconds - before
            used += told or min(slice_, time.monotonic() - start) or 0.1
    return tallies


def _warm_up(names: list[str]) -> None:
    """Import here, once, what every child would import anew; not torch, which few need."""
    import sqrl

    for name in names:
        if name not in targets.SLOW:
            targets.target(name)
    rows = {"x": list(range(60)), "k": ["a", "b"] * 30}
    rules = sqrl.learn(rows, {"rules": ["? <= x <= ?", "k in ?"], "coverage": 0.9})
    sqrl.check(rules, rows).findings()


def show(tallies: dict[str, Tally]) -> None:
    """Say what was done and found."""
    for name, tally in tallies.items():
        print(
            f"{name:14} {tally.cases:8,} cases, {tally.refused:7,} refused,"
            f" {tally.cpu_seconds:6.0f} s, {tally.peak_bytes >> 20:5} MiB more,"
            f" {len(tally.findings)} findings"
        )
        for finding in tally.findings.values():
            print(f"    case {finding['number']}, {finding['times']} times: {finding['said']}")


def save_results(tallies: dict[str, Tally], path: Path, seed: int) -> None:
    """Write the counts, with the machine and the commit."""
    from datetime import UTC, datetime

    from measure import bar, describe_commit, describe_machine, describe_versions

    n_findings = sum(len(tally.findings) for tally in tallies.values())
    result = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": describe_commit(),
        "machine": describe_machine(),
        "versions": describe_versions(("sqrl-rules", "numpy", "pyarrow", "duckdb", "pandera")),
        "seed": seed,
        "limits": {"cpu_seconds": LIMIT_CPU, "bytes": LIMIT_BYTES},
        "targets": {
            name: {
                "cases": tally.cases,
                "refused": tally.refused,
                "cpu_seconds": round(tally.cpu_seconds),
                "peak_bytes": tally.peak_bytes,
                "findings": [one["said"] for one in tally.findings.values()],
                "corpus": len(kept_cases(name)),
            }
            for name, tally in tallies.items()
        },
        "cases": sum(tally.cases for tally in tallies.values()),
        "bars": [bar("findings", n_findings, "", at_most=0)],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Run a campaign, show it and save what it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor, in all")
    parser.add_argument("--only", default=",".join(targets.TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", action="store_true", help="run the corpus alone")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    names = given.only.split(",")
    tallies = campaign(names, given.seconds, given.seed, replay=given.replay)
    show(tallies)
    if given.output is not None:
        save_results(tallies, given.output, given.seed)
    sys.exit(any(tally.findings for tally in tallies.values()))


if __name__ == "__main__":
    main()
