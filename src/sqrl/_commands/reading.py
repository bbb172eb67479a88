"""What commands read: rules, rows, and results of checking these."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pyarrow as pa

    from sqrl._check.violations import Violations
    from sqrl._data.table import Table
    from sqrl._rules.ruleset import RuleSet


def selected(path: Path) -> "RuleSet":
    """The rules in a file; of all candidates those that were selected."""
    import sqrl

    rules = sqrl.load_rules(path)
    return rules.filter("status = selected") if path.suffix == ".parquet" else rules


def read_rows(
    path: Path, read: dict[str, Any], *, per_image: bool = False, classes: Iterable[str] = ()
) -> "Table":
    """The rows in a file, of which there must be some."""
    table = read_table(path, read, per_image=per_image, classes=classes)
    _refuse_empty(table, path)
    return table


def read_table(
    path: Path, read: dict[str, Any], *, per_image: bool = False, classes: Iterable[str] = ()
) -> "Table":
    """The rows in a file; of a file of boxes it is said on stderr what was read.

    Of `read`, "rename" says by what names rules know the classes of a file of boxes. With
    `per_image` there is a row for each image instead of one for each box, in which the boxes
    of these `classes` are counted too.
    """
    import sqrl
    from sqrl._data.formats.boxes import is_box_file

    images, renamed = None, read.get("rename")
    read = {option: given for option, given in read.items() if option != "rename"}
    if is_box_file(path.expanduser()):
        from sqrl.boxes import read_boxes

        found = read_boxes(path, images=read.get("images"))
        found = found.rename(renamed) if renamed else found
        hint = "" if "image_width" in found.table else "; sizes not known without --images"
        typer.echo(f"{path}: {found.summary}{hint}", err=True)
        table, images = found.table, found.images
    else:
        _refuse_renamed(renamed, path)
        table = sqrl.read_table(path, **read)
    if not per_image:
        return table
    from sqrl.boxes import classes_of, image_statistics

    wanted = sorted({*classes_of(table), *classes})
    return image_statistics(table, images=images, classes=wanted)


def classes_counted(names: Iterable[str]) -> set[str]:
    """The classes whose boxes in an image these columns count.

    >>> classes_counted(["count", "count_Car", "largest_area"])
    {'Car'}
    """
    return {name.removeprefix("count_") for name in names if name.startswith("count_")}


def _columns_of(rules: "RuleSet") -> set[str]:
    """The columns that rules speak of."""
    from sqrl._language.forms import sentence_of
    from sqrl._rules.needed_columns import names_in

    sentences = [sentence_of(rules.form(index)) for index in range(len(rules))]
    return names_in(sentences, rules.statistics())


def read_predictions(path: Path, read: dict[str, Any]) -> "tuple[pa.Table, Table]":
    """The same, also as an Arrow table that has the file's own types."""
    from sqrl._data.formats import read_arrow
    from sqrl._data.table import as_table

    path = path.expanduser()
    read = {**read, "images": read["images"] and read["images"].expanduser()}
    arrow = read_arrow(path, **read)
    table = as_table(arrow, source=path.name)
    _refuse_empty(table, path)
    return arrow, table


def _refuse_renamed(renamed: dict[str, str] | None, path: Path) -> None:
    from sqrl.errors import DataError

    if renamed:
        what = "Classes are renamed in files of boxes, and this is none."
        raise DataError(what, where=str(path), fix="leave out --rename")


def _refuse_empty(table: "Table", path: Path) -> None:
    from sqrl.errors import DataError

    if table.n_rows == 0:
        raise DataError("The table has no rows.", where=str(path), fix="give data to check")


def read_reference(path: Path | None, rules: "RuleSet", *, per_image: bool) -> "Table | None":
    """The rows to draw behind those that are checked, if any were named."""
    if path is None:
        return None
    classes = classes_counted(_columns_of(rules)) if per_image else ()
    return read_table(path, {}, per_image=per_image, classes=classes)


def check_file(
    rules: "RuleSet",
    data: Path,
    *,
    read: dict[str, Any],
    quiet: bool,
    per_image: bool = False,
    **options: Any,
) -> "Violations":
    """Which rules the rows in a file break."""
    import sqrl
    from sqrl._progress import Bar

    classes = classes_counted(_columns_of(rules)) if per_image else ()
    table = read_rows(data, read, per_image=per_image, classes=classes)
    with Bar(quiet=quiet) as bar:
        return sqrl.check(rules, table, track=bar, **options)
