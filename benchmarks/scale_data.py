"""Boxes like KITTI's, as many as wanted, in Parquet files: the same for the same seed."""

import os
import shutil
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA = "detection"  # sqrl's shipped schema: 252 rules about `type`, left, top, right and bottom
COLUMNS = ("type", "left", "top", "right", "bottom")
FOCAL, CAMERA_HEIGHT, HORIZON = 721.0, 1.65, 172.0  # KITTI's camera: pixels, metres, pixels
IMAGE = 1242.0, 375.0
BYTES_A_ROW = 12  # on disk, about
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of road users: how many of KITTI's labels are of it, and its size in metres."""

    labels: int
    height: float
    width: float
    length: float
    distance: float  # the median


KINDS = {
    "Car": Kind(28742, 1.53, 1.63, 3.88, 26),
    "Cyclist": Kind(1627, 1.74, 0.60, 1.76, 22),
    "Pedestrian": Kind(4487, 1.76, 0.66, 0.84, 17),
    "Person_sitting": Kind(222, 1.27, 0.59, 0.80, 13),
    "Tram": Kind(511, 3.53, 2.54, 16.1, 30),
    "Truck": Kind(1094, 3.25, 2.59, 10.1, 38),
    "Van": Kind(2914, 2.21, 1.90, 5.08, 28),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How the rows are divided: into files, and these into row groups."""

    file_rows: int = 5_000_000
    group_rows: int = 1_000_000


def boxes(n_rows: int, *, seed: int, block: int) -> pa.Table:
    """So many boxes; the same for the same seed and number of a block.

    Each is a solid of its class at some distance, seen at some angle, as a camera of KITTI's would
    see it: to hundredths of a pixel, and cut off at the edges of the image.
    """
    rng = np.random.default_rng([seed, block])
    kinds = list(KINDS.values())
    shares = np.array([kind.labels for kind in kinds], float)
    code = rng.choice(len(kinds), n_rows, p=shares / shares.sum()).astype(np.int8)

    def each(field: str) -> Floats:
        return np.array([getattr(kind, field) for kind in kinds])[code]

    distance = each("distance") * np.exp(rng.normal(0, 0.55, n_rows)) + 3
    angle = rng.uniform(0, np.pi / 2, n_rows)
    across = each("width") * np.cos(angle) + each("length") * np.sin(angle)
    grown = np.exp(rng.normal(0, 0.08, (2, n_rows)))
    height, width = FOCAL / distance * np.stack([each("height"), across]) * grown
    middle = IMAGE[0] * rng.random((2, n_rows)).mean(axis=0)
    bottom = HORIZON + FOCAL * CAMERA_HEIGHT / distance + rng.normal(0, 4, n_rows)
    sides = {
        "left": np.clip(middle - width / 2, 0, IMAGE[0] - 2),
        "top": np.clip(bottom - height, 0, IMAGE[1] - 2),
        "right": np.clip(middle + width / 2, 2, IMAGE[0] - 1),
        "bottom": np.clip(bottom, 2, IMAGE[1] - 1),
    }
    words = pa.DictionaryArray.from_arrays(pa.array(code), pa.array(list(KINDS)))
    columns: dict[str, Any] = {"type": words.cast(pa.string())}
    columns |= {
        name: pa.array(np.round(side, 2).astype(np.float32)) for name, side in sides.items()
    }
    return pa.table(columns)


def write_files(folder: Path, n_rows: int, sizes: Sizes, *, seed: int) -> list[Path]:
    """The files with the first so many rows, made unless they are there."""
    n_files = -(-n_rows // sizes.file_rows)
    paths = [folder / f"boxes-{number:03d}.parquet" for number in range(n_files)]
    missing = [number for number, path in enumerate(paths) if not path.exists()]
    _check_room(folder, len(missing) * sizes.file_rows)
    work = [(paths[number], number, sizes, seed) for number in missing]
    with get_context("spawn").Pool(max(1, min(len(work), os.cpu_count() or 1))) as pool:
        pool.starmap(_write_file, work)
    return paths


def _write_file(path: Path, number: int, sizes: Sizes, seed: int) -> None:
    import pyarrow.parquet as pq

    n_blocks = sizes.file_rows // sizes.group_rows
    unfinished = path.with_suffix(".unfinished")
    first = boxes(sizes.group_rows, seed=seed, block=number * n_blocks)
    with pq.ParquetWriter(unfinished, first.schema, compression="zstd") as writer:
        writer.write_table(first, row_group_size=sizes.group_rows)
        for block in range(number * n_blocks + 1, (number + 1) * n_blocks):
            made = boxes(sizes.group_rows, seed=seed, block=block)
            writer.write_table(made, row_group_size=sizes.group_rows)
    unfinished.rename(path)


def _check_room(folder: Path, n_rows: int) -> None:
    needed, free = n_rows * BYTES_A_ROW, shutil.disk_usage(folder).free
    if needed > free:
        raise SystemExit(
            f"{n_rows:,} rows take about {needed / 2**30:.1f} GiB on disk and {folder} has "
            f"{free / 2**30:.1f} GiB free: give another folder with --data."
        )
