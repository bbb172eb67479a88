"""A table as a file that other programs read."""

from pathlib import Path

import pyarrow as pa

from sqrl._data.formats import FORMATS
from sqrl._data.formats.file_format import Write
from sqrl._data.write_file import replacing
from sqrl.errors import OutputError


def check_table_suffix(path: Path, what: str = "A table is") -> None:
    """Raise where a table could not be written under this name; `what` begins the message."""
    if path.suffix not in table_suffixes():
        raise OutputError(
            f"{what} written as {' or '.join(table_suffixes())}, "
            f"not {path.suffix or 'without a suffix'}.",
            where=str(path),
            fix=f"name it {path.stem or 'table'}.csv",
        )


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format of the suffix; the file is either the old or the new one."""
    check_table_suffix(path)
    with replacing(path) as temporary:
        _writers()[path.suffix](table, temporary)


def table_suffixes() -> tuple[str, ...]:
    """The suffixes that a table can be written with."""
    return tuple(_writers())


def _writers() -> dict[str, Write]:
    """The formats that can be written, by suffix."""
    return {form.suffixes[0]: form.write for form in FORMATS.values() if form.write is not None}
