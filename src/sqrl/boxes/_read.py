"""read_boxes: boxes from a file, with their images and what was left out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sqrl._data.formats.boxes import BOX_FILES, image_key, is_box_file, read_box_file
from sqrl._data.given_path import given_path
from sqrl._data.table import Column, Table, as_table
from sqrl.errors import DataError, unknown


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """A row for each box, a row for each image, and the regions that are no boxes of objects.

    `reason` is what the file calls the regions left out: DontCare in KITTI's, crowd in COCO's;
    YOLO's and Pascal VOC's have none.
    """

    table: Table
    images: Table
    left_out: Table
    reason: str

    def __repr__(self) -> str:
        return f"Boxes({self.summary})"

    @property
    def summary(self) -> str:
        """How many boxes there are on how many images, and how many regions were left out."""
        boxes = _count(self.table, "box", "boxes")
        images = _count(self.images, "image", "images")
        if not self.reason:
            return f"{boxes} on {images}"
        regions = _count(self.left_out, f"{self.reason} region", f"{self.reason} regions")
        return f"{boxes} on {images}, {regions} left out"

    def on(self, images: Iterable[str]) -> "Boxes":
        """Only what is on these images, such as those of a split; leading zeros do not matter."""
        wanted = {image_key(image) for image in images}

        def kept(table: Table) -> Table:
            names = text_values(table["image"])
            return table.take(np.array([image_key(name) in wanted for name in names], np.bool_))

        return Boxes(kept(self.table), kept(self.images), kept(self.left_out), self.reason)

    def rename(self, classes: Mapping[str, str]) -> "Boxes":
        """The boxes with their classes by other names: those that rules know them by.

        Two classes may become one; a class that is not named keeps its name.
        """
        table = self.table
        found = text_values(table["type"])
        for name in classes:
            if name not in found:
                raise unknown("class", name, set(found), where=table.source)
        renamed = [classes.get(name, name) for name in found]
        return replace(self, table=table.with_columns({"type": renamed}, replace=True))


def read_boxes(path: str | Path, *, images: str | Path | None = None) -> Boxes:
    r"""The boxes of KITTI, YOLO or Pascal VOC labels (a folder or .zip), or of a COCO file.

    The columns are image, type, left, top, right, bottom, the score of detections, and where they
    are known image_width and image_height. `images` is a CSV file with the sizes of the images, by
    default frames.csv beside, or the folder of the images; for COCO results it is the COCO file of
    truth. Boxes of YOLO on images of unknown size have left_share, top_share, right_share and
    bottom_share in place of the sides in pixels.

    >>> from tempfile import TemporaryDirectory
    >>> line = "Car 0 0 0 10 20 110 80 1.5 1.6 4 0 0 9 0\n"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "000001.txt").write_text(line + line.replace("Car", "DontCare"))
    ...     boxes = read_boxes(folder)
    >>> boxes
    Boxes(1 box on 1 image, 1 DontCare region left out)
    >>> boxes.table.names
    ('image', 'type', 'left', 'top', 'right', 'bottom')
    """
    path = given_path(path)
    if not is_box_file(path):
        raise DataError(
            "This is no file of boxes.",
            where=str(path),
            fix=f"give {BOX_FILES}, or use read_table",
        )
    found = read_box_file(path, images=None if images is None else given_path(images))
    return Boxes(
        table=as_table(found.rows, source=path.name),
        images=as_table(found.images, source=path.name),
        left_out=as_table(found.left_out, source=path.name),
        reason=found.reason,
    )


def _count(table: Table, one: str, more: str) -> str:
    return f"{table.n_rows:,} {one if table.n_rows == 1 else more}"


def text_values(column: Column) -> list[str]:
    """The column's values as text, whole numbers without a point, "" where missing.

    >>> from sqrl._data.column import from_plain
    >>> text_values(from_plain("image", [7, 12], "doctest"))
    ['7', '12']
    """
    if column.kind == "category":
        return [column.categories[code] if code >= 0 else "" for code in column.values.tolist()]
    return [f"{value:.15g}" for value in column.values.tolist()]
