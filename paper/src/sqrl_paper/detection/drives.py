"""Rules that hold from drive to drive: KITTI's rules, tested on drives that are told apart.

KITTI's object labels do not say which drive a frame is of, and their numbers are in random order,
so that neighbours say nothing of it. Its tracking labels name the drive. Rules are learned from the
boxes of the object labels, as in the paper, and kept if the drives of the tracking labels show that
they hold. Recordings of both come from the same days: some drives may be in both.
"""

import csv
import dataclasses
import gzip
from pathlib import Path

from msgspec.structs import replace

from sqrl import RuleSet, Schema, Table, as_table, learn
from sqrl.boxes import SIDES
from sqrl.errors import DataError
from sqrl_paper.detection.road_labels import CLASSES
from sqrl_paper.shared.data_files import find_file

TRACKING = "kitti_tracking/labels.csv.gz"
PAGE = "https://www.cvlibs.net/datasets/kitti/eval_tracking.php"
DRIVE = "drive"
UNKNOWN = "object labels"  # the drive of boxes whose drive is not told


def read_drives(folder: str | Path | None) -> Table:
    """The boxes of the tracking labels, each with its drive; those of other classes are left out.

    A file with the columns seq, type, left, top, right and bottom, a row for each box.
    """
    path = find_file(folder, TRACKING, title="KITTI, tracking labels", page=PAGE)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row.get("type") in CLASSES]
    try:
        sides = {side: [float(row[side]) for row in rows] for side in SIDES}
        return as_table(
            {"type": [row["type"] for row in rows], DRIVE: [row["seq"] for row in rows], **sides},
            source=str(path),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"The labels of drives cannot be read: {error}.",
            where=str(path),
            fix="write a row for each box: seq, type, left, top, right, bottom",
        ) from None


def learn_by_drive(boxes: Table, drives: Table, schema: Schema, *, holds: float) -> RuleSet:
    """The rules of the boxes of which the drives show that they hold so often.

    That bounds agree is not asked for beside it: any that meet do.
    """
    train = boxes.with_columns({DRIVE: [UNKNOWN] * boxes.n_rows})
    usual = Schema(rules=schema.rules, let=schema.let, statistics=schema.statistics).validate
    assert usual
    validate = replace(usual, epsilon=1.0, holds=holds)
    found = learn(train, replace(schema, unit=DRIVE, validate=validate), valid=drives)
    return dataclasses.replace(found, schema=schema)  # boxes that are checked have no drive
