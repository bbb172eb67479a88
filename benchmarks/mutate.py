"""How many small edits of product lines the tests notice.

    python benchmarks/mutate.py --n 50 --seed 0 -o mutations.json

Each edit (`mutations.py` says which there are) is made in a copy of the repository. The tests of
the edited room are run first; an edit that they let pass meets the quick tests, and with --whole
all tests. An edit is caught when tests fail, or do not end within four times their usual time.
Tests that fail without any edit would say nothing: then nothing is measured. The results are
written after every edit; --resume goes on where a run was ended.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutations import Edit, kinds_of, sample_edits

ROOT = Path(__file__).parents[1]
SOURCES = Path("src/sqrl")
QUICK = ("tests", "-m", "not costly")
WHOLE = ("tests", "paper/tests", "src")
# What a file at the top of the package belongs to.
TOP = {"cli.py": "tests/cli", "errors.py": "tests/test_errors.py", "_progress.py": "tests/cli"}
# Compiled code of one file lies in the compiled code of those that call it.
COMPILES = "njit"


class Sandbox:
    """A copy of the repository in which one edit at a time is made."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.workers = workers
        self._n_made = 0
        self._usual: dict[tuple[str, ...], float] = {}
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in names.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def usual_seconds(self, selection: tuple[str, ...]) -> float:
        """How long these tests take without an edit; they must be green."""
        if selection not in self._usual:
            started = time.perf_counter()
            code, text = self._pytest(selection, "compiled", timeout=3600)
            if code != 0:
                raise SystemExit(f"{' '.join(selection)} fail without an edit:\n{text[-3000:]}")
            self._usual[selection] = time.perf_counter() - started
        return self._usual[selection]

    def ends(self, selection: tuple[str, ...], edit: Edit) -> str | None:
        """How these tests notice the edit, or None."""
        usual = self.usual_seconds(selection)
        path = self.folder / edit.path
        source, before = path.read_bytes(), path.stat()
        compiles = COMPILES in source.decode() or "_kernels" in edit.path
        cache = tempfile.mkdtemp(dir=self.folder) if compiles else "compiled"
        path.write_bytes(edit.applied(source))
        # Python and numba tell versions apart by size and whole seconds.
        self._n_made += 1
        moved = int(before.st_mtime) + self._n_made
        os.utime(path, (moved, moved))
        try:
            code, text = self._pytest(selection, cache, timeout=120 + 4 * usual)
        finally:
            path.write_bytes(source)
            os.utime(path, (before.st_atime, before.st_mtime))
            if compiles:
                shutil.rmtree(cache, ignore_errors=True)
        if code is None:
            return "timeout"
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return None if code == 0 else (failed[0] if failed else f"pytest ended with {code}")

    def _pytest(
        self, selection: tuple[str, ...], cache: str, *, timeout: float
    ) -> tuple[int | None, str]:
        paths = os.pathsep.join(str(self.folder / one) for one in ("src", "paper/src"))
        environment = {
            **os.environ,
            "PYTHONPATH": paths,
            "NUMBA_CACHE_DIR": str(self.folder / cache),
        }
        spread = ["-n", str(self.workers)] if self.workers > 1 else []
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        with tempfile.TemporaryFile("w+") as output:
            running = subprocess.Popen(
                [*command, *spread, *selection],
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = running.wait(timeout)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, 9)
                running.wait()
                code = None
            output.seek(0)
            return code, output.read()


def room_of(path: str) -> tuple[str, ...]:
    """The tests of the room that a file belongs to."""
    room = Path(path).relative_to(SOURCES).parts[0]
    if room.endswith(".py"):
        return (TOP.get(room, "tests/test_architecture.py"),)
    tests = "tests/" + ("cli" if room == "_commands" else room.lstrip("_"))
    return (tests,) if (ROOT / tests).is_dir() else QUICK


def diff_of(edit: Edit) -> str:
    """The edit as a person reads it."""
    source = (ROOT / edit.path).read_bytes()
    before, after = (one.decode().splitlines() for one in (source, edit.applied(source)))
    lines = difflib.unified_diff(before, after, edit.path, edit.path, n=1, lineterm="")
    return "\n".join(lines)


def outcome(sandbox: Sandbox, edit: Edit, *, whole: bool) -> dict[str, Any]:
    """What became of one edit."""
    stages = {"room": room_of(edit.path), "quick": QUICK} | ({"whole": WHOLE} if whole else {})
    started = time.perf_counter()
    stage, by = "", None
    for name, selection in stages.items():
        stage, by = name, sandbox.ends(selection, edit)
        if by is not None:
            break
    return {
        **asdict(edit),
        "caught": by is not None,
        "stage": stage if by is not None else None,
        "by": by,
        "seconds": round(time.perf_counter() - started, 1),
        "diff": diff_of(edit),
    }


def write(path: Path, seed: int, n: int, found: list[dict[str, Any]]) -> None:
    """The results so far, in one move."""
    caught = sum(one["caught"] for one in found)
    content = {"seed": seed, "n": n, "done": len(found), "caught": caught, "edits": found}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def earlier(path: Path, seed: int) -> list[dict[str, Any]]:
    """What an ended run of the same seed has found."""
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    if content["seed"] != seed:
        raise SystemExit(f"{path} is of seed {content['seed']}: give another file with -o.")
    return list(content["edits"])


def main() -> None:
    """Samples, edits, tests, tells."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=50, help="how many lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes that run tests")
    parser.add_argument("--whole", action="store_true", help="survivors meet all tests")
    parser.add_argument("--resume", action="store_true", help="go on where a run was ended")
    parser.add_argument("--list", action="store_true", help="show the edits, run nothing")
    parser.add_argument("-o", "--output", type=Path, default=Path("mutations.json"))
    options = parser.parse_args()
    edits = sample_edits(ROOT, ROOT / SOURCES, n=options.n, seed=options.seed)
    print(", ".join(f"{count} {kind}" for kind, count in kinds_of(edits)))
    if options.list:
        print("\n".join(diff_of(edit) for edit in edits))
        return
    found = earlier(options.output, options.seed) if options.resume else []
    known = {(one["path"], one["start"], one["text"]) for one in found}
    with tempfile.TemporaryDirectory(prefix="mutate") as folder:
        sandbox = Sandbox(Path(folder), options.workers)
        for edit in edits:
            if (edit.path, edit.start, edit.text) in known:
                continue
            found.append(outcome(sandbox, edit, whole=options.whole))
            write(options.output, options.seed, options.n, found)
            last = found[-1]
            verb = f"caught by {last['by']}" if last["caught"] else "SURVIVED"
            print(f"\n{len(found)}/{options.n} {verb} ({last['seconds']} s, {edit.kind})")
            print(last["diff"], flush=True)
    caught = sum(one["caught"] for one in found)
    print(f"\n{caught} of {len(found)} edits caught ({100 * caught / max(len(found), 1):.0f} %)")


if __name__ == "__main__":
    main()
