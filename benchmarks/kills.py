"""Ends commands at random moments and disturbs them in other ways, and looks at what they leave.

    python benchmarks/kills.py [--runs N] [--seed N] [-o FILE]

A child runs a whole command: learn, check with every output, a scan that writes a folder, one that
goes on from what it remembers, an export to dbt, a check that a history keeps, a decision. It is
sent SIGKILL, SIGTERM or SIGINT after a random time; or no file may grow beyond some size; or its
folder lies on a real file system with little room (where this user may mount one), is read-only;
or its output is closed; or it has no home, no terminal; or another child writes the same outputs.

Afterwards every output must be absent, the old one, or the new one, whole; nothing that was there
may be lost; and the next run must give what an undisturbed run gives and leave nothing else behind.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sqrl
from killed import Ended, end, start
from measure import HERE, LIBRARIES, Json, bar, describe_run
from sqrl import cli
from sqrl._data.unfinished import is_unfinished

RESULTS = HERE / "results" / "kills.json"
RUNS = 560
NOBODY = 65534
SMALL_DISK = "small file system"
ROOMY = 64 << 20  # bytes of a file system before and after a run that finds it full
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
ENDS = {0, 1, 2, 130, 143, *(-sent for sent in SIGNALS.values())}
RULES = ["0 <= x <= 5", "k = a => 0 <= y <= 3", *(f"x <= {most}" for most in range(2, 40))]


@dataclass(frozen=True, slots=True)
class Job:
    """A command, the outputs that it writes, and what must be there afterwards whatever happens."""

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    kept: tuple[str, ...] = ()  # which are there before, and are never lost
    new: tuple[str, ...] = ()  # which a command only writes where nothing is


JOBS = (
    Job("learn", ("learn", "x.csv", "-o", "l.json"), ("l.json", "l.schema.yaml"), ("l.json",)),
    Job(
        "check",
        (
            *("check", "r.json", "x.csv", "--junit", "j.xml", "--report", "p.html"),
            *("--violations", "v.csv", "--fail-on", "never"),
        ),
        ("j.xml", "p.html", "v.csv"),
        ("p.html",),
    ),
    Job(
        "scan to a folder",
        ("check", "r.json", "parts/*.parquet", "--violations", "v", "--fail-on", "never"),
        ("v",),
        new=("v",),
    ),
    Job(
        "resumed",
        (
            *("learn", "parts/*.parquet", "-o", "q.json", "--schema", "s.yaml"),
            *("--resume", "kept"),
        ),
        ("q.json",),
    ),
    Job("export", ("export", "r.json", "--to", "dbt", "-o", "dbt"), ("dbt",), ("dbt",)),
    Job(
        "history",
        ("check", "r.json", "x.csv", "--history", "h", "--at", "2026-01-03", "--fail-on", "never"),
        (),
        ("h",),
    ),
    Job(
        "decision",
        ("review", "r.json", "--accept", "RULE", "--by", "Ann", "--why", "as agreed"),
        ("r.json",),
        ("r.json",),
    ),
)


def fill(folder: Path) -> None:
    """The files that jobs begin with, and old outputs."""
    rng = np.random.default_rng(0)
    n = 4000
    table = pa.table(
        {"x": rng.integers(0, 8, n), "y": rng.integers(0, 5, n), "k": rng.choice(["a", "b"], n)}
    )
    import pyarrow.csv

    pyarrow.csv.write_csv(table, folder / "x.csv")
    (folder / "parts").mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 1300, 1300), folder / f"parts/p{part}.parquet")
    n = len(RULES)
    rules = sqrl.RuleSet.from_texts(RULES, coverage=[0.98] * n, support=[1000] * n)
    rules.save(folder / "r.json")
    rules[:3].save(folder / "l.json")
    (folder / "p.html").write_text("<html>old</html>")
    (folder / "s.yaml").write_text('rules: ["? <= x <= ?", "? <= mean(y) <= ? over 8"]\n')
    from sqrl.export._targets import TARGETS

    made = TARGETS["dbt"].export(rules[:3], table="old")
    assert TARGETS["dbt"].folder is not None
    assert not isinstance(made, str)
    TARGETS["dbt"].folder.write(folder / "dbt", made)
    history = sqrl.History(folder / "h")
    for day in ("2026-01-01", "2026-01-02"):
        history.add(sqrl.check(rules, {"x": [1, 2], "y": [1, 2], "k": ["a", "b"]}), at=day)


def words_of(job: Job, folder: Path) -> list[str]:
    """The words of a job, with the id of a rule."""
    rule = sqrl.load_rules(folder / "r.json").ids()[0] if "RULE" in job.words else ""
    return [rule if word == "RULE" else word for word in job.words]


def work(words: list[str], folder: Path, prepare: Callable[[], None]) -> Callable[[int], int]:
    """What a child does: the command, in its folder, with its output going nowhere."""

    def run(told: int) -> int:
        os.chdir(folder)
        for name in SIGNALS.values():
            if name != signal.SIGKILL:
                signal.signal(name, signal.default_int_handler if name == signal.SIGINT else 0)
        os.dup2(told, 1)
        os.dup2(told, 2)
        prepare()
        sys.stdout, sys.stderr = (open(fd, "w", closefd=False) for fd in (1, 2))  # noqa: SIM115
        sys.argv = ["sqrl", *words]
        try:
            cli.main()
        except SystemExit as ended:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
            return int(ended.code or 0)
        return 0

    return run


def shape(path: Path) -> object:
    """What is at an output, as far as every whole run writes the same; None where nothing is."""
    if not path.exists():
        return None
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_bytes() for file in _files(path)}
    if path.suffix == ".json":
        rules = sqrl.load_rules(path)
        return [*rules.texts(), *(one.id for one in rules.decisions)]
    if path.suffix == ".xml":
        return [case.get("name") for case in ET.fromstring(path.read_text()).iter("testcase")]
    if path.suffix == ".html":
        text = path.read_text()
        return (text.rstrip().endswith("</html>"), "old" in text[:20])
    return path.read_bytes()


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def windows_of(path: Path) -> dict[str, int]:
    """The windows of a history, and how many rules each has."""
    return {record.at: len(record.broken) for record in sqrl.History(path).records()}


def warm_up(whole: Path) -> None:
    """Import what jobs import, in this process: a child that is nobody may not read packages."""
    here, argv, handler = Path.cwd(), sys.argv, signal.getsignal(signal.SIGTERM)
    for job in JOBS:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "f")
            shutil.copytree(whole, folder)
            sys.argv = ["sqrl", *words_of(job, folder)]
            os.chdir(folder)
            nowhere = io.StringIO()
            with (
                contextlib.suppress(SystemExit),
                contextlib.redirect_stdout(nowhere),
                contextlib.redirect_stderr(nowhere),
            ):
                cli.main()
            os.chdir(here)
    sys.argv = argv
    signal.signal(signal.SIGTERM, handler)


@dataclass(frozen=True, slots=True)
class Expected:
    """Outputs before a job and after an undisturbed run of it, and how long it takes."""

    before: dict[str, object]
    after: dict[str, object]
    windows: dict[str, int]
    seconds: float


def undisturbed(job: Job, whole: Path) -> Expected:
    """What a job does when nothing goes wrong."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "f")
        shutil.copytree(whole, folder)
        before = {name: shape(folder / name) for name in job.outputs}
        begin = time.monotonic()
        ended = end(*start(work(words_of(job, folder), folder, lambda: None)))
        seconds = time.monotonic() - begin
        assert ended.code == 0, (job.name, ended)
        after = {name: shape(folder / name) for name in job.outputs}
        return Expected(before, after, windows_of(folder / "h"), seconds)


