"""Boxes around road users: KITTI's labels where they are, else made up."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl import load_schema

Columns = dict[str, NDArray[Any]]
NAMES = ("left", "top", "right", "bottom")


def read_boxes(folder: Path, *, seed: int) -> tuple[Columns, bool]:
    """The labelled boxes of KITTI's train frames, and whether they are real."""
    archive = folder / "kitti" / "data_object_label_2.zip"
    if not archive.exists():
        return _made_boxes(20_000, seed), False
    frames = (folder / "kitti" / "ImageSets" / "train.txt").read_text().split()
    kinds, boxes = [], []
    with zipfile.ZipFile(archive) as labels:
        for frame in frames:
            for line in labels.read(f"training/label_2/{frame}.txt").decode().splitlines():
                parts = line.split()
                kinds.append(parts[0])
                boxes.append([float(part) for part in parts[4:8]])
    return _columns(np.array(kinds), np.array(boxes)), True


def _made_boxes(n_rows: int, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    kinds = load_schema("detection").let["Y"]
    left, top = rng.uniform(0, 1100, n_rows), rng.uniform(100, 250, n_rows)
    right = left + rng.gamma(2.0, 40.0, n_rows) + 5
    bottom = top + rng.gamma(2.0, 30.0, n_rows) + 5
    return _columns(rng.choice(kinds, n_rows), np.stack([left, top, right, bottom], axis=1))


def _columns(kinds: NDArray[Any], boxes: NDArray[np.float64]) -> Columns:
    return {"type": kinds, **dict(zip(NAMES, boxes.T, strict=True))}


def boxes_like(boxes: Columns, n_rows: int, *, seed: int) -> Columns:
    """As many boxes as asked for: drawn with replacement, each moved by a pixel or so."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(boxes["type"]), n_rows)
    made: Columns = {name: boxes[name][rows] + rng.normal(0, 1, n_rows) for name in NAMES}
    return {"type": boxes["type"][rows], **made}
