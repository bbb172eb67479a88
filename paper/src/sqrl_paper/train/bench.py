"""`sqrl bench train`: models trained by rules, without a label, with few and with all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqrl_paper.cardio.made import write_cardio
from sqrl_paper.cardio.task import PAGE, TITLE
from sqrl_paper.place import Place
from sqrl_paper.runs import Runs
from sqrl_paper.shared.data_files import find_file
from sqrl_paper.train.pages import aims_of
from sqrl_paper.train.pages import draw_curves as draw
from sqrl_paper.train.pages import sheets_of as sheets
from sqrl_paper.train.pages import tell_protocol as protocol
from sqrl_paper.train.runs import FIRST_SEED, Divided, Sites, measure_sites, measure_table
from sqrl_paper.train.tables import FILES, READERS

__all__ = ["ABOUT", "LIBRARIES", "bench", "draw", "files", "make_files", "protocol", "sheets"]

Json = dict[str, Any]
ABOUT = "Training by rules: seven tables, without a label, with few and with all."
LIBRARIES = ("rtdl_revisiting_models", "scikit-learn", "scipy")
QUICK_TABLES = ("cardio", "wine")
SLOWEST = ("kitti", "cardio", "physionet", "phrasebank", "digits", "breast_cancer", "wine")


def files(folder: Path) -> list[Path]:
    """The files that are there; the cardio table must be."""
    found = [find_file(folder, FILES["cardio"][0], title=TITLE, page=PAGE)]
    others = [folder / name for names in FILES.values() for name in names]
    return found + [path for path in others if path.is_file() and path not in found]


def make_files(folder: Path) -> None:
    """A small cardio table in the same format."""
    write_cardio(folder)


def bench(place: Place, runs: Runs, seeds: Sequence[int]) -> Json:
    """Every table with every method; and the rules of one site at another."""
    names = QUICK_TABLES if place.quick else SLOWEST
    if not place.quick:
        for title, paths in FILES.items():
            for name in paths:
                find_file(place.folder, name, title=title, page="its publisher")
    jobs = [Divided(seed=seed, table=name) for name in names for seed in seeds]
    done = runs.map(measure_table, jobs, label="tables")
    tables: Json = {}
    for name in READERS:
        parts = [one for job, one in zip(jobs, done, strict=True) if job.table == name]
        if parts:
            sizes = {key: value for key, value in parts[0].items() if key != "run"}
            tables[name] = sizes | {"runs": [part["run"] for part in parts]}
    sites = [] if place.quick else [Sites(seed=seed) for seed in seeds]
    found = {
        "splits": [FIRST_SEED + seed for seed in seeds],
        "tables": tables,
        "sites": runs.map(measure_sites, sites, label="sites") if sites else [],
    }
    return found | {"aims": aims_of(found)}
