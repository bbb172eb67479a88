"""Real tables whose rows belong together: boxes of drives and images, measurements of patients."""

import gzip
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import sqrl
from sqrl.boxes import read_boxes

MOST_PATIENTS = 1_500
MEASURED = ("HR", "SysABP", "Temp", "Weight")
BOX = ("width", "height", "x_center", "y_bottom")
RULES = [
    "known(K)",
    "C in ?",
    "? <= N <= ?",
    {"rule": "? <= N <= ?", "coverage": 1},
    "? <= mean(N) <= ? over 256",
    "distance(N/10) <= ? over 256",
    "distance(C) <= ? over 256",
    "C = V => ? <= N <= ?",
    "distance(N/8 given C) <= ? over 256",
]


@dataclass(frozen=True, slots=True, eq=False)
class UnitTable:
    """Rows, the columns that say which belong together, and a schema without relations."""

    name: str
    rows: pd.DataFrame
    unit: tuple[str, ...]
    category: str
    value: str  # of the category, whose rows are changed
    widened: str

    @property
    def schema(self) -> dict[str, object]:
        """Ranges, sets, means and shares of every column."""
        numbers = [n for n in self.rows if n not in {*self.unit, "unit", self.category}]
        return {
            "let": {
                "N": numbers,
                "C": [self.category],
                "K": [*numbers, self.category],
                "V": f"values({self.category})",
            },
            "rules": RULES,
        }

    def changed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows with the category's boxes, or measurements, a tenth larger."""
        mine = rows[self.category] == self.value
        return rows.assign(
            **{self.widened: rows[self.widened].where(~mine, rows[self.widened] * 1.1)}
        )


def unit_tables(folder: Path) -> Iterator[UnitTable]:
    """The tables that are there."""
    tracking = folder / "kitti_tracking" / "labels.csv.gz"
    if tracking.exists():
        boxes = _tracking(tracking)
        for unit in (("seq", "track"), ("seq", "frame"), ("seq",)):
            kept = boxes[[*unit, "type", *BOX]]
            yield UnitTable(
                f"KITTI tracking by {' and '.join(unit)}", kept, unit, "type", "Car", "width"
            )
    labels = folder / "kitti" / "data_object_label_2.zip"
    if labels.exists():
        found = read_boxes(labels).table
        boxes = _sides(pd.DataFrame({name: _plain(found[name]) for name in found.names}))
        kept = boxes[["image", "type", *BOX]]
        yield UnitTable("KITTI objects by image", kept, ("image",), "type", "Car", "width")
    patients = folder / "physionet2012" / "set-a.tar.gz"
    if patients.exists():
        rows = read_patients(patients)
        yield UnitTable("PhysioNet by patient", rows, ("patient",), "ICUType", "2", "HR")


def _plain(column: sqrl.Column) -> object:
    if column.kind != "category":
        return column.values
    return np.array(column.categories, object)[column.values]


def _tracking(path: Path) -> pd.DataFrame:
    with gzip.open(path, "rt") as stream:
        boxes = pd.read_csv(stream)
    return _sides(boxes[(boxes["track"] >= 0) & (boxes["type"] != "DontCare")])


def _sides(boxes: pd.DataFrame) -> pd.DataFrame:
    return boxes.assign(
        width=boxes["right"] - boxes["left"],
        height=boxes["bottom"] - boxes["top"],
        x_center=(boxes["left"] + boxes["right"]) / 2,
        y_bottom=boxes["bottom"],
    )


def read_patients(path: Path) -> pd.DataFrame:
    """A row for each hour of a patient in which the heart rate was measured."""
    frames = []
    with tarfile.open(path) as archive:
        members = [one for one in archive if one.isfile() and one.name.endswith(".txt")]
        for member in sorted(members, key=lambda one: one.name)[:MOST_PATIENTS]:
            stream = archive.extractfile(member)
            assert stream is not None
            frames.append(_patient(stream.read().decode()))
    return pd.concat(frames, ignore_index=True)


def _patient(text: str) -> pd.DataFrame:
    lines = pd.read_csv(io.StringIO(text))
    lines["hour"] = lines["Time"].str[:2].astype(int)
    said = dict(zip(lines["Parameter"], lines["Value"], strict=True))
    wide = lines[lines["Parameter"].isin(MEASURED)].pivot_table(
        index="hour", columns="Parameter", values="Value", aggfunc="mean"
    )
    wide = wide.reindex(columns=list(MEASURED)).dropna(subset=["HR"]).where(lambda x: x > 0, np.nan)
    return wide.assign(
        patient=int(said["RecordID"]), Age=float(said["Age"]), ICUType=str(int(said["ICUType"]))
    )
