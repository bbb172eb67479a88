"""A table as a file that other programs read."""

from pathlib import Path

import pyarrow as pa

from sqrl._data.write_file import replacing
from sqrl.errors import OutputError

SUFFIXES = (".csv", ".parquet")


def check_table_suffix(path: Path, what: str = "A table is") -> None:
    """Raise where a table could not be written under this name; `what` begins the message."""
    if path.suffix not in SUFFIXES:
        raise OutputError(
            f"{what} written as .csv or .parquet, not {path.suffix or 'without a suffix'}.",
            where=str(path),
            fix=f"name it {path.stem or 'table'}.csv",
        )


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as CSV or Parquet, by suffix; the file is either the old or the new one."""
    check_table_suffix(path)
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(table, temporary)
        else:
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, temporary, compression="zstd")
