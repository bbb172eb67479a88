"""How many small edits of product lines the tests notice.

    python benchmarks/mutate.py --n 50 --seed 0 -o mutations.json

Each edit (`mutations.py` says which there are) is made in a copy of the repository. Tests named
like the edited file are run first; an edit that they let pass meets all tests of its room, then the
quick tests, and with --whole all tests. An edit is caught when a test fails that passes without it,
or when the tests do not end within a quarter of an hour. The results are written after every edit;
--resume goes on where a run was ended.
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
MOST_SECONDS = 900.0
MOST_NEAR = 3  # files of tests that are run first


class Sandbox:
    """A copy of the repository in which one edit at a time is made."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.workers = workers
        self._n_made = 0
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in names.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def ends(self, selection: tuple[str, ...], edit: Edit) -> str | None:
        """How these tests notice the edit, or None."""
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
            code, text = self._pytest(selection, cache)
        finally:
            path.write_bytes(source)
            os.utime(path, (before.st_atime, before.st_mtime))
            if compiles:
                shutil.rmtree(cache, ignore_errors=True)
        if code is None:
            return f"more than {MOST_SECONDS:g} s"
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
        if code and failed:
            self._must_pass(failed[0].partition("[")[0])
        return None if code == 0 else (failed[0] if failed else f"pytest ended with {code}")

    def _must_pass(self, test: str) -> None:
        """Raise where a test fails without the edit, too: that would say nothing."""
        code, text = self._pytest((test,), "compiled")
        if code != 0:
            raise SystemExit(f"{test} fails without an edit:\n{text[-3000:]}")

    def _pytest(self, selection: tuple[str, ...], cache: str) -> tuple[int | None, str]:
        paths = os.pathsep.join(str(self.folder / one) for one in ("src", "paper/src"))
        environment = {
            **os.environ,
            "PYTHONPATH": paths,
            "NUMBA_CACHE_DIR": str(self.folder / cache),
        }
        is_much = any((self.folder / one).is_dir() for one in selection)
        spread = ["-n", str(self.workers)] if self.workers > 1 and is_much else []
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
                code: int | None = running.wait(MOST_SECONDS)
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


def tests_near(path: str) -> tuple[str, ...]:
    """The tests of a file's room that bear its name, or import it by its own."""
    stem, module = Path(path).stem.lstrip("_"), Path(path).relative_to("src").with_suffix("")
    dotted = ".".join(module.parts)
    room = [
        test.relative_to(ROOT)
        for folder in room_of(path)
        if (ROOT / folder).is_dir()
        for test in sorted((ROOT / folder).rglob("test_*.py"))
    ]
    named = [test for test in room if stem in test.stem]
    importing = [test for test in room if dotted in (ROOT / test).read_text(encoding="utf-8")]
    return tuple(test.as_posix() for test in (named or importing)[:MOST_NEAR])


def diff_of(edit: Edit) -> str:
    """The edit as a person reads it."""
    source = (ROOT / edit.path).read_bytes()
    before, after = (one.decode().splitlines() for one in (source, edit.applied(source)))
    lines = difflib.unified_diff(before, after, edit.path, edit.path, n=1, lineterm="")
    return "\n".join(lines)


def outcome(sandbox: Sandbox, edit: Edit, *, whole: bool) -> dict[str, Any]:
    """What became of one edit."""
    near = tests_near(edit.path)
    stages = {"near": near} if near else {}
    stages |= {"room": room_of(edit.path), "quick": QUICK} | ({"whole": WHOLE} if whole else {})
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
