"""Images as arrays of bytes: read, cropped, and packed as JPEG, by Pillow."""

import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl.errors import MissingExtraError

Image = NDArray[np.uint8]
MOST_PIXELS = 2**25
KEPT = 7 / 8  # of the shorter side, as is usual for ImageNet


def read_image(path: Path, size: int) -> Image:
    """The centre of an image, of `size` x `size` pixels in red, green and blue.

    An image of just that size is taken as it is. Otherwise the middle square of 7/8 of the shorter
    side is scaled. Raises an OSError where the file is no image. Shapes: result (3, size, size).
    """
    pillow = _pillow()
    with pillow.open(path) as file:
        image = file.convert("RGB")
    if image.size != (size, size):
        width, height = image.size
        half = KEPT * min(width, height) / 2
        box = width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half
        image = image.resize((size, size), pillow.Resampling.BICUBIC, box=box)
    return _channels_first(image)


def read_resized(path: Path, size: tuple[int, int]) -> Image:
    """An image scaled to a width and a height, in red, green and blue.

    Raises an OSError where the file is no image, or has far more pixels than a camera makes.
    Shapes: result (3, height, width).
    """
    pillow = _pillow()
    with _open(path) as file:
        image = file.convert("RGB")
    if image.size != size:
        image = image.resize(size, pillow.Resampling.BICUBIC)
    return _channels_first(image)


def image_size(path: Path) -> tuple[int, int]:
    """The width and height of an image in pixels; an OSError where the file is no image."""
    with _open(path) as file:
        width, height = file.size
        return int(width), int(height)


def through_jpeg(image: Image, quality: int) -> Image:
    """The image after it was packed as JPEG of a quality from 1 to 95. Shapes: (3, height, width).

    >>> flat = np.full((3, 8, 8), 100, np.uint8)
    >>> bool((through_jpeg(flat, 90) == flat).all())
    True
    """
    pillow, packed = _pillow(), BytesIO()
    pillow.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(
        packed, "JPEG", quality=quality
    )
    return _channels_first(pillow.open(packed))


def _open(path: Path) -> Any:
    pillow = _pillow()
    try:
        # Pillow's own limit is higher, and up to twice of that it only warns.
        with warnings.catch_warnings(action="ignore", category=pillow.DecompressionBombWarning):
            file = pillow.open(path)
    except (pillow.DecompressionBombError, ValueError, SyntaxError) as error:
        raise OSError(str(error)) from None  # as Pillow does for most kinds of damage
    if file.width * file.height > MOST_PIXELS:
        file.close()
        raise OSError(f"the image has more than {MOST_PIXELS:,} pixels")
    return file


def _channels_first(image: Any) -> Image:
    return np.ascontiguousarray(np.asarray(image, np.uint8).transpose(2, 0, 1))


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise MissingExtraError(
            "Images are read by Pillow, which is not installed.",
            fix="pip install sqrl-paper",
        ) from None
