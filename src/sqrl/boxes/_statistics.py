"""box_statistics: what the shipped schemas say of a box, as columns."""

from typing import Literal

from sqrl._data.table import Table
from sqrl._language.tree import Name
from sqrl._rows.rows import Rows
from sqrl._rules.schema import load_schema
from sqrl.errors import DataError

Over = Literal["pixels", "image"]
SCHEMAS: dict[Over, str] = {"pixels": "detection", "image": "boxes"}


def box_statistics(boxes: Table, *, over: Over = "pixels") -> Table:
    """The table with width, height, aspect_ratio, area, x_center and y_bottom of each box.

    Over "pixels" they are those of the shipped schema `detection`, over "image" those of `boxes`:
    shares of the image's own size. A box without height has no aspect ratio.

    >>> from sqrl._data.table import as_table
    >>> box = {"left": [10.0], "top": [20.0], "right": [110.0], "bottom": [70.0]}
    >>> box_statistics(as_table(box))["aspect_ratio"].values.tolist()
    [2.0]
    """
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
