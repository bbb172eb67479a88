"""Rows of which a model sees pixels or words, and rules other columns of the same rows."""

import hashlib
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sqrl import Table
from sqrl_paper.imagenet_x.annotations import FACTORS, METACLASSES, read_annotations
from sqrl_paper.imagenet_x.annotations import LABEL as METACLASS
from sqrl_paper.imagenet_x.crops import read_crops
from sqrl_paper.shared.corruptions import corrupt
from sqrl_paper.shared.efficientnet_lite import LastBlocks, load_efficientnet_lite0
from sqrl_paper.train.tables import LABEL, read_phrasebank

N_FIRST = 16  # blocks of EfficientNet-Lite0: all, whose results are computed once and kept
AT_ONCE = 64
SIDE = 96  # pixels, of every crop of a box whatever its shape
LEAST = 8  # pixels across a box, in images 480 pixels wide
KINDS = ("Car", "Cyclist", "Pedestrian", "Van")
GEOMETRY = ("width", "height", "ratio", "area", "x_center", "y_bottom")
DARK, NOISE = "darkened", "noise"
CONDITIONS = (DARK, NOISE)
DARKNESS = 0.15  # of the light is left
SEVERITY = 4  # of five, of noise
N_CROPS = 1600  # of ImageNet-X, of 4,889: for the time it takes
WIDE = 480  # pixels, of KITTI's images here


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Columns that rules see, with the label, and beside each row what the model sees.

    `inputs` is what the last layers of an encoder take; `units` are rows that belong together (the
    boxes of an image), `is_test` whether a row comes from the part that is for tests, and None
    where there is no such part. `behind` are rows of other origin to learn rules from, if there are
    such; `images` are there where they can be degraded.
    """

    columns: pd.DataFrame
    inputs: Tensor
    units: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None = None
    behind: pd.DataFrame | None = None
    images: Tensor | None = None


def read_road(folder: Path) -> Paired:
    """Boxes of KITTI: their geometry in the image, and pixels all scaled to one square."""
    columns, images = crop_boxes(folder)
    frames, units = np.unique(columns["frame"], return_inverse=True)
    names = (folder / "kitti" / "ImageSets" / "val.txt").read_text().split()
    is_test = np.isin(frames, names)[units]
    table = columns[[*GEOMETRY, LABEL]].reset_index(drop=True)
    return Paired(table, first_values(images), units, is_test, images=images)


def crop_boxes(folder: Path) -> tuple[pd.DataFrame, Tensor]:
    """The boxes of images that are there: columns, and (n, 3, side, side) in bytes."""
    from PIL import Image

    sizes = pd.read_csv(folder / "kitti" / "frames.csv", dtype={"frame": str}).set_index("frame")
    rows, crops = [], []
    with zipfile.ZipFile(folder / "kitti" / "data_object_label_2.zip") as archive:
        labels = {Path(name).stem: name for name in archive.namelist() if name.endswith(".txt")}
        for path in sorted((folder / "kitti" / "images_480").glob("*.jpg")):
            wide, high = sizes.loc[path.stem, ["img_w", "img_h"]]
            with Image.open(path) as file:
                image = file.convert("RGB")
            for line in archive.read(labels[path.stem]).decode().splitlines():
                kind, *rest = line.split()
                sides = np.array(rest[3:7], float) * WIDE / wide
                if kind not in KINDS or min(sides[2:] - sides[:2]) < LEAST:
                    continue
                scaled = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC, box=tuple(sides))
                crops.append(np.asarray(scaled, np.uint8).transpose(2, 0, 1))
                rows.append((path.stem, kind, *(sides / np.tile([WIDE, high * WIDE / wide], 2))))
    boxes = pd.DataFrame(rows, columns=["frame", LABEL, "left", "top", "right", "bottom"])
    return _with_geometry(boxes), torch.from_numpy(np.stack(crops))


def _with_geometry(boxes: pd.DataFrame) -> pd.DataFrame:
    boxes["width"], boxes["height"] = boxes.right - boxes.left, boxes.bottom - boxes.top
    boxes["ratio"], boxes["area"] = boxes.width / boxes.height, boxes.width * boxes.height
    boxes["x_center"], boxes["y_bottom"] = (boxes.left + boxes.right) / 2, boxes.bottom
    return boxes


def read_annotated(folder: Path) -> Paired:
    """Images of ImageNet-X: 16 factors that people ticked, the metaclass, and pixels.

    Rules are learned from annotations of other images, none of which is there.
    """
    annotations = read_annotations(folder, "train")
    crops = read_crops(read_annotations(folder, "val"), folder, n=N_CROPS, seed=0)
    labels = [METACLASSES[label] for label in crops.labels]
    units = np.arange(len(crops))
    return Paired(
        _factors(crops.factors).assign(**{LABEL: labels}),
        first_values(crops.images),
        units,
        behind=_factors(annotations).assign(**{LABEL: _words(annotations, METACLASS)}),
        images=crops.images,
    )


def _factors(table: Table) -> pd.DataFrame:
    return pd.DataFrame({name: table[name].values for name in FACTORS})


def _words(table: Table, name: str) -> list[str]:
    return [table[name].categories[code] for code in table[name].values]


def read_text(folder: Path) -> Paired:
    """Sentences of PhraseBank: counts of listed words, and MiniLM's embedding."""
    from sqrl_paper.sentiment.phrasebank import read_phrasebank as read

    texts = read(folder, agreement=50).texts
    return Paired(read_phrasebank(folder), embed_texts(texts), np.arange(len(texts)))


