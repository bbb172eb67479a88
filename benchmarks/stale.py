"""Tells which results were measured with code that has changed since.

    python benchmarks/stale.py            what has changed, on the screen
    python benchmarks/stale.py --write    docs/measured.md, for a release
    python benchmarks/stale.py --fill     past_sources.json, from git, for results without digests

A results file is kept with digests of the sources (`describe_commit`); `MEASURES` says which rooms
it is about. Comments, docstrings and layout do not count.
"""

import argparse
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import run

from measure import HERE, Json, describe_commit
from sqrl_paper.sources import digests, read_sources

ROOT = HERE.parent
RESULTS = HERE / "results"
PAST = HERE / "past_sources.json"
PAGE = ROOT / "docs" / "measured.md"
IS_SOURCE = re.compile(r"(^|/)src/(sqrl|sqrl_paper)/.*\.py$")  # wherever the paper's tasks were
EVERYTHING = ("",)
ROWS = ("_data", "_kernels", "_language", "_rows", "_rules")
LEARN, CHECK = (*ROWS, "_learn"), (*ROWS, "_check")
BOTH = (*LEARN, "_check")
HISTORY = (*CHECK, "_history")
TASK = (*BOTH, "_adapt", "methods", "sqrl_paper")
MEASURES: Mapping[str, tuple[str, tuple[str, ...]]] = {  # the page, and rooms with those inside
    "adapt": ("adapt-results.md", ("_adapt/rule_loss",)),
    "bench_cardio": ("tasks.md", (*TASK[:-1], "sqrl_paper/cardio")),
    "bench_detection": ("tasks.md", (*TASK[:-1], "boxes", "sqrl_paper/detection")),
    "bench_imagenet-x": ("tasks.md", (*TASK[:-1], "sqrl_paper/imagenet_x")),
    "bench_imputation": ("tasks.md", (*TASK[:-1], "sqrl_paper/imputation")),
    "bench_sentiment": ("tasks.md", (*TASK[:-1], "sqrl_paper/sentiment")),
    "check": ("findings.md", CHECK),
    "cross_modal": ("cross-modal.md", (*BOTH, "_adapt", "_train", "methods", "sqrl_paper/train")),
    "default_costs": ("power.md", BOTH),
    "extract": ("extract.md", ("extract",)),
    "findings": ("power.md", BOTH),
    "first_minutes": ("release.md", (*BOTH, "_commands", "report")),
    "first_use": ("power.md", (*BOTH, "_commands", "report")),
    "fuzz": ("reliability.md", EVERYTHING),
    "guard": ("frames.md", CHECK),
    "harm": ("adapt-results.md", ("_adapt", "methods")),
    "harm_looked": ("adapt-results.md", ("_adapt", "methods")),
    "harm_seed1": ("adapt-results.md", ("_adapt", "methods")),
    "harm_unseen": ("adapt-results.md", ("_adapt", "methods")),
    "history": ("history-results.md", HISTORY),
    "history_cost": ("history.md", HISTORY),
    "history_kills": ("reliability.md", ("_data", "_history")),
    "history_real": ("history-results.md", HISTORY),
    "kills": ("reliability.md", EVERYTHING),
    "kitti_check": ("findings.md", BOTH),
    "learn": ("benchmarks.md", LEARN),
    "methods": ("methods.md", ("_adapt", "methods")),
    "mutations": ("../CONTRIBUTING.md", EVERYTHING),
    "order_examples": ("time-results.md", BOTH),
    "packaged": ("release.md", EVERYTHING),
    "power": ("power.md", BOTH),
    "power_rows": ("power.md", BOTH),
    "prediction_checks": ("power.md", BOTH),
    "real_checks": ("findings.md", BOTH),
    "real_streams": ("units-results.md", HISTORY),
    "review_page": ("review.md", ("_review",)),
    "scale": ("scale-results.md", (*BOTH, "_scan")),
    "scale_out": ("scale.md", (*BOTH, "_scan")),
    "train": ("train-results.md", (*BOTH, "_train", "sqrl_paper/train")),
    "train_others": ("train-results.md", (*BOTH, "_train", "sqrl_paper/train")),
    "training_loops": ("training.md", ("_adapt", "training")),
    "unit_levels": ("units-results.md", BOTH),
    "units": ("units-results.md", BOTH),
}
HEAD = """# When each figure was measured

Figures in these pages come from files in `benchmarks/results`. Each was measured by the code of one
commit, and code goes on changing. The last column names the rooms, among those that a file is
about, whose code has changed between that commit and the one at which this page was written;
comments, docstrings and layout do not count. A figure whose room has changed may still be right:
it is not measured anew for every edit.

This page is written for a release, by `python benchmarks/stale.py --write`; without `--write` the
command tells how things are now.

| results | page | measured | commit | processor | changed since |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A results file: when, where, by which commits, and rooms that have changed since."""

    name: str
    day: str
    commits: tuple[str, ...]
    processor: str
    changed: tuple[str, ...] | None  # None where nothing says what the code was

    def cells(self) -> list[str]:
        """What does not depend on today's code: the file, its page, the day, commit, machine."""
        page, _ = MEASURES[self.name]
        commits = ", ".join(self.commits) or "not recorded"
        link = f"[{Path(page).stem}]({page})"
        return [f"`{self.name}.json`", link, self.day, commits, self.processor]

    def line(self) -> str:
        """The file's line in the table."""
        changed = "not known"
        if self.changed is not None:
            changed = ", ".join(f"`{room}`" for room in self.changed) or "no"
        return f"| {' | '.join([*self.cells(), changed])} |"


