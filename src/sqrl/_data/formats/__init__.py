"""Files <-> Arrow tables. FORMATS is the door for another format: see CONTRIBUTING.md."""

from pathlib import Path, PurePath

import pyarrow as pa

from sqrl._data.formats.boxes import BOX_FILES, is_box_file, read_box_file
from sqrl._data.formats.columnar import ARROW, PARQUET
from sqrl._data.formats.delimited_parts import DELIMITED
from sqrl._data.formats.file_format import FileFormat, Reading, Write
from sqrl._data.formats.json_lines import JSON_LINES
from sqrl._data.formats.stored_file import is_packed, load_file, plain_suffix, refuse_absent
from sqrl._data.write_file import replacing
from sqrl._registry import Registry
from sqrl.errors import DataError, OutputError

FORMATS = Registry(
    "file format", {form.name: form for form in (DELIMITED, JSON_LINES, PARQUET, ARROW)}
)
MAX_BYTES = 8 * 2**30


def read_arrow(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    images: Path | None = None,
    max_bytes: int = MAX_BYTES,
) -> pa.Table:
    """The columns of a file, with the types that its format gives them.

    `images` says what a file of boxes does not know of its images.
    """
    where = str(path)
    if is_box_file(path):
        return read_box_file(path, images=images, max_bytes=max_bytes).rows
    form = format_of(path)
    if images is not None:
        raise DataError(
            "Images go with files of boxes, and this is none.",
            where=where,
            fix="leave out images= (--images)",
        )
    data = load_file(path, max_bytes=max_bytes)
    return form.read_whole(data, where, Reading(separator, encoding))


def find_format(path: PurePath) -> FileFormat | None:
    """The format that the name of a file tells; None where it tells none.

    >>> [form and form.name for form in map(find_format, map(PurePath, ("a.csv.gz", "a.doc")))]
    ['delimited text', None]
    """
    suffix = plain_suffix(path)
    found = next((form for form in FORMATS.values() if suffix in form.suffixes), None)
    return None if found is None or (is_packed(path) and not found.may_be_packed) else found


def format_of(path: Path) -> FileFormat:
    """The format of a file; raises where it is not known, or where there is no such file."""
    found = find_format(path)
    if found is not None:
        return found
    refuse_absent(path)
    packed = " and ".join(form.name for form in FORMATS.values() if form.may_be_packed)
    raise DataError(
        f"The format of {path.name!r} is unknown.",
        where=str(path),
        fix=f"use one of: {', '.join(all_suffixes())}; {packed} also with .gz; boxes: {BOX_FILES}",
    )


def all_suffixes() -> list[str]:
    """The suffixes of all formats of tables, for messages."""
    return [suffix for form in FORMATS.values() for suffix in form.suffixes]


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