def embed_texts(texts: Sequence[str]) -> Tensor:
    """The mean of MiniLM's last layer over the pieces of each sentence: (n, 384)."""
    path = _kept("minilm", "\0".join(texts).encode())
    if path.exists():
        return torch.from_numpy(np.load(path))
    from sqrl_paper.sentiment.minilm import load_minilm
    from sqrl_paper.sentiment.text_network import LONGEST

    model, pieces = load_minilm()
    found = []
    for first in range(0, len(texts), AT_ONCE):
        ids, mask = pieces.encode(texts[first : first + AT_ONCE], longest=LONGEST)
        with torch.no_grad():
            hidden = model(ids, mask)
        weights = mask[..., None].float()
        found.append((hidden * weights).sum(1) / weights.sum(1))
    return _keep(path, torch.cat(found))


def degrade(images: Tensor, condition: str) -> Tensor:
    """The images darkened or noisy, as bytes."""
    if condition == DARK:
        return (images.float() * DARKNESS).round().to(torch.uint8)
    return corrupt(images, condition, SEVERITY, seed=0)


def first_values(images: Tensor) -> Tensor:
    """What the first blocks of the network make of images, computed once for each set of them."""
    path = _kept(f"lite0-{N_FIRST}", images.numpy().tobytes())
    if path.exists():
        return torch.from_numpy(np.load(path))
    first = load_efficientnet_lite0().cut(N_FIRST)[0].eval()
    with torch.no_grad():
        made = [first(part).contiguous() for part in torch.split(images, AT_ONCE)]
    return _keep(path, torch.cat(made))


class Embedded(nn.Module):
    """The last convolution of EfficientNet-Lite0: (rows, 1280)."""

    def __init__(self) -> None:
        super().__init__()
        self.last: LastBlocks = load_efficientnet_lite0().cut(N_FIRST)[1]
        self.eval()

    def forward(self, values: Tensor) -> Tensor:
        """What the head sees."""
        return self.last.embed(values)


@torch.no_grad()
def embed(values: Tensor) -> Tensor:
    """The embedding of what the first blocks gave."""
    model = Embedded()
    return torch.cat([model(part) for part in torch.split(values, 4 * AT_ONCE)])


def _kept(name: str, content: bytes) -> Path:
    """Where what was computed of a content is kept: a temporary folder."""
    folder = Path(tempfile.gettempdir(), "sqrl-cross-modal")
    folder.mkdir(exist_ok=True)
    return folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.npy"


def _keep(path: Path, values: Tensor) -> Tensor:
    np.save(path, values.numpy())
    return values
