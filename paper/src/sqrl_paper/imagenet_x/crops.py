"""Crops: the pixels of ImageNet's validation images beside what ImageNet-X says of them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Table, shuffle_rows
from sqrl.errors import DataError
from sqrl_paper.imagenet_x.annotations import CLASS, FACTORS, FILE, LABEL, METACLASSES
from sqrl_paper.shared.data_files import data_folder
from sqrl_paper.shared.images import read_image

FOLDERS = ("imagenet_val", "imagenet_val5k/images")
TITLE = "ImageNet, validation images"
PAGE = "https://image-net.org/download.php"
SUFFIXES = (".jpeg", ".jpg", ".png")
SIZE = 160  # pixels


@dataclass(frozen=True, slots=True, eq=False)
class Crops:
    """Images, row by row with what is known of them.

    `factors` is all that a method may see beside the images; `labels` are places in METACLASSES,
    `classes` the 1,000 of ImageNet. Shapes: images (n, 3, side, side) in bytes, the others (n,).
    """

    images: Tensor
    factors: Table
    labels: Tensor
    classes: Tensor
    files: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    def take(self, rows: NDArray[np.int64]) -> "Crops":
        """Only these rows, in this order."""
        chosen = torch.from_numpy(rows)
        return Crops(
            self.images[chosen],
            self.factors.take(rows),
            self.labels[chosen],
            self.classes[chosen],
            tuple(self.files[row] for row in rows),
        )


def read_crops(
    annotations: Table,
    folder: str | Path | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    size: int = SIZE,
) -> Crops:
    """The annotated images that are there, or `n` of them drawn by the seed, in a random order.

    Looked for in `imagenet_val` of the data folder, where the official archive was unpacked, then
    among ready-made crops in `imagenet_val5k/images`. Fewer are the first of more: the 100 of a
    seed are among its 200. Cost: 77 kB for an image of 160 x 160 pixels, and about 1 ms.
    """
    paths = _paths(folder)
    names = annotations[FILE]
    stems = [Path(names.categories[code]).stem for code in names.values]
    rows = np.flatnonzero([stem in paths for stem in stems])
    wanted = len(rows) if n is None else n
    if not len(rows) or wanted > len(rows):
        raise DataError(
            f"{wanted:,} images are wanted, and {len(rows):,} of the annotated ones are there.",
            where=str(next(iter(paths.values())).parent),
            fix=f"fetch them again from {PAGE}",
        )
    rows = rows[shuffle_rows(len(rows), seed=seed)[:wanted]]
    images = np.empty((wanted, 3, size, size), np.uint8)
    for place, row in enumerate(rows):
        images[place] = _read(paths[stems[row]], size)
    return _with_what_is_known(torch.from_numpy(images), annotations.take(rows))


def files_of_crops(folder: str | Path | None) -> list[Path]:
    """The images that are there; a DataError that says where to get them."""
    return list(_paths(folder).values())


def _with_what_is_known(images: Tensor, table: Table) -> Crops:
    label, names = table[LABEL], table[FILE]
    places = np.array([METACLASSES.index(name) for name in label.categories], np.int64)
    return Crops(
        images=images,
        factors=Table({name: table[name] for name in FACTORS}, table.n_rows, table.source),
        labels=torch.from_numpy(places[label.values]),
        classes=torch.from_numpy(table[CLASS].values.astype(np.int64)),
        files=tuple(names.categories[code] for code in names.values),
    )


def _paths(folder: str | Path | None) -> dict[str, Path]:
    """The images by name without suffix, of the first folder that has any."""
    root = data_folder(folder)
    for name in FOLDERS:
        if (root / name).is_dir():
            found = sorted(p for p in (root / name).iterdir() if p.suffix.lower() in SUFFIXES)
            if found:
                return {path.stem: path for path in found}
    raise DataError(
        f"The data set {TITLE!r} is not there.",
        where=str(root / FOLDERS[0]),
        fix=f"download ILSVRC2012_img_val.tar from {PAGE} and unpack it there, or say with "
        "--data DIR or SQRL_DATA=DIR which folder holds it",
    )


def _read(path: Path, size: int) -> NDArray[np.uint8]:
    try:
        return read_image(path, size)
    except OSError:
        raise DataError(
            "The file is no image, or is damaged.",
            where=str(path),
            fix=f"fetch it again from {PAGE}",
        ) from None
