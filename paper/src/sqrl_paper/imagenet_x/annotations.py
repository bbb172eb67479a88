"""ImageNet-X: what people said of ImageNet's images, and the 17 metaclasses of its classes.

Sixteen factors, such as `pose` or `background`, are 1 where the image differs in them from what is
typical of its class. The files are those of the package `imagenet-x`, in its folder `annotations`.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from sqrl import Table, read_table
from sqrl.errors import DataError
from sqrl_paper.shared.data_files import data_folder, find_file

FOLDER = "imagenet_x/annotations"
TITLE = "ImageNet-X"
PAGE = "https://github.com/facebookresearch/imagenetx (or: pip download imagenet-x)"
CLASSES_FILE = f"{FOLDER}/imagenet_1k_classes_to_100_metaclasses.csv"
N_ROWS = {"train": 11_233, "val": 48_868}
N_CLASSES = 1000
FILE, CLASS, LABEL = "file_name", "class", "metaclass"
FACTORS = (
    *("multiple_objects", "background", "color", "brighter", "darker", "style", "larger"),
    *("smaller", "object_blocking", "person_blocking", "partial_view", "pattern", "pose"),
    *("shape", "subcategory", "texture"),
)
OTHER = "other"
METACLASSES = (
    *("bird", "commodity", "covering", "device", "dog", "equipment", "food", "furniture"),
    *("insect", "natural_object", OTHER, "primate", "snake", "structure", "vehicle", "vessel"),
    "wheeled_vehicle",
)


def read_annotations(
    folder: str | Path | None,
    part: Literal["train", "val"],
    *,
    is_complete: bool = True,
) -> Table:
    """The file name, class, 16 factors (0 or 1) and metaclass of each annotated image.

    Every factor that the annotators ticked is there, not only the first of them. Without a
    `folder`, `SQRL_DATA` and `./data` are tried. A file with another number of rows than published
    is taken for damaged, unless it need not be complete.
    """
    path = _annotations_path(folder, part)
    table = _read(path)
    for name in (FILE, CLASS, *FACTORS):
        _check_column(table, name, path)
    if is_complete and table.n_rows != N_ROWS[part]:
        raise _damaged(f"There are {table.n_rows:,} rows instead of {N_ROWS[part]:,}.", path)
    metaclasses = np.array(read_metaclasses(folder))
    kept = Table({n: table[n] for n in (FILE, CLASS, *FACTORS)}, table.n_rows, table.source)
    return kept.with_columns({LABEL: metaclasses[table[CLASS].values.astype(np.int64)]})


def read_metaclasses(folder: str | Path | None) -> tuple[str, ...]:
    """The metaclass of each of ImageNet's 1,000 classes, in their order.

    The file knows a hundred groups; those that are none of the paper's 16 are one more, "other".
    """
    path = find_file(folder, CLASSES_FILE, title=TITLE, page=PAGE)
    table = _read(path)
    if "name" not in table or table["name"].kind != "category":
        raise _damaged("There is no column named 'name' with the groups' names.", path)
    if table.n_rows != N_CLASSES or table["name"].missing().any():
        raise _damaged(f"There are not {N_CLASSES:,} classes with a group.", path)
    groups = table["name"]
    found = [groups.categories[code] for code in groups.values]
    absent = [name for name in METACLASSES if name != OTHER and name not in found]
    if absent:
        raise _damaged(f"There is no group named {absent[0]!r}.", path)
    return tuple(name if name in METACLASSES else OTHER for name in found)


def files_of_annotations(folder: str | Path | None) -> list[Path]:
    """The files that are read; a DataError that says what is missing."""
    classes = find_file(folder, CLASSES_FILE, title=TITLE, page=PAGE)
    return [classes, *(_annotations_path(folder, part) for part in N_ROWS)]


def _annotations_path(folder: str | Path | None, part: str) -> Path:
    """The file of a part, packed or as it is published."""
    name = f"{FOLDER}/imagenet_x_{part}_multi_factor.jsonl"
    packed = data_folder(folder) / f"{name}.gz"
    return packed if packed.is_file() else find_file(folder, name, title=TITLE, page=PAGE)


def _check_column(table: Table, name: str, path: Path) -> None:
    if name not in table:
        raise _damaged(f"There is no column named {name!r}.", path)
    column = table[name]
    if column.missing().any() or column.kind != ("category" if name == FILE else "number"):
        kind = "text" if name == FILE else "numbers"
        raise _damaged(f"Column {name!r} has values that are not {kind}.", path)
    if name in FACTORS and not np.isin(column.values, (0, 1)).all():
        raise _damaged(f"Column {name!r} has other values than 0 and 1.", path)
    if name == CLASS and not np.isin(column.values, np.arange(N_CLASSES)).all():
        raise _damaged(f"Column {name!r} has other values than 0 to {N_CLASSES - 1}.", path)


def _read(path: Path) -> Table:
    try:
        return read_table(path)
    except DataError as error:
        raise DataError(error.what, where=error.where, fix=f"fetch it again from {PAGE}") from None


def _damaged(what: str, path: Path) -> DataError:
    return DataError(what, where=str(path), fix=f"fetch it again from {PAGE}")
