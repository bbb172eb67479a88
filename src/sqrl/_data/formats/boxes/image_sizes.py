"""read_sizes: how large images are, from a CSV file with a line for each."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from sqrl._data.formats.boxes.collected import Size
from sqrl._data.formats.stored_file import load_file
from sqrl.errors import DataError, unknown

MOST_BYTES = 2**26
# The first of each is what tables are called here, the others what people have.
NAMES = {
    "image": ("image", "frame", "file_name"),
    "width": ("image_width", "img_w"),
    "height": ("image_height", "img_h"),
}
PICTURES = (".png", ".jpg", ".jpeg")


def read_sizes(path: Path) -> dict[str, Size]:
    """The size of each image, by the key of its name."""
    if path.suffix.lower() not in {".csv", ".tsv"}:
        raise DataError(
            "The sizes of KITTI's images are read from a CSV file.",
            where=str(path),
            fix="name a .csv with the columns image, image_width and image_height",
        )
    content = bytes(memoryview(load_file(path, max_bytes=MOST_BYTES)))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("The file is not UTF-8 text.", where=str(path), fix="save it so") from None
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    sizes: dict[str, Size] = {}
    for number, name, size in _lines(text, separator, path):
        if sizes.setdefault(image_key(name), size) != size:
            where = f"{path}, line {number}"
            what = f"Image {name!r} has another size than before."
            raise DataError(what, where=where, fix="keep one line for each image")
    return sizes


def image_key(name: str) -> str:
    """The name that an image is looked up by: programs drop leading zeros from numbers.

    >>> image_key("000012"), image_key("12"), image_key("000012.png"), image_key("aachen_01")
    ('12', '12', '12', 'aachen_01')
    """
    for suffix in PICTURES:
        name = name.removesuffix(suffix)
    return name.lstrip("0") or "0" if name.isdecimal() else name


def _lines(text: str, separator: str, path: Path) -> Iterator[tuple[int, str, Size]]:
    """The number of each line after the first, with the name and the size in it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        head = [name.strip() for name in next(reader, [])]
        places = [_place(head, meaning, path) for meaning in NAMES]
        for row in reader:
            if not row:
                continue
            where = f"{path}, line {reader.line_num}"
            if len(row) != len(head):
                what = f"The line has {len(row)} fields, not {len(head)}."
                raise DataError(what, where=where, fix="give every image one line")
            name, width, height = (row[place].strip() for place in places)
            yield reader.line_num, name, Size(_pixels(width, where), _pixels(height, where))
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"
        raise DataError(f"The line is not CSV: {error}.", where=where, fix="mend it") from None


def _place(head: list[str], meaning: str, path: Path) -> int:
    for name in NAMES[meaning]:
        if name in head:
            return head.index(name)
    raise unknown("column", NAMES[meaning][0], head, where=str(path))


def _pixels(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        what = f"{text[:40]!r} is not a number of pixels."
        raise DataError(what, where=where, fix="give the width and the height of the image")
    return value
