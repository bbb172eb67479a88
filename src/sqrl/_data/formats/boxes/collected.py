"""Boxes as they are gathered from a file, and the Arrow tables that they become."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

SIDES = ("left", "top", "right", "bottom")
SHARES = tuple(f"{side}_share" for side in SIDES)  # where sizes of images are not known
Sides = tuple[float, float, float, float]
MOST_SHOWN = 120  # characters of a name in an error


@dataclass(frozen=True, slots=True)
class Size:
    """How wide and how high an image is, in pixels; None where it is not known."""

    width: float | None
    height: float | None


UNKNOWN = Size(None, None)


@dataclass(frozen=True, slots=True, eq=False)
class BoxFile:
    """The boxes of a file, a row each, the images, and the regions that were left out.

    `reason` is what the file calls these regions, "" where its format has none.
    """

    rows: pa.Table
    images: pa.Table
    left_out: pa.Table
    reason: str


class Box(NamedTuple):
    """A box as it was read; `is_left_out` says that it is not around one object."""

    image: str
    type: str
    sides: Sides
    score: float | None
    is_left_out: bool


def collect_boxes(
    boxes: list[Box],
    images: list[str],
    sizes: Mapping[str, Size],
    *,
    has_score: bool,
    reason: str = "",
    sides: tuple[str, ...] = SIDES,
) -> BoxFile:
    """A row for each box, either all with a score or none, and one for each image.

    `sides` is what the columns are called: in pixels, or in shares of the image. Where no size is
    known there are no columns for sizes.

    >>> boxes = [Box("a", "Car", (1.0, 2.0, 3.0, 4.0), None, False)]
    >>> file = collect_boxes(boxes, ["a", "b"], {}, has_score=False, reason="crowd")
    >>> file.rows.column_names, file.images.num_rows, file.left_out.num_rows
    (['image', 'type', 'left', 'top', 'right', 'bottom'], 2, 0)
    """
    sizes = sizes if any(size != UNKNOWN for size in sizes.values()) else {}
    tables = []
    for is_left_out in (False, True):
        mine = [box for box in boxes if box.is_left_out == is_left_out]
        columns = {"type": pa.array([box.type for box in mine], pa.string())}
        for place, side in enumerate(sides):
            columns[side] = pa.array([box.sides[place] for box in mine], pa.float64())
        if has_score:
            columns["score"] = pa.array([box.score for box in mine], pa.float64())
        tables.append(_table([box.image for box in mine], columns, sizes))
    return BoxFile(tables[0], _table(images, {}, sizes), tables[1], reason)


def _table(images: list[str], columns: dict[str, pa.Array], sizes: Mapping[str, Size]) -> pa.Table:
    """The image that each row is about, the columns, and the image's size where sizes are known."""
    columns = {"image": pa.array(images, pa.string()), **columns}
    if sizes:
        columns["image_width"] = pa.array([sizes[name].width for name in images], pa.float64())
        columns["image_height"] = pa.array([sizes[name].height for name in images], pa.float64())
    return pa.table(columns)


def as_number(text: str, what: str) -> float:
    """The number that a field holds; `what` begins the message where it holds none.

    >>> as_number("1.5", "left side")
    1.5
    """
    try:
        value = float(text) if "_" not in text else math.nan  # which Python takes, and no other
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"The {what} is {shown(repr(text[:40]))}, not a number.")
    return value


def check_sides(left: float, top: float, right: float, bottom: float) -> Sides:
    """The sides of a box; raises where they are the wrong way round."""
    if right < left:
        raise ValueError(f"The right side of the box, {right:g}, lies left of {left:g}.")
    if bottom < top:
        raise ValueError(f"The bottom of the box, {bottom:g}, lies above {top:g}.")
    return left, top, right, bottom


def shown(name: str) -> str:
    r"""A name from inside a file, so that it cannot steer a terminal nor fill it.

    >>> shown("training/000001.txt"), shown("a\x1b[2J")
    ('training/000001.txt', 'a\\x1b[2J')
    """
    name = name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}…"
    return name if name.isprintable() else repr(name)[1:-1]
