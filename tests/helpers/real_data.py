"""Real data for tests that need it; they skip where `SQRL_DATA` does not say where it is."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest


def folder(name):
    """A data set's folder, or a skip."""
    root = os.environ.get("SQRL_DATA")
    path = Path(root) / name if root else None
    if path is None or not path.exists():
        pytest.skip(f"SQRL_DATA does not hold {name}")
    return path


def kitti_boxes(split):
    """The labelled boxes of KITTI's train or val frames as columns."""
    root = folder("kitti")
    frames = (root / "ImageSets" / f"{split}.txt").read_text().split()
    kinds, boxes = [], []
    with zipfile.ZipFile(root / "data_object_label_2.zip") as archive:
        for frame in frames:
            for line in archive.read(f"training/label_2/{frame}.txt").decode().splitlines():
                parts = line.split()
                kinds.append(parts[0])
                boxes.append([float(part) for part in parts[4:8]])
    columns = np.array(boxes).T
    names = ("left", "top", "right", "bottom")
    return {"type": kinds, **dict(zip(names, columns, strict=True))}
