"""image_statistics: what the boxes of an image are together, a row for each image."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sqrl._data.formats.boxes import image_key
from sqrl._data.table import Table, as_table
from sqrl.boxes._overlap import Floats, areas, overlap, sides_of
from sqrl.boxes._statistics import Over, check_sizes
from sqrl.boxes._text import text_values

AT_ONCE = 2**20  # overlaps computed at a time, so that an image with very many boxes fits
Ints = NDArray[np.int64]


def image_statistics(
    boxes: Table,
    *,
    images: Table | None = None,
    classes: Sequence[str] | None = None,
    over: Over = "pixels",
) -> Table:
    """A row for each image: how many boxes, how many of each class, the largest, their overlap.

    `count` and `count_<class>` are of all `classes`, by default of those that occur. The
    `largest_area` is in pixels, or over "image" a share of it. `most_overlap` and `mean_overlap`
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
    columns["largest_area"] = _largest(boxes, at, len(names), over)
    most, mean = np.full(len(names), np.nan), np.full(len(names), np.nan)
    sides = sides_of(boxes)
    for image, rows in _groups(at):
        most[image], mean[image] = _overlaps(sides[rows])
    columns |= {"most_overlap": most, "mean_overlap": mean}
    return as_table(columns, source=boxes.source)


def classes_of(boxes: Table) -> list[str]:
    """The classes that boxes have, sorted."""
    return sorted(set(text_values(boxes["type"])))


def _largest(boxes: Table, at: Ints, n_images: int, over: Over) -> Floats:
    size = areas(sides_of(boxes))
    if over == "image":
        check_sizes(boxes)
        size = size / (boxes["image_width"].values * boxes["image_height"].values)
    largest = np.full(n_images, np.nan)
    np.fmax.at(largest, at, size)
    return largest


def _groups(at: Ints) -> Iterator[tuple[int, Ints]]:
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
