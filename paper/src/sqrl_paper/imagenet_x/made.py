"""ImageNet-X made up in the published formats, and a network for it, for a look without data.

Each metaclass has a shade of grey, and the images of a class are of that shade, a little noisy.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl_paper.imagenet_x.annotations import (
    CLASSES_FILE,
    FACTORS,
    FOLDER,
    METACLASSES,
    N_CLASSES,
    OTHER,
)

N_TRAIN, N_VAL = 6000, 160
SIDE = 160
NAMES = (*(name for name in METACLASSES if name != OTHER), "fungus")  # one that is not among the 17
IMAGES = "imagenet_val5k/images"


def write_imagenet_x(
    folder: Path, *, n_train: int = N_TRAIN, n_val: int = N_VAL, seed: int = 0
) -> None:
    """All files, written where the readers look for them."""
    rng = np.random.default_rng(seed)
    write_metaclasses(folder)
    for part, n in (("train", n_train), ("val", n_val)):
        classes = rng.integers(0, N_CLASSES, n)
        groups = classes % len(NAMES)
        # Each group has a factor of its own more often than others, so that there are rules.
        chances = np.where(groups[:, None] % len(FACTORS) == np.arange(len(FACTORS)), 0.8, 0.04)
        ticked = (rng.random(chances.shape) < chances).astype(int)
        rows = [
            annotation(
                f"{part}_{i}.JPEG", int(number), **dict(zip(FACTORS, map(int, ticks), strict=True))
            )
            for i, (number, ticks) in enumerate(zip(classes, ticked, strict=True))
        ]
        write_annotations(folder, part, rows)
        if part == "val":
            _write_images(folder, classes, rng)


def annotation(file_name: str, number: int, **factors: int) -> dict[str, Any]:
    """A line of the annotations, as ImageNet-X has it."""
    told = {name: factors.get(name, 0) for name in FACTORS}
    words = {"justification": "image of something", "one_word": "something"}
    return {"file_name": file_name, "class": number, **told, **words}


def write_annotations(
    root: Path, part: str, rows: Sequence[dict[str, Any]], *, packed: bool = True
) -> Path:
    """The file of a part, packed as in the wheel or not."""
    path = root / FOLDER / f"imagenet_x_{part}_multi_factor.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if packed:
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def write_metaclasses(root: Path, group_of: Callable[[int], str] | None = None) -> Path:
    """Classes 0, 1, 2, ... get the metaclasses in turn, or whatever group is given for each."""
    path = root / CLASSES_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    chosen = [group_of(n) if group_of else NAMES[n % len(NAMES)] for n in range(N_CLASSES)]
    lines = [f"n{n:08},{name},{NAMES.index(name)}" for n, name in enumerate(chosen)]
    path.write_text("\n".join(["wnid,name,metaclass", *lines]) + "\n")
    return path


def write_image(
    path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (SIDE, SIDE)
) -> None:
    """An image of one colour."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, "PNG" if path.suffix == ".png" else "JPEG")


def _write_images(folder: Path, classes: np.ndarray, rng: np.random.Generator) -> None:
    for i, number in enumerate(classes):
        shade = shade_of(int(number)) + rng.normal(0, 6)
        grey = int(np.clip(round(shade), 0, 255))
        write_image(folder / IMAGES / f"val_{i}.jpg", (grey, grey, grey))


def shade_of(number: int) -> float:
    """How bright the images of a class are, from 0 to 255.

    >>> shade_of(0), shade_of(17), shade_of(16)
    (20.0, 20.0, 228.0)
    """
    return 20.0 + 13.0 * (number % len(NAMES))


class MadeNetwork(nn.Module):
    """A logit for each class, by how near an image's brightness is to the class's."""

    shades: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.BatchNorm2d(3), nn.BatchNorm1d(1)
        self.register_buffer("shades", torch.tensor([shade_of(n) for n in range(N_CLASSES)]) / 255)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each image."""
        first, last = self.cut(1)
        logits: Tensor = last(first(images))
        return logits

    def cut(self, n_blocks: int) -> tuple["MadeFirst", "MadeLast"]:  # noqa: ARG002
        """The network in two, a layer each."""
        return MadeFirst(self), MadeLast(self)


class MadeFirst(nn.Module):
    """The brightness of images."""

    def __init__(self, network: MadeNetwork) -> None:
        super().__init__()
        self.first = network.first

    def forward(self, images: Tensor) -> Tensor:
        """Shapes: result (rows, 1)."""
        made: Tensor = self.first(images.float() / 255).mean((1, 2, 3))[:, None]
        return made


class MadeLast(nn.Module):
    """The logits of a brightness."""

    shades: Tensor

    def __init__(self, network: MadeNetwork) -> None:
        super().__init__()
        self.second = network.second
        self.register_buffer("shades", network.shades)

    def forward(self, light: Tensor) -> Tensor:
        """Shapes: result (rows, classes)."""
        logits: Tensor = -300 * (self.second(light) - self.shades).square()
        return logits
