"""Statistics of each box, as the shipped schemas have them, and of each image."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from sqrl._data.formats.boxes import SHARES, image_key
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.tree import Name
from sqrl._rows.rows import Rows
from sqrl._rules.schema import load_schema
from sqrl.boxes._matching import areas, overlap, sides_of
from sqrl.boxes._read import text_values
from sqrl.errors import DataError, unknown

AT_ONCE = 2**20  # overlaps computed at a time, so that an image with very many boxes fits
Over = Literal["pixels", "image"]
SCHEMAS: dict[Over, str] = {"pixels": "detection", "image": "boxes"}


def box_statistics(boxes: Table, *, over: Over = "pixels") -> Table:
    """The table with width, height, aspect_ratio, area, x_center and y_bottom of each box.

    Over "pixels" they are those of the shipped schema `detection`, over "image" those of `boxes`:
    shares of the image's own size. A box without height has no aspect ratio.

    >>> from sqrl import as_table
    >>> box = {"left": [10.0], "top": [20.0], "right": [110.0], "bottom": [70.0]}
    >>> box_statistics(as_table(box))["aspect_ratio"].values.tolist()
    [2.0]
    """
    if over not in SCHEMAS:
        raise unknown("scale of boxes", str(over), SCHEMAS)
    if over == "image":
        check_sizes(boxes)
    statistics = load_schema(SCHEMAS[over]).expressions()
    rows = Rows(boxes, statistics)
    return boxes.with_columns({name: rows.numbers(Name(name)) for name in statistics})


def check_sizes(boxes: Table) -> None:
    """Raise where it is not known how large the images are."""
    if "image_width" not in boxes or "image_height" not in boxes:
        raise DataError(
            "The sizes of the images are not known.",
            where=boxes.source,
            fix="read the boxes with images=, a CSV of image, image_width and image_height",
        )


def image_statistics(
    boxes: Table,
    *,
    images: Table | None = None,
    classes: Sequence[str] | None = None,
    over: Over = "pixels",
) -> Table:
    """A row for each image: how many boxes, how many of each class, the largest, their overlap.

    `count` and `count_<class>` are of all `classes`, by default of those that occur. The
    `largest_area` is in pixels, or over "image" a share of it (`largest_area_share` where boxes
    of YOLO are in shares themselves). `most_overlap` and `mean_overlap`
    are intersections over union of two boxes of the image; they are missing where it has fewer,
    as is the largest area where it has none. Only `images` tells of images without boxes.

    >>> table = as_table({"image": ["a", "a", "b"], "type": ["Car", "Car", "Van"],
    ...     "left": [0, 1, 0], "top": [0, 0, 0], "right": [2, 3, 9], "bottom": [2, 2, 9]})
    >>> found = image_statistics(table)
    >>> {name: found[name].values.round(2).tolist() for name in ("count_Car", "most_overlap")}
    {'count_Car': [2.0, 0.0], 'most_overlap': [0.33, nan]}
    """
    of_box = text_values(boxes["image"])
    listed = of_box if images is None else text_values(images["image"])
    names: dict[str, str] = {}
    for name in [*listed, *of_box]:
        names.setdefault(image_key(name), name)
    place = {key: index for index, key in enumerate(names)}
    at = np.array([place[image_key(name)] for name in of_box], np.int64)
    columns: dict[str, object] = {
        "image": list(names.values()),
        "count": np.bincount(at, minlength=len(names)),
    }
    kinds = np.array(text_values(boxes["type"]), dtype=object)
    for kind in classes_of(boxes) if classes is None else classes:
        columns[f"count_{kind}"] = np.bincount(at[kinds == kind], minlength=len(names))
    # Of boxes in shares of their image the area is a share, too, and is called so.
    is_share = SHARES[0] in boxes and over == "pixels"
    columns["largest_area_share" if is_share else "largest_area"] = _largest(
        boxes, at, len(names), over
    )
    most, mean = np.full(len(names), np.nan), np.full(len(names), np.nan)
    sides = sides_of(boxes)
    for image, rows in _groups(at):
        most[image], mean[image] = _overlaps(sides[rows])
    columns |= {"most_overlap": most, "mean_overlap": mean}
    return as_table(columns, source=boxes.source)


def classes_of(boxes: Table) -> list[str]:
    """The classes that boxes have, sorted."""
    return sorted(set(text_values(boxes["type"])))


def _largest(boxes: Table, at: Int64s, n_images: int, over: Over) -> Floats:
    size = areas(sides_of(boxes))
    if over == "image":
        check_sizes(boxes)
        size = size / (boxes["image_width"].values * boxes["image_height"].values)
    largest = np.full(n_images, np.nan)
    np.fmax.at(largest, at, size)
    return largest


def _groups(at: Int64s) -> Iterator[tuple[int, Int64s]]:
    """The rows of each image that has any."""
    order = np.argsort(at, kind="stable")
    images, starts = np.unique(at[order], return_index=True)
    if images.size:  # of nothing numpy makes one empty part
        yield from zip(images.tolist(), np.split(order, starts[1:]), strict=True)


def _overlaps(sides: Floats) -> tuple[float, float]:
    """The greatest and the mean intersection over union of two of the boxes."""
    n = len(sides)
    if n < 2:
        return np.nan, np.nan
    most, total, step = 0.0, 0.0, max(1, AT_ONCE // n)
    for start in range(0, n - 1, step):
        found = overlap(sides[start : start + step], sides)
        found = np.triu(found, k=start + 1)  # each pair once, and no box with itself
        most, total = max(most, float(found.max())), total + float(found.sum())
    return most, total / (n * (n - 1) / 2)
