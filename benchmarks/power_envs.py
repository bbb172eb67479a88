"""Environments of their own for tools that cannot live beside this project, and their children."""

import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from measure import HERE
from power_batches import Batch, Batches
from power_others import TOOLS as OTHERS
from power_planting import Frame
from power_tools import Alarm

CHILD = "power_others.py"
LONGEST = 900  # seconds that an installation may take
# The packages of each step of pip; what is marked is installed without what it asks for, since
# TFDV asks for a TensorFlow with code for graphics cards and for clients of a cloud.
WITHOUT_NEEDS = "--no-deps"
PACKAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "evidently": (("evidently==0.7.23", "pandas<3", "pyarrow"),),
    "alibi-detect": (("alibi-detect==0.13.0", "pyarrow<20"),),
    "tfdv": (
        ("tensorflow-cpu==2.16.2", "pandas<2", "pyarrow<11", "numpy<2", "protobuf<5"),
        ("apache-beam==2.61.0", "absl-py<2", "pyfarmhash", "joblib", "setuptools<81"),
        (
            WITHOUT_NEEDS,
            "tensorflow-data-validation==1.16.1",
            "tfx-bsl==1.16.1",
            "tensorflow-metadata==1.16.1",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What a tool says of a batch, and how long it took."""

    batch: Batch
    tool: str
    alarm: Alarm
    seconds: float


def make_environments(folder: Path) -> None:
    """A folder for each tool; where one cannot be installed, a file that says why."""
    for tool, steps in PACKAGES.items():
        place = folder / tool
        if (place / "installed").exists():
            continue
        print(f"{tool}: {', '.join(name for step in steps for name in step)}", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        reason = _install(place, steps)
        if reason is None:
            (place / "installed").touch()
        else:
            (place / "failed").write_text(reason + "\n")
            print(f"  could not be installed: {reason}", file=sys.stderr)


def _install(place: Path, steps: Sequence[Sequence[str]]) -> str | None:
    start = time.monotonic()
    for step in steps:
        command = [str(place / "bin" / "pip"), "install", "--quiet", "--no-compile", *step]
        left = LONGEST - (time.monotonic() - start)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=left
            )
        except subprocess.TimeoutExpired:
            return f"pip took more than {LONGEST} s"
        if done.returncode:
            return _last_error(done.stderr)
    return None


def _last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("ERROR:")]
    return (lines or text.splitlines() or ["pip failed"])[-1][:300]


def names_of(tool: str) -> tuple[str, ...]:
    """The names that the decisions of a tool have in the results."""
    return OTHERS[tool][2]


def why_not(tool: str, folder: Path) -> str | None:
    """Why a tool cannot be asked, or None where it can."""
    if (folder / tool / "installed").exists():
        return None
    failed = folder / tool / "failed"
    return failed.read_text().strip() if failed.exists() else "its environment was not made"


@dataclass(slots=True, eq=False)
class Child:
    """A tool in an environment of its own, asked about all batches of a table and size at once."""

    tool: str
    environments: Path
    scratch: Path
    limit: float | None = None  # seconds for a table and size
    version: dict[str, str] = field(default_factory=dict)
    _process: "subprocess.Popen[str] | None" = None

    def ask(self, batches: Batches, wanted: Sequence[Batch]) -> Iterator[Decision]:
        """Decisions, as many as were made in time."""
        folder = self.scratch / self.tool
        folder.mkdir(parents=True, exist_ok=True)
        for halving in sorted({batch.halving for batch in wanted}):
            write_rows(batches.reference(halving), folder / f"reference-{halving}.parquet")
        listed = []
        for number, batch in enumerate(wanted):
            write_rows(batch.rows, folder / f"{number}.parquet")
            reference = f"reference-{batch.halving}.parquet"
            listed.append({"id": number, "path": f"{number}.parquet", "reference": reference})
        (folder / "job.json").write_text(json.dumps({"batches": listed, "limit": self.limit}))
        self._tell(folder)
        first, *lines = (folder / "decisions.jsonl").read_text().splitlines()
        about = json.loads(first)
        self.version = {about["package"]: about["version"]}
        for line in map(json.loads, lines):
            for name, said in line["alarms"].items():
                alarm = Alarm(
                    said["raised"], tuple(said["first"]), said["n_findings"], "error" in said
                )
                yield Decision(wanted[line["id"]], name, alarm, line["seconds"])
        for path in folder.iterdir():
            path.unlink()

    def stop(self) -> None:
        """End the process, if it was begun."""
        if self._process is not None:
            assert self._process.stdin
            self._process.stdin.close()
            self._process.wait()

    def _tell(self, folder: Path) -> None:
        if self._process is None:
            python = self.environments / self.tool / "bin" / "python"
            self._process = subprocess.Popen(
                [str(python), str(HERE / CHILD), self.tool],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            )
        assert self._process.stdin
        assert self._process.stdout
        print(folder, file=self._process.stdin, flush=True)
        if self._process.stdout.readline().strip() != "done":
            raise RuntimeError(f"{self.tool} failed; run {CHILD} by hand to see why.")


def write_rows(rows: Frame, path: Path) -> None:
    """Rows as Parquet that old readers can read: plain strings, nothing about indices."""
    table = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    plain = [
        field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
        for field in table.schema
    ]
    pq.write_table(table.cast(pa.schema(plain)), path)
