"""open_image: an image file as Pillow has it, of a usual format and of bounded size."""

import warnings
from pathlib import Path
from typing import Any

from sqrl.errors import DataError, MissingExtraError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")


def open_image(name: str, folder: Path) -> Any:
    """The image in RGB; an error where the file is not an image, or not in the folder."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise MissingExtraError(
            "sqrl.extract.images needs pillow, which is not installed.",
            fix='pip install "sqrl-rules[extract]"',
        ) from None
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        fix = "give the folder that holds the images: folder=..."
        raise DataError("The image lies outside of the folder.", where=str(path), fix=fix)
    if not path.is_file():
        fix = "give paths of files, from folder=... on"
        raise DataError("There is no such image.", where=str(path), fix=fix)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=FORMATS) as image:
                return image.convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        what, fix = (
            "The file is not an image that can be read.",
            f"use one of: {', '.join(FORMATS)}",
        )
        raise DataError(what, where=str(path), fix=fix) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        fix = "make it smaller, or open it in a function of your own"
        raise DataError("The image is too large to be safe.", where=str(path), fix=fix) from None
