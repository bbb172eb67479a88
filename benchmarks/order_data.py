"""Real rows in order, KITTI's tracks and PhysioNet's patients, and faults planted in them.

A fault gives the data with some rows changed, and which rows a person would point at.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sqrl
from sqrl_paper.imputation.physionet_files import find_records

Columns = dict[str, NDArray[Any]]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Fault = Callable[[Columns, np.random.Generator], tuple[Columns, Bools]]

MEASURED = ("HR", "SysABP", "Temp", "RespRate")
KITTI = {
    "order": "frame",
    "entity": ["seq", "track"],
    "unit": ["seq", "track"],
    "label": "type",
    "statistics": {
        "width": "right - left",
        "height": "bottom - top",
        "center": "(left + right) / 2",
        "step": "delta(center) / lag(width)",
        "growth": "height / lag(height)",
    },
    "let": {"Y": ["Car", "Van", "Pedestrian", "Cyclist"], "A": ["step", "growth", "delta(bottom)"]},
    "rules": [
        "type = Y => ? <= A <= ?",
        {"rule": "type = Y => ? <= A <= ?", "coverage": 1},
        "lag(type) = Y => type in ?",
        {"rule": "since_last <= ?", "coverage": 1},
        "distance(A/10) <= ? over 256",
    ],
}
PHYSIONET = {
    "order": "minute",
    "entity": "patient",
    "unit": "patient",
    "let": {"A": list(MEASURED)},
    "rules": [
        "? <= A <= ?",
        "? <= delta(A) <= ?",
        "? <= rolling_mean(HR, 24) <= ?",
        "since_last <= ?",
        "distance(delta(A)/10) <= ? over 256",
        "? <= rate(delta(HR) = 0) <= ? over 256",
    ],
}


def read_kitti(folder: Path) -> Columns:
    """The boxes of all tracks, without regions that are to be ignored."""
    table = sqrl.read_table(folder / "kitti_tracking" / "labels.csv.gz")
    table = table.take(table["track"].values >= 0)
    words = np.array([*table["type"].categories, ""])
    names = ("seq", "frame", "track", "left", "top", "right", "bottom")
    numbers = {name: np.array(table[name].values) for name in names}
    return {**numbers, "type": words[table["type"].values]}


def read_physionet(folder: Path, most: int | None = None) -> Columns:
    """A row for each minute at which a patient's heart rate was noted, and what else was then."""
    rows: list[list[float]] = []
    for record in find_records(folder)[1][:most]:
        at: dict[int, dict[str, float]] = {}
        for line in record.content.decode().splitlines()[1:]:
            time, name, value = line.split(",")
            if name in MEASURED and float(value) > 0:
                hours, minutes = time.split(":")
                at.setdefault(60 * int(hours) + int(minutes), {})[name] = float(value)
        rows += [
            [record.number, minute, *(seen.get(name, np.nan) for name in MEASURED)]
            for minute, seen in at.items()
            if "HR" in seen
        ]
    return dict(zip(("patient", "minute", *MEASURED), np.array(rows).T, strict=True))


def take(columns: Columns, rows: Bools | Ints) -> Columns:
    """Only these rows."""
    return {name: values[rows] for name, values in columns.items()}


def ordered(columns: Columns, *keys: str) -> Columns:
    """The rows sorted by the keys, the first counting most."""
    return take(columns, np.lexsort([columns[key] for key in reversed(keys)]))


def swap_tracks(columns: Columns, rng: np.random.Generator) -> tuple[Columns, Bools]:
    """Forty pairs of tracks of one class that change their numbers where both are seen."""
    track, marked = columns["track"].copy(), np.zeros(columns["track"].size, np.bool_)
    used: set[tuple[float, float]] = set()
    while len(used) < 80:
        row = int(rng.integers(track.size))
        seq, frame, kind = (columns[name][row] for name in ("seq", "frame", "type"))
        here = (columns["seq"] == seq) & (columns["frame"] == frame) & (columns["type"] == kind)
        before = (columns["seq"] == seq) & (columns["frame"] == frame - 1)
        seen = np.intersect1d(columns["track"][here], columns["track"][before])
        free = [one for one in seen.tolist() if (seq, one) not in used]
        if len(free) < 2:
            continue
        one, other = rng.permutation(free)[:2]
        later = (columns["seq"] == seq) & (columns["frame"] >= frame)
        mine, theirs = (later & (columns["track"] == name) for name in (one, other))
        track[mine], track[theirs] = other, one
        marked |= (mine | theirs) & (columns["frame"] == frame)
        used |= {(seq, one), (seq, other)}
    return {**columns, "track": track}, marked


def freeze(key: str, names: tuple[str, ...], share: float, n_rows: int) -> Fault:
    """A fault: some entities stop to change, and show their last values for so many rows."""

    def plant(columns: Columns, rng: np.random.Generator) -> tuple[Columns, Bools]:
        entities, counts = np.unique(columns[key], return_counts=True)
        long = entities[counts > n_rows]
        chosen = rng.permutation(long)[: max(1, int(share * entities.size))]
        made = {name: columns[name].copy() for name in names}
        marked = np.zeros(columns[key].size, np.bool_)
        for entity in chosen:
            rows = np.flatnonzero(columns[key] == entity)
            first = int(rng.integers(0, rows.size - n_rows))
            stuck = rows[first + 1 : first + 1 + n_rows]
            for values in made.values():
                values[stuck] = values[rows[first]]
            marked[stuck] = True
        return {**columns, **made}, marked

    return plant


def drop_frames(columns: Columns, _rng: np.random.Generator) -> tuple[Columns, Bools]:
    """Every second frame is lost."""
    kept = take(columns, columns["frame"] % 2 == 0)
    return kept, np.ones(kept["frame"].size, np.bool_)


def rename_class(columns: Columns, rng: np.random.Generator) -> tuple[Columns, Bools]:
    """One box in a hundred is called by another class for one frame."""
    marked = rng.random(columns["type"].size) < 0.01
    cars = columns["type"] == "Car"
    other = np.where(cars, "Van", "Car")
    return {**columns, "type": np.where(marked, other, columns["type"])}, marked


def swap_patients(columns: Columns, rng: np.random.Generator) -> tuple[Columns, Bools]:
    """Two hundred patients take each other's place, in pairs, for their second day."""
    patients = rng.permutation(np.unique(columns["patient"]))[:200]
    other = dict(zip(patients.tolist(), np.roll(patients, 1).tolist(), strict=True))
    late = columns["minute"] >= 1440
    moved = late & np.isin(columns["patient"], patients)
    renamed = [other.get(one, one) for one in columns["patient"].tolist()]
    patient = np.where(moved, renamed, columns["patient"])
    first = np.full(moved.size, False)
    for one in patients:
        rows = np.flatnonzero(moved & (patient == one))
        first[rows[np.argmin(columns["minute"][rows])] if rows.size else []] = True
    return {**columns, "patient": patient}, first
