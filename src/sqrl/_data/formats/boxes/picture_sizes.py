"""picture_size: how large an image is, from the first bytes of its PNG, JPEG, GIF or BMP file."""

import struct
from pathlib import Path
from typing import BinaryIO

from sqrl._data.formats.boxes.collected import Size
from sqrl.errors import DataError

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp")
MOST_SEGMENTS = 1000  # before a JPEG's size
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # markers of a JPEG's size
ALONE = {0x01, *range(0xD0, 0xD9)}  # markers without a length
TURNED = range(5, 9)  # Exif's orientations of an image that lies on its side


def picture_size(path: Path) -> Size:
    """The width and the height of an image, as viewers show it."""
    try:
        with path.open("rb") as file:
            width, height = _measure(file)
    except OSError as error:
        what = f"The image cannot be read: {error.strerror}."
        raise DataError(what, where=str(path), fix="check its permissions") from None
    except (ValueError, struct.error):
        width = height = 0
    if not (width > 0 and height > 0):
        raise DataError(
            "The size of the image cannot be read: it is no PNG, JPEG, GIF or BMP, or damaged.",
            where=str(path),
            fix="mend the image, or give sizes as a CSV with images= (--images)",
        )
    return Size(float(width), float(height))


def _measure(file: BinaryIO) -> tuple[int, int]:
    head = file.read(26)
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return _pair(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair("<HH", head[6:10])
    if head.startswith(b"BM"):
        is_old = struct.unpack("<I", head[14:18])[0] == 12
        width, height = _pair("<HH", head[18:22]) if is_old else _pair("<ii", head[18:26])
        return width, abs(height)  # a negative one says that rows begin at the top
    if head.startswith(b"\xff\xd8"):
        file.seek(2)
        return _measure_jpeg(file)
    raise ValueError("it begins as no image does")


def _measure_jpeg(file: BinaryIO) -> tuple[int, int]:
    """Walk from marker to marker until the one that tells the size."""
    is_turned = False
    for _ in range(MOST_SEGMENTS):
        mark, marker = struct.unpack(">BB", file.read(2))
        while marker == 0xFF:  # which may fill
            marker = struct.unpack(">B", file.read(1))[0]
        if mark != 0xFF:
            break
        if marker in ALONE:
            continue
        length = struct.unpack(">H", file.read(2))[0]
        if marker in FRAMES:
            height, width = _pair(">xHH", file.read(5))
            return (height, width) if is_turned else (width, height)
        content = file.read(max(length - 2, 0))
        if marker == 0xE1 and content.startswith(b"Exif\0\0"):
            is_turned = _orientation(content[6:]) in TURNED
    raise ValueError("it tells no size")


def _orientation(exif: bytes) -> int:
    """Exif's orientation of an image, 1 where it tells none."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None or len(exif) < 10:
        return 1
    start = struct.unpack(f"{order}I", exif[4:8])[0]
    entries = exif[start + 2 :]
    for place in range(0, len(entries) - 11, 12):
        tag, kind, _, value = struct.unpack(f"{order}HHIH", entries[place : place + 10])
        if (tag, kind) == (0x0112, 3):
            return int(value)
    return 1


def _pair(form: str, content: bytes) -> tuple[int, int]:
    first, second = struct.unpack(form, content)
    return first, second
