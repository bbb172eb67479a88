"""find_sizes: how large images are, from a CSV file with a line for each, or from the images."""

import csv
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from sqrl._data.formats.boxes.collected import Size, shown
from sqrl._data.formats.boxes.picture_sizes import PICTURES, picture_size
from sqrl._data.formats.stored_file import load_file
from sqrl.errors import DataError, unknown

MOST_BYTES = 2**26
# The first of each is what tables are called here, the others what people have.
NAMES = {
    "image": ("image", "frame", "file_name"),
    "width": ("image_width", "img_w"),
    "height": ("image_height", "img_h"),
}
BESIDE = "frames.csv"


def find_sizes(names: list[str], path: Path, images: Path | None) -> Mapping[str, Size]:
    """The size of every image; nothing at all where nothing tells them.

    `images` is a CSV file or a folder of images. Without it these are looked for: frames.csv
    beside the labels; images in their folder; images in the folder that is called images where
    theirs is called labels.
    """
    source = images or _source_beside(path)
    if source is None:
        return {}
    known = _measured(source, names) if source.is_dir() else read_sizes(source)
    if images is None and source.is_dir() and not known:
        return {}
    for name in names:
        if image_key(name) not in known:
            line = "the image" if source.is_dir() else "a line for it"
            raise DataError(
                f"The size of image {shown(repr(name))} is not given.",
                where=str(source),
                fix=f"add {line}, or name another file with images= (--images)",
            )
    return {name: known[image_key(name)] for name in names}


def _source_beside(path: Path) -> Path | None:
    """The file or folder that tells the sizes where none is named."""
    beside = path.parent / BESIDE
    if beside.is_file():
        return beside
    if not path.is_dir():
        return None
    if any(file.suffix.lower() in PICTURES for file in path.iterdir()):
        return path
    # labels/train lies beside images/train, as train/labels does beside train/images
    parts = path.absolute().parts
    if "labels" not in parts:
        return None
    last = len(parts) - 1 - parts[::-1].index("labels")
    other = Path(*parts[:last], "images", *parts[last + 1 :])
    return other if other.is_dir() else None


def _measured(folder: Path, names: list[str]) -> dict[str, Size]:
    """The sizes of those images in a folder that labels are about."""
    wanted = {image_key(name) for name in names}
    pictures = [file for file in folder.iterdir() if file.suffix.lower() in PICTURES]
    return {
        image_key(file.stem): picture_size(file)
        for file in sorted(pictures)
        if image_key(file.stem) in wanted
    }


def read_sizes(path: Path) -> dict[str, Size]:
    """The size of each image, by the key of its name."""
    if path.suffix.lower() not in {".csv", ".tsv"}:
        raise DataError(
            "Sizes of images are read from a CSV file, or from a folder of images.",
            where=str(path),
            fix="name a .csv with the columns image, image_width and image_height, or the folder",
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