def look_at(path: Path, now: Mapping[str, str]) -> Measured:
    """What a results file says of the code that it was measured with, beside today's."""
    result: Json = json.loads(path.read_text())
    found = list(conditions(result))
    kept = [rooms for one in found if (rooms := rooms_of(one["commit"])) is not None]
    _, wanted = MEASURES[path.stem]
    changed = sorted({room for then in kept for room in changed_rooms(then, now, wanted)})
    days = [str(one.get("date") or one.get("made") or "") for one in found]
    processors = [one["machine"]["processor"] for one in found if "machine" in one]
    return Measured(
        path.stem,
        max(days, default="")[:10] or "not recorded",
        tuple(sorted({_shown(one["commit"]) for one in found})),
        ", ".join(dict.fromkeys(processors)) or "not recorded",
        tuple(changed) if len(kept) == len(found) > 0 else None,
    )


def _shown(commit: Json) -> str:
    return str(commit["id"][:12]) + (" with changes" if commit.get("dirty") else "")


def conditions(result: object) -> Iterator[Json]:
    """The parts of a result that name a commit: the whole as a rule, or each of its runs."""
    if isinstance(result, dict):
        if isinstance(result.get("commit"), dict) and result["commit"].get("id"):
            yield result
            return
        for part in result.values():
            yield from conditions(part)
    elif isinstance(result, list):
        for part in result:
            yield from conditions(part)


def rooms_of(commit: Json) -> dict[str, str] | None:
    """Digests of the sources at a commit: as they were kept, or from git; None without either."""
    kept: dict[str, str] | None = commit.get("rooms") or past_sources().get(commit["id"])
    return kept or rooms_at(commit["id"])


@cache
def rooms_at(commit: str) -> dict[str, str] | None:
    """Digests of the sources at a commit, from git; None where there is no such history."""
    done = run(["git", "archive", commit], capture_output=True, check=False, cwd=ROOT)
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        sources = [
            (member.name, file.read().decode())
            for member in files
            if IS_SOURCE.search(member.name) and (file := files.extractfile(member)) is not None
        ]
    return digests(sources)


def changed_rooms(
    then: Mapping[str, str], now: Mapping[str, str], wanted: tuple[str, ...]
) -> list[str]:
    """The rooms among those wanted whose code, or that of rooms inside, is not what it was.

    >>> changed_rooms({"a": "1", "a/b": "2", "c": "3"}, {"a": "1", "a/b": "4"}, ("a",))
    ['a']
    """
    differing = [room for room in {*then, *now} if then.get(room) != now.get(room)]
    return sorted(
        {
            one or room.split("/")[0]  # of everything, the room at the door
            for room in differing
            for one in wanted
            if is_within(room, one)
        }
    )


def is_within(room: str, other: str) -> bool:
    """Whether a room is another or inside of it; everything is within the nameless one."""
    return not other or room == other or room.startswith(other + "/")


def measured(folder: Path = RESULTS) -> list[Measured]:
    """All results files, in the order of their names."""
    now = digests(read_sources(ROOT))
    return [look_at(path, now) for path in sorted(folder.glob("*.json"))]


def render(files: list[Measured]) -> str:
    """The page."""
    commit = describe_commit()["id"] or "not known"
    lines = "\n".join(one.line() for one in files)
    return f"{HEAD}{lines}\n\nWritten at commit {commit[:12]}.\n"


def fill() -> None:
    """Keep the digests at commits of results that have none, as far as git knows the commits."""
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    commits = [one["commit"] for result in results for one in conditions(result)]
    wanted = sorted({one["id"] for one in commits if "rooms" not in one})
    kept = past_sources()
    made = {commit: rooms for commit in wanted if (rooms := kept.get(commit) or rooms_at(commit))}
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    PAST.write_text(f"{{\n{lines}\n}}\n")


@cache
def past_sources() -> dict[str, dict[str, str]]:
    """Digests at commits of results that were measured before digests were kept with them."""
    kept: dict[str, dict[str, str]] = json.loads(PAST.read_text()) if PAST.exists() else {}
    return kept


def main() -> None:
    """Parse the command line, and tell, write or fill."""
    parser = argparse.ArgumentParser(description="Tells which results are of older code.")
    parser.add_argument("--write", action="store_true", help="write docs/measured.md")
    parser.add_argument("--fill", action="store_true", help="write past_sources.json")
    given = parser.parse_args()
    if given.fill:
        fill()
        return
    files = measured()
    if given.write:
        PAGE.write_text(render(files))
    for one in files:
        print(one.line())


if __name__ == "__main__":
    main()
