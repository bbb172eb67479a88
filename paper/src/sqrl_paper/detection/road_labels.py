"""What the detection task looks for on a road, and an image file with what is labelled on it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sqrl import Column
from sqrl.boxes import Boxes, image_key, sides_of
from sqrl.errors import DataError

CLASSES = ("Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram")
IGNORED = -1  # the label of a region that counts neither for a detector nor against it
SUFFIXES = (".png", ".jpg", ".jpeg")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledFile:
    """An image file, its name in the data set, and the boxes on it in pixels of `width`, `height`.

    These are of the original image; the file may hold a smaller copy. Shapes: boxes (m, 4): left,
    top, right, bottom; labels (m,): places in CLASSES, or IGNORED.
    """

    path: Path
    name: str
    width: float
    height: float
    boxes: Floats
    labels: Ints


def by_image(boxes: Boxes, label: Callable[[str], int]) -> dict[str, tuple[Floats, Ints]]:
    """The boxes of each image and their labels, by the image's key; those left out are ignored.

    `label` says what a class of the file is here. Images without boxes are there, too.
    """
    found: dict[str, list[tuple[int, Floats]]] = {
        image_key(name): [] for name in _texts(boxes.images["image"])
    }
    for table, is_left_out in ((boxes.table, False), (boxes.left_out, True)):
        names, kinds = _texts(table["image"]), _texts(table["type"])
        for name, kind, sides in zip(names, kinds, sides_of(table), strict=True):
            found[image_key(name)].append((IGNORED if is_left_out else label(kind), sides))
    return {
        name: (
            np.array([sides for _, sides in rows], np.float64).reshape(-1, 4),
            np.array([place for place, _ in rows], np.int64),
        )
        for name, rows in found.items()
    }


def _texts(column: Column) -> list[str]:
    return [column.categories[code] for code in column.values]


def image_files(folder: Path) -> list[Path]:
    """The image files in a folder, in the order of their names; none if there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)


def damaged_image(path: Path, page: str) -> DataError:
    """The error for a file that cannot be read as an image."""
    return DataError(
        "The file is no image, is damaged, or has far too many pixels.",
        where=str(path),
        fix=f"fetch it again from {page}",
    )
