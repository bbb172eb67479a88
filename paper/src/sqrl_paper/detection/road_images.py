"""RoadImages: what cameras on cars saw, KITTI's and Cityscapes', as KITTI's camera would see it.

The same car at the same distance is as large on the images of both: those of Cityscapes are scaled
by the focal lengths of the cameras, and boxes can be put where KITTI's camera would see them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from sqrl_paper.detection.cityscapes import CITYSCAPES_PAGE, find_cityscapes
from sqrl_paper.detection.kitti import KITTI_PAGE, find_kitti
from sqrl_paper.detection.road_labels import CLASSES, IGNORED, Ints, LabelledFile, damaged_image
from sqrl_paper.shared.images import read_resized

__all__ = ["CLASSES", "IGNORED", "RoadImages", "read_cityscapes_images", "read_kitti_images"]

STEP = 32  # sides are multiples of it, so that strides of the network divide them
LEAST_HEIGHT = 25.0  # KITTI's pixels; KITTI's own evaluation ignores lower boxes
GREY = 127  # of the padding: what the network takes for zero


@dataclass(frozen=True, slots=True)
class _Camera:
    """A camera, in pixels of its own images; about, as it differs a little from day to day."""

    focal: float
    centre: tuple[float, float]  # where the optical axis meets the image
    pitch: float  # radians that the camera looks below the horizon

    @property
    def ahead(self) -> tuple[float, float]:
        """Where on the image is what lies straight ahead on the horizon."""
        return self.centre[0], self.centre[1] - self.focal * self.pitch


KITTI = _Camera(721.0, (609.0, 172.0), 0.0)
CITYSCAPES = _Camera(2262.0, (1096.0, 513.0), 0.038)
KITTI_SIZE = (608, 184)  # to which its 1242 x 375 pixels are scaled
CITYSCAPES_SIZE = (320, 160)  # 2048 x 1024 pixels as far away as KITTI's of that size


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoadImages:
    """Images of one size, the boxes on all of them, and how KITTI's camera would see them.

    `size` is the width and height that are image, the rest is padding to the right and below.
    A place x here is x / scale + shift[0] in KITTI's pixels, and y likewise.
    Shapes: pixels (n, 3, height, width) in bytes; boxes (m, 4) are left, top, right and bottom in
    pixels; labels (m,) are places in CLASSES, or IGNORED; image (m,) says which image it is on.
    """

    pixels: Tensor
    boxes: Tensor
    labels: Tensor
    image: Tensor
    names: tuple[str, ...]
    size: tuple[int, int]
    scale: float
    shift: tuple[float, float]

    def __len__(self) -> int:
        return len(self.pixels)

    def take(self, at: Tensor) -> "RoadImages":
        """Only these images, in this order, with the boxes that are on them.

        >>> pair = RoadImages(
        ...     pixels=torch.zeros(2, 3, 32, 32, dtype=torch.uint8),
        ...     boxes=torch.tensor([[0.0, 0, 9, 9], [5, 5, 8, 8]]),
        ...     labels=torch.tensor([0, 3]),
        ...     image=torch.tensor([0, 1]),
        ...     names=("a", "b"),
        ...     size=(32, 32),
        ...     scale=0.5,
        ...     shift=(0.0, 0.0),
        ... )
        >>> second = pair.take(torch.tensor([1]))
        >>> second.names, second.labels.tolist(), second.image.tolist()
        (('b',), [3], [0])
        """
        new, old = (at[:, None] == self.image[None, :]).nonzero(as_tuple=True)
        return RoadImages(
            pixels=self.pixels[at],
            boxes=self.boxes[old],
            labels=self.labels[old],
            image=new,
            names=tuple(self.names[place] for place in at.tolist()),
            size=self.size,
            scale=self.scale,
            shift=self.shift,
        )


def read_kitti_images(
    folder: str | Path | None = None, *, part: Literal["train", "val"]
) -> RoadImages:
    """KITTI's images of a part that are there, in `kitti` of the data folder, with their boxes.

    The official images in `kitti/training/image_2` or `kitti/image_2`, else copies that are 480
    pixels wide in `kitti/images_480`. Regions of DontCare and of Misc are ignored, and so are boxes
    lower than 25 pixels of the original, as by KITTI's own evaluation.
    """
    files = find_kitti(folder, part)
    return _gather(files, KITTI_SIZE, KITTI, KITTI_PAGE)


def read_cityscapes_images(folder: str | Path | None = None) -> RoadImages:
    """Cityscapes' validation images, in `cityscapes` of the data folder, and boxes as KITTI's.

    The official images in `cityscapes/leftImg8bit/val`, else copies that are 512 pixels wide in
    `cityscapes/images_512`. They are scaled so that things are as large as KITTI's camera would
    see them, and what it would see lower than 25 pixels is ignored, too.
    """
    files = find_cityscapes(folder)
    return _gather(files, CITYSCAPES_SIZE, CITYSCAPES, CITYSCAPES_PAGE)


def _gather(
    files: Sequence[LabelledFile], size: tuple[int, int], camera: _Camera, page: str
) -> RoadImages:
    width, height = size
    padded = [-(-side // STEP) * STEP for side in (height, width)]
    pixels = torch.full((len(files), 3, *padded), GREY, dtype=torch.uint8)
    boxes = [np.zeros((0, 4))]
    for place, file in enumerate(files):
        pixels[place, :, :height, :width] = _read(file.path, size, page)
        boxes.append(file.boxes * np.tile([width / file.width, height / file.height], 2))
    counts = torch.tensor([len(file.labels) for file in files])
    own_scale = width / float(np.median([file.width for file in files]))
    ratio = camera.focal / KITTI.focal  # pixels of this camera for each of KITTI's
    return RoadImages(
        pixels=pixels,
        boxes=torch.from_numpy(np.concatenate(boxes)).float(),
        labels=torch.from_numpy(np.concatenate([_labels(f, ratio) for f in files])),
        image=torch.arange(len(files)).repeat_interleave(counts),
        names=tuple(file.name for file in files),
        size=size,
        scale=own_scale * ratio,
        shift=(
            KITTI.ahead[0] - camera.ahead[0] / ratio,
            KITTI.ahead[1] - camera.ahead[1] / ratio,
        ),
    )


def _labels(file: LabelledFile, ratio: float) -> Ints:
    """The labels, boxes being ignored that are too low to be seen."""
    heights = (file.boxes[:, 3] - file.boxes[:, 1]) / ratio
    return np.where(heights < LEAST_HEIGHT, IGNORED, file.labels)


def _read(path: Path, size: tuple[int, int], page: str) -> Tensor:
    try:
        return torch.from_numpy(read_resized(path, size))
    except OSError:
        raise damaged_image(path, page) from None