def faults_of(job: Job, folder: Path, expected: Expected, *, is_last: bool) -> list[str]:
    """What is wrong in a folder after a run; after the `last`, undisturbed one all must be new."""
    faults = []
    for name in job.outputs:
        try:
            found = shape(folder / name)
        except Exception as error:
            faults.append(f"{name} cannot be read: {error}")
            continue
        allowed = [expected.after[name]]
        if not is_last:
            allowed.append(expected.before[name])
            allowed += [] if name in job.kept else [None]
        if found not in allowed:
            faults.append(f"{name} is neither the old nor the new one")
    try:
        windows = windows_of(folder / "h")
        known = {at: n for at, n in expected.windows.items() if at < "2026-01-03"}
        if {at: n for at, n in windows.items() if at in known} != known:
            faults.append("a window of the history is gone")
    except sqrl.SqrlError as error:
        faults.append(f"the history cannot be read: {error.what}")
    if is_last:
        left = [path.name for path in folder.rglob("*") if is_unfinished(path)]
        faults += [f"left behind: {left}"] if left else []
        faults += ["remembered passes were left"] if (folder / "kept").exists() else []
    return faults


def full(most: int) -> Callable[[], None]:
    """No file may become larger than so many bytes, as on a full disk."""

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return prepare


@contextlib.contextmanager
def mounted(at: Path) -> Iterator[Callable[[int | None], None]]:
    """A file system in memory; what is given sets how many bytes are left, None for plenty."""
    _mount("-t", "tmpfs", "-o", f"size={ROOMY}", "tmpfs", str(at))

    def leave(room: int | None) -> None:
        now = os.statvfs(at)
        used = (now.f_blocks - now.f_bfree) * now.f_frsize
        size = ROOMY if room is None else used + room
        _mount("-o", f"remount,size={size}", str(at))

    try:
        yield leave
    finally:
        subprocess.run(["umount", str(at)], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def can_mount() -> bool:
    """Whether this user may mount a file system: root may, but not in every container."""
    if os.geteuid() != 0:
        return False
    refused = contextlib.suppress(OSError, subprocess.CalledProcessError)
    with tempfile.TemporaryDirectory() as scratch, refused, mounted(Path(scratch)):
        return True
    return False


def become_nobody() -> None:
    """Be somebody who may only read the folder."""
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def close_output() -> None:
    """Nobody reads what is written."""
    read, write = os.pipe()
    os.dup2(write, 1)
    os.close(write)
    os.close(read)


def without_home() -> None:
    """A service has no home folder."""
    for name in ("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)


def without_terminal() -> None:
    """A service has no terminal, and no input."""
    os.setsid()
    os.close(0)


# What a child does to itself before its command.
PREPARED: dict[str, Callable[[], None]] = {
    "read-only folder": become_nobody,
    "closed pipe": close_output,
    "no home": without_home,
    "no terminal": without_terminal,
}


def one_run(job: Job, how: str, expected: Expected, whole: Path, rng: np.random.Generator) -> Json:
    """A disturbed run, what it leaves, and the run after it."""
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        leave = stack.enter_context(mounted(Path(scratch))) if how == SMALL_DISK else None
        folder = Path(scratch, "f")
        shutil.copytree(whole, folder)
        words = words_of(job, folder)
        after = float(rng.uniform(0, 1.1 * expected.seconds))
        sent, prepare = SIGNALS.get(how), PREPARED.get(how, lambda: None)
        if how == "full disk":
            prepare = full(int(rng.choice([0, 100, 2000, 20_000])))
        elif leave is not None:
            leave(int(rng.choice([0, 4096, 20_000, 80_000])))
        elif how == "read-only folder":
            Path(scratch).chmod(0o755)
        children = [start(work(words, folder, prepare))]
        if how == "two writers":
            children.append(start(work(words, folder, prepare)))
        ends = [end(*child, sent=sent, after=after) for child in children]
        faults = [f"ended with {one.code}: {one.said[-300:]}" for one in ends if _is_odd(one, how)]
        faults += faults_of(job, folder, expected, is_last=False)
        if leave is not None:
            leave(None)
        for name in job.new:
            shutil.rmtree(folder / name, ignore_errors=True)
        last = end(*start(work(words_of(job, folder), folder, lambda: None)))
        if last.code != 0:
            faults.append(f"the next run ended with {last.code}: {last.said[-300:]}")
        faults += faults_of(job, folder, expected, is_last=True)
    return {
        "job": job.name,
        "how": how,
        "codes": [one.code for one in ends],
        "faults": [f"{job.name}, {how}: {fault}" for fault in faults],
    }


def _is_odd(ended: Ended, how: str) -> bool:
    is_traced = "Traceback" in ended.said or "fault of sqrl" in ended.said
    if how in SIGNALS:  # in the first moments Python itself is interrupted
        return ended.code not in ENDS
    return ended.code not in {0, 1, 2} or is_traced


def ways(n_runs: int) -> list[str]:
    """How runs are disturbed: three in four by signals, the others in turn."""
    others = ["full disk", "closed pipe", "no home", "no terminal", "two writers"]
    if os.geteuid() == 0:
        others.append("read-only folder")
    if can_mount():
        others.append(SMALL_DISK)
    found = []
    for number in range(n_runs):
        kind = number % 4
        found.append(list(SIGNALS)[kind] if kind < 3 else others[number // 4 % len(others)])
    return found


def campaign(n_runs: int, seed: int) -> Json:
    """Disturbed runs of all jobs in turn."""
    rng = np.random.default_rng(seed)
    faults: list[str] = []
    counts: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch, "whole")
        whole.mkdir()
        fill(whole)
        warm_up(whole)
        expected = {job.name: undisturbed(job, whole) for job in JOBS}
        for number, how in enumerate(ways(n_runs)):
            job = JOBS[number % len(JOBS)]
            seen = one_run(job, how, expected[job.name], whole, rng)
            faults += seen["faults"]
            counts[how] += 1
            ended.update(str(code) for code in seen["codes"])
            if seen["faults"]:
                print(*seen["faults"], sep="\n", flush=True)
    return {
        "runs": n_runs,
        "by": dict(counts),
        "jobs": [job.name for job in JOBS],
        "ended": dict(ended),
        "faults": faults,
    }


def main() -> None:
    """Run the campaign and write what it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    measured = campaign(given.runs, given.seed)
    result: Json = {
        **describe_run(LIBRARIES, given.seed),
        **measured,
        "bars": [bar("faults after kills", len(measured["faults"]), "", at_most=0)],
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({**measured, "faults": len(measured["faults"])}))


if __name__ == "__main__":
    main()
