"""Boxes as they are gathered from a file, and the Arrow tables that they become."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

SIDES = ("left", "top", "right", "bottom")
Sides = tuple[float, float, float, float]
MOST_SHOWN = 120  # characters of a name in an error


@dataclass(frozen=True, slots=True)
class Size:
    """How wide and how high an image is, in pixels; None where it is not known."""

    width: float | None
    height: float | None


@dataclass(frozen=True, slots=True, eq=False)
class BoxFile:
    """The boxes of a file, a row each, the images, and the regions that were left out.

    `reason` is what the file calls these regions.
    """

    rows: pa.Table
    images: pa.Table
    left_out: pa.Table
    reason: str


@dataclass(slots=True, eq=False)
class Gathered:
    """Boxes, a list for each column; either all have a score or none."""

    image: list[str] = field(default_factory=list)
    type: list[str] = field(default_factory=list)
    sides: list[Sides] = field(default_factory=list)
    score: list[float | None] = field(default_factory=list)

    def add(self, image: str, type: str, sides: Sides, score: float | None) -> None:
        """Append one box."""
        self.image.append(image)
        self.type.append(type)
        self.sides.append(sides)
        self.score.append(score)

    def to_arrow(self, sizes: Mapping[str, Size], *, has_score: bool) -> pa.Table:
        """A row for each box; without sizes no columns for them.

        >>> boxes = Gathered()
        >>> boxes.add("a", "Car", (1.0, 2.0, 3.0, 4.0), None)
        >>> boxes.to_arrow({"a": Size(9, 8)}, has_score=False).column_names[1:4]
        ['type', 'left', 'top']
        """
        columns: dict[str, pa.Array] = {
            "image": pa.array(self.image, pa.string()),
            "type": pa.array(self.type, pa.string()),
        }
        for place, side in enumerate(SIDES):
            columns[side] = pa.array([box[place] for box in self.sides], pa.float64())
        if has_score:
            columns["score"] = pa.array(self.score, pa.float64())
        return pa.table(columns | size_columns(self.image, sizes))


def image_table(names: list[str], sizes: Mapping[str, Size]) -> pa.Table:
    """A row for each image, also for those without boxes."""
    return pa.table({"image": pa.array(names, pa.string())} | size_columns(names, sizes))


def size_columns(names: list[str], sizes: Mapping[str, Size]) -> dict[str, pa.Array]:
    """The width and the height of the image that each row is about."""
    if not sizes:
        return {}
    found = [sizes[name] for name in names]
    return {
        "image_width": pa.array([size.width for size in found], pa.float64()),
        "image_height": pa.array([size.height for size in found], pa.float64()),
    }


def shown(name: str) -> str:
    r"""A name from inside a file, so that it cannot steer a terminal nor fill it.

    >>> shown("training/000001.txt"), shown("a\x1b[2J")
    ('training/000001.txt', 'a\\x1b[2J')
    """
    name = name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}…"
    return name if name.isprintable() else repr(name)[1:-1]
