"""What commands read: rules, rows, and results of checking these."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from sqrl._data import Table
    from sqrl._rules import RuleSet
    from sqrl._violations import Violations


def selected(path: Path) -> "RuleSet":
    """The rules in a file; of all candidates those that were selected."""
    import sqrl

    rules = sqrl.load_rules(path)
    return rules.filter("status = selected") if path.suffix == ".parquet" else rules


def read_rows(path: Path, read: dict[str, Any]) -> "Table":
    """The rows in a file, of which there must be some."""
    import sqrl

    table = sqrl.read_table(path, **read)
    _refuse_empty(table, path)
    return table


def read_predictions(path: Path, read: dict[str, Any]) -> "tuple[pa.Table, Table]":
    """The same, also as an Arrow table that has the file's own types."""
    from sqrl._data import as_table
    from sqrl._read import read_arrow

    path = path.expanduser()
    arrow = read_arrow(path, **read)
    table = as_table(arrow, source=path.name)
    _refuse_empty(table, path)
    return arrow, table


def _refuse_empty(table: "Table", path: Path) -> None:
    from sqrl.errors import DataError

    if table.n_rows == 0:
        raise DataError("The table has no rows.", where=str(path), fix="give data to check")


def check_file(
    rules: "RuleSet", data: Path, *, read: dict[str, Any], quiet: bool, **options: Any
) -> "Violations":
    """Which rules the rows in a file break."""
    import sqrl
    from sqrl._progress import Bar

    table = read_rows(data, read)
    with Bar(quiet=quiet) as bar:
        return sqrl.check(rules, table, track=bar, **options)
