"""Files -> Arrow tables: delimited text, Parquet, JSON Lines, Arrow and boxes, told by suffix."""

import io
import json
from pathlib import Path

import pyarrow as pa

from sqrl._data.formats.boxes import is_box_file, read_box_file
from sqrl._data.formats.delimited import read_delimited
from sqrl._data.formats.file_bytes import load_file, refuse_absent
from sqrl.errors import DataError

TEXT = (".csv", ".tsv", ".txt")
JSON_LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SUFFIXES = (*TEXT, *JSON_LINES, *PARQUET, *ARROW)
MAX_BYTES = 8 * 2**30
BLOCK_BYTES = 2**23  # no line of JSON may be longer than this
JSON_TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list"}


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
    suffix = _suffix(path)
    _refuse_images(images, where)
    data = load_file(path, max_bytes=max_bytes)
    if suffix in TEXT:
        separator = separator or ("\t" if suffix == ".tsv" else None)
        return read_delimited(data, where=where, separator=separator, encoding=encoding)
    if suffix in JSON_LINES:
        return _read_json_lines(data, where=where)
    return _read_columnar(data, is_parquet=suffix in PARQUET, where=where)


def _suffix(path: Path) -> str:
    """The suffix that tells the format: `.csv` of both a.csv and a.csv.gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_packed = suffixes[-1:] == [".gz"]
    suffix = "".join((suffixes[:-1] if is_packed else suffixes)[-1:])
    if suffix in SUFFIXES and not (is_packed and suffix in PARQUET + ARROW):
        return suffix
    refuse_absent(path)
    raise DataError(
        f"The format of {path.name!r} is unknown.",
        where=str(path),
        fix=f"use one of: {', '.join(SUFFIXES)}; text and JSON Lines also with .gz; "
        "boxes: KITTI labels as a folder or .zip, COCO as .json",
    )


def _refuse_images(images: Path | None, where: str) -> None:
    if images is not None:
        raise DataError(
            "A file of images goes with KITTI label files or COCO results, and this is neither.",
            where=where,
            fix="leave out images= (--images)",
        )


def _read_columnar(data: pa.Buffer, *, is_parquet: bool, where: str) -> pa.Table:
    """The table in a Parquet file, or in an Arrow file or stream."""
    import pyarrow.ipc
    import pyarrow.parquet

    try:
        if is_parquet:
            table = pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read()
        elif bytes(memoryview(data)[:6]) == b"ARROW1":
            table = pyarrow.ipc.open_file(data).read_all()
        else:
            table = pyarrow.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        what = f"The file is not {'Parquet' if is_parquet else 'Arrow'}, or is damaged"
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{what}: {reason}.", where=where, fix="write or fetch it again") from None
    # What pandas calls an index without a name; its CSV files have an empty name there.
    index = "__index_level_0__"
    return table.rename_columns(["index" if n == index else n for n in table.column_names])


def _read_json_lines(data: pa.Buffer, *, where: str) -> pa.Table:
    """The table with one row for each line, a field that a line lacks being missing."""
    import pyarrow.json

    if not bytes(memoryview(data)[:BLOCK_BYTES]).strip():
        raise DataError("The file is empty.", where=where, fix="write one JSON object a line")
    options = pyarrow.json.ReadOptions(block_size=BLOCK_BYTES)
    try:
        table = pyarrow.json.read_json(pa.BufferReader(data), read_options=options)
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise _find_json_fault(data, where) or _not_json(error, where) from None
    return table


def _find_json_fault(data: pa.Buffer, where: str) -> DataError | None:
    """The first line that is not a JSON object in UTF-8 with the types of the lines before."""
    types: dict[str, str] = {}
    for number, line in enumerate(io.BufferedReader(pa.BufferReader(data)), start=1):
        place = f"{where}, line {number}"
        try:
            row = json.loads(line) if line.strip() else {}
        except UnicodeDecodeError:
            return DataError("The line is not UTF-8 text.", where=place, fix="save it as UTF-8")
        except json.JSONDecodeError as error:
            what = f"The line is not JSON: {error.msg} at character {error.colno}."
            return DataError(what, where=place, fix="write one JSON object a line")
        if not isinstance(row, dict):
            what = f"The line is a JSON {_json_type(row)}, not an object."
            return DataError(what, where=place, fix='write one JSON object a line: {"name": value}')
        for name, value in row.items():
            seen = _json_type(value)
            expected = types.setdefault(name, seen) if value is not None else seen
            if seen != expected:
                what = f"Field {name!r} is {expected} in earlier lines and {seen} here."
                return DataError(what, where=place, fix="give the field one type throughout")
    return None


def _json_type(value: object) -> str:
    return "null" if value is None else JSON_TYPES.get(type(value), "object")


def _not_json(error: pa.ArrowInvalid, where: str) -> DataError:
    reason = str(error).splitlines()[0].rstrip(".")
    what = f"The file is not JSON Lines: {reason}."
    return DataError(what, where=where, fix="write one JSON object a line")
