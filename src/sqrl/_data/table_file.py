"""A table as a file that other programs read."""

from pathlib import Path

import pyarrow as pa

from sqrl._data.formats import FORMATS
from sqrl._data.formats.file_format import Write
from sqrl._data.write_file import replacing
from sqrl.errors import OutputError


def check_table_suffix(path: Path) -> None:
    """Raise where a table could not be written under this name."""
    if path.suffix not in _writers():
        raise OutputError(
            f"A table is written as {' or '.join(_writers())}, "
            f"not {path.suffix or 'without a suffix'}.",
            where=str(path),
            fix=f"name it {path.stem or 'table'}.csv",
        )


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format of the suffix; the file is either the old or the new one."""
    check_table_suffix(path)
    with replacing(path) as temporary:
        _writers()[path.suffix](table, temporary)


def _writers() -> dict[str, Write]:
    """The formats that can be written, by suffix."""
    return {form.suffixes[0]: form.write for form in FORMATS.values() if form.write is not None}
