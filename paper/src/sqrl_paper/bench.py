"""run_bench: a task by its name in, its results with how they came about out."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, cast

from sqrl.errors import DataError, MissingExtraError, unknown

if TYPE_CHECKING:
    from sqrl_paper.place import Place
    from sqrl_paper.runs import Runs
    from sqrl_paper.table import Sheet

Json = dict[str, Any]
TASKS = {
    "cardio": "sqrl_paper.cardio.bench",
    "detection": "sqrl_paper.detection.bench",
    "imagenet-x": "sqrl_paper.imagenet_x.bench",
    "imputation": "sqrl_paper.imputation.bench",
    "sentiment": "sqrl_paper.sentiment.bench",
}
OTHERS = {"train": "sqrl_paper.train.bench"}  # not of the paper; its page is train-results.md
COMMON = ("sqrl-rules", "numpy", "torch", "safetensors")


class Task(Protocol):
    """What the module of a task has."""

    ABOUT: str  # a line on what is measured
    LIBRARIES: tuple[str, ...]  # whose versions matter, beside torch and numpy

    def files(self, folder: Path) -> Sequence[Path]:
        """The files of the data set in the data folder; a DataError that says what is missing."""
        ...

    def make_files(self, folder: Path) -> None:
        """Write small made-up files in the same format, for quick runs where there is no data."""
        ...

    def bench(self, place: "Place", runs: "Runs", seeds: Sequence[int]) -> Json:
        """All results, as plain values: what `sheets` and `draw` show is made of them alone."""
        ...

    def protocol(self, result: Json) -> str:
        """How it was measured, in paragraphs of Markdown; the tables are not explained again."""
        ...

    def sheets(self, result: Json) -> "list[Sheet]":
        """The tables."""
        ...

    def draw(self, result: Json, path: Path) -> None:
        """Write the figure: a rule, a violation, the prediction after adaptation."""
        ...


def load_task(name: str) -> Task:
    """The module of a task, by the name that the command line has for it."""
    known = TASKS | OTHERS
    if name not in known:
        raise unknown("task", name, known)
    for library in ("torch", "safetensors"):
        if find_spec(library) is None:
            raise MissingExtraError(
                f"The bench needs {library}, which is not installed.",
                fix="pip install sqrl-paper",
            )
    return cast(Task, import_module(known[name]))


def run_bench(
    name: str,
    *,
    folder: str | Path | None = None,
    quick: bool = False,
    seeds: Sequence[int] = (0, 1, 2),
    n_workers: int = 2,
    part: str = "bench",
    track: Callable[[str, int, int], None] = lambda *_: None,
) -> Json:
    """The results of a task, from raw files; what is finished already is not done again.

    `quick` is for a look: one seed, small sizes, made-up data where there is none. `part` names a
    function of the task's module that gives some of the results.
    """
    from sqrl_paper.results import describe_commit, describe_machine, describe_versions
    from sqrl_paper.runs import Runs, fingerprint_of_code

    task = load_task(name)
    chosen = list(seeds[:1] if quick else seeds)
    start = time.perf_counter()
    with _placed(name, task, folder, quick=quick) as place:
        runs = Runs(place, n_workers=n_workers, track=track)
        with runs.working():
            found = getattr(task, part)(place, runs, chosen)
    return {
        "task": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": describe_commit(),
        "code": fingerprint_of_code(),
        "machine": describe_machine() | {"processes": n_workers},
        "versions": describe_versions((*COMMON, *task.LIBRARIES)),
        "seeds": chosen,
        "quick": quick,
        "data": "made" if place.is_made else "real",
        "runs": {"done": runs.n_done, "remembered": runs.n_remembered},
        "seconds": {"this_time": time.perf_counter() - start, "of_all_runs": runs.seconds},
        **found,
    }


@contextmanager
def _placed(name: str, task: Task, folder: str | Path | None, *, quick: bool) -> "Iterator[Place]":
    """Where the real files are; for a quick run without any, a folder of made ones."""
    from sqrl_paper.place import Place, fingerprint
    from sqrl_paper.shared.checkpoints import cache_folder
    from sqrl_paper.shared.data_files import data_folder

    with TemporaryDirectory(prefix="sqrl-") as scratch:
        found, kept, is_made = data_folder(folder), cache_folder() / "bench" / name, False
        try:
            paths = task.files(found)
        except DataError:
            if folder is not None or not quick:
                raise
            found, kept, is_made = Path(scratch), Path(scratch) / "cache", True
            task.make_files(found)
            paths = task.files(found)
        yield Place(folder=found, cache=kept, quick=quick, data=fingerprint(paths), is_made=is_made)
