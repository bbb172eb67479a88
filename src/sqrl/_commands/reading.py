"""What commands read: rules and rows."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sqrl._data.table import Table
    from sqrl._opening import Opening
    from sqrl._rules.ruleset import RuleSet
    from sqrl._scan.scan import Scan


def selected(path: Path) -> "RuleSet":
    """The rules in a file; of all candidates those that were selected."""
    import sqrl

    rules = sqrl.load_rules(path)
    return rules.filter("status = selected") if path.suffix == ".parquet" else rules


def open_data(opening: "Opening", *paths: str, classes: Iterable[str] = ()) -> "list[Table | Scan]":
    """The data in the files, all scanned or all in memory; stderr is told what was opened."""
    return opening.open(*paths, classes=classes, tell=partial(typer.echo, err=True))


def open_rows(opening: "Opening", rules: "RuleSet", *paths: str) -> "list[Table | Scan]":
    """The rows to check against rules, of which there must be some in memory."""
    opened = open_data(opening, *paths, classes=_classes_named(opening, rules))
    for path, data in zip(paths, opened, strict=True):
        refuse_empty(data, path)
    return opened


def open_reference(opening: "Opening", rules: "RuleSet", path: Path | None) -> "Table | None":
    """The rows to draw behind those that are checked, if any were named; they are in memory."""
    from sqrl._data.table import Table

    if path is None:
        return None
    opening = replace(opening, engine="memory", images=None, rename={})
    (table,) = open_data(opening, str(path), classes=_classes_named(opening, rules))
    assert isinstance(table, Table)
    return table


def _classes_named(opening: "Opening", rules: "RuleSet") -> set[str]:
    """The classes whose boxes in an image rules speak of."""
    from sqrl._opening import classes_counted

    return classes_counted(rules.columns()) if opening.per_image else set()


def refuse_empty(data: "Table | Scan", path: str | Path) -> None:
    """Raise where a table has no rows."""
    from sqrl._data.table import Table
    from sqrl.errors import DataError

    if isinstance(data, Table) and data.n_rows == 0:
        raise DataError("The table has no rows.", where=str(path), fix="give data to check")
