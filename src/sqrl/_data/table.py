"""Table: named, typed columns as plain arrays, from any dataframe or file."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqrl._data.column import (
    BoolArray,
    Column,
    IntArray,
    check_names,
    column_sum,
    from_arrow,
    from_plain,
    summary,
    text_of_mixed,
)
from sqrl._data.formats import MAX_BYTES, read_arrow
from sqrl._data.given_path import given_path, path_text
from sqrl._kernels.threads import run
from sqrl.errors import DataError, unknown

CHUNK_ROWS = 1 << 18  # rows that are worked on at a time
MANY_ROWS = 1 << 20  # from which on it is worth a thread to work on a column
T = TypeVar("T")

__all__ = [
    "CHUNK_ROWS",
    "Column",
    "Table",
    "as_table",
    "collect",
    "fingerprint_of",
    "read_table",
    "take_rows",
    "to_arrow",
]

ACCEPTED = "a path, a pandas or polars DataFrame, a pyarrow Table or a dict of arrays"
MOST_COLUMNS_SHOWN = 100


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Columns of equal length, by name, and the `source` that error messages speak of.

    >>> table = as_table({"height": [168, 156], "smokes": [True, None]}, source="people.csv")
    >>> table
    Table('people.csv': 2 rows, 2 columns)
    >>> table["hieght"]
    Traceback (most recent call last):
    sqrl.errors.UnknownNameError: Unknown column 'hieght'.
      where: people.csv
      fix:   did you mean 'height'?
    """

    columns: Mapping[str, Column]
    n_rows: int
    source: str = "table"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            raise unknown("column", name, self.columns, where=self.source) from None

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Table({self.source!r}: {self.n_rows} rows, {len(self.columns)} columns)"

    def take(self, rows: IntArray | BoolArray) -> "Table":
        """The table of only these rows, in this order; a mask of booleans also serves.

        >>> as_table({"n": [5, 6, 7]}).take(np.array([2, 0]))["n"].values.tolist()
        [7.0, 5.0]
        """
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        n_rows = int(np.empty(self.n_rows, np.bool_)[rows].size)
        return Table(columns, n_rows, self.source)

    def with_columns(self, new: Mapping[str, npt.ArrayLike], *, replace: bool = False) -> "Table":
        """The table with more columns, each a plain array with a value for every row.

        With `replace` they may also take the place of columns that are there.

        >>> as_table({"n": [5, 6]}).with_columns({"half": [2.5, 3.0]}).names
        ('n', 'half')
        """
        for name in new:
            if name in self.columns and not replace:
                what = f"There is already a column named {name!r}."
                raise DataError(what, where=self.source, fix="give the new column another name")
        added = {name: from_plain(name, new[name], self.source) for name in new}
        _check_lengths(added, self.n_rows, self.source)
        return Table({**self.columns, **added}, self.n_rows, self.source)

    def fingerprint(self, names: Iterable[str] | None = None) -> str:
        """Sixteen hex digits that change with any name, kind, value or order of rows.

        Equal content gives equal fingerprints, whatever the file format, the order of the
        columns or the codes of the categories. An "other" column counts by name alone.

        >>> as_table({"n": [5, 6]}).fingerprint() == as_table({"n": [5.0, 6.0]}).fingerprint()
        True
        """
        chosen = {name: self[name] for name in (self.columns if names is None else names)}
        sums = _each(lambda name: column_sum(chosen[name]), list(chosen), self.n_rows)
        kinds = (column.kind for column in chosen.values())
        found = dict(zip(chosen, zip(kinds, sums, strict=True), strict=True))
        return fingerprint_of(self.n_rows, found)

    def _repr_html_(self) -> str:
        shown = list(self.columns.values())[:MOST_COLUMNS_SHOWN]
        rows = "".join(_html_row(column) for column in shown)
        more = len(self.columns) - len(shown)
        return (
            f"<table><caption>{escape(self.source)}: {self.n_rows:,} rows, "
            f"{len(self.columns):,} columns</caption><thead><tr><th>name</th><th>kind</th>"
            f"<th>missing</th><th>values</th></tr></thead><tbody>{rows}</tbody></table>"
            + (f"<p>and {more:,} more columns</p>" if more else "")
        )


def take_rows(table: Table, chosen: slice | IntArray, names: Collection[str]) -> Table:
    """Only these rows, and of these columns those that are there; a slice copies nothing."""
    columns = {
        name: replace(column, values=column.values[chosen])
        for name, column in table.columns.items()
        if name in names
    }
    n_rows = chosen.stop - chosen.start if isinstance(chosen, slice) else chosen.size
    return Table(columns, n_rows, table.source)


def fingerprint_of(n_rows: int, sums: Mapping[str, tuple[str, int]]) -> str:
    """The fingerprint of a table: see `Table.fingerprint`.

    `sums` has the kind and the `column_sum` of each column by name. Parts of a column can be summed
    apart and added up, modulo 2**64 or not. A sum of 0 says that all values are missing.

    >>> column = from_plain("n", [5, 6], "doctest")
    >>> fingerprint_of(2, {"n": ("number", column_sum(column))}) == as_table(
    ...     {"n": [5, 6]}
    ... ).fingerprint()
    True
    """
    digest = hashlib.sha256(f"{n_rows} rows".encode())
    for name, (kind, total) in sorted(sums.items()):
        content = (total % 2**64).to_bytes(8, "little")
        known = kind if kind == "other" or any(content) else "missing"
        for part in (name.encode(), known.encode(), content):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()[:16]


def read_table(
    path: str | Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    images: str | Path | None = None,
    max_bytes: int = MAX_BYTES,
) -> Table:
    r"""The table in a CSV, TSV, Parquet, JSON Lines or Arrow file, told apart by suffix.

    Text and JSON Lines may be packed (.gz). For text the encoding and the separator are
    found unless given; these stand for missing: nothing, NA, N/A, NaN, nan, NULL, null, None.

    Labels of KITTI, YOLO and Pascal VOC (a folder or .zip) and COCO JSON give a row for each box.
    `images` is a CSV with the sizes of images, the folder of the images, or the COCO file of truth
    that COCO results belong to.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("height;smokes\n168;true\nNA;false\n")
    ...     table = read_table(path)
    >>> table["height"].values.tolist(), table["smokes"].kind
    ([168.0, nan], 'boolean')
    """
    path = given_path(path)
    given = None if images is None else given_path(images)
    data = read_arrow(
        path, separator=separator, encoding=encoding, images=given, max_bytes=max_bytes
    )
    return _from_arrow(data, path_text(path.name), where=path_text(path))


def as_table(data: object, *, source: str | None = None, mixed_as_text: bool = False) -> Table:
    """`data` as a Table: a path, a pandas, polars or pyarrow table, or a dict of arrays.

    A column of text among numbers is refused, or if asked for read as text.

    >>> as_table({"pet": ["dog", "cat"], "age": [3, None]})["age"].values.tolist()
    [3.0, nan]
    >>> as_table({"age": [3, "old"]}, mixed_as_text=True)["age"].categories
    ('3', 'old')
    """
    named = source or type(data).__name__
    if isinstance(data, Table):
        return data if source is None else replace(data, source=source)
    if isinstance(data, str | Path):
        table = read_table(data)
        return table if source is None else replace(table, source=source)
    if isinstance(data, pa.Table):
        return _from_arrow(data, named)
    if isinstance(data, Mapping):
        return _from_mapping(data, named, mixed_as_text=mixed_as_text)
    return _from_arrow(collect(data, named, mixed_as_text=mixed_as_text), named)


def to_arrow(data: object) -> pa.Table:
    """The columns of any table as Arrow holds them.

    >>> to_arrow({"pet": ["dog", None]}).to_pydict()
    {'pet': ['dog', None]}
    """
    if isinstance(data, pa.Table):
        return data
    table = as_table(data)
    return pa.table({name: _as_arrow(column) for name, column in table.columns.items()})


def _as_arrow(column: Column) -> pa.Array:
    if column.kind == "other":
        return pa.nulls(column.values.size, pa.binary())
    missing = column.missing()
    if column.kind == "category":
        words = pa.array(column.categories, pa.string())
        return words.take(pa.array(column.values, pa.int32(), mask=missing))
    if column.kind == "boolean":
        return pa.array(column.values == 1.0, mask=missing)
    if column.kind == "date":
        moments = np.rint(np.where(missing, 0.0, column.values) * 86_400e6).astype(np.int64)
        return pa.array(moments, mask=missing).cast(pa.timestamp("us"))
    return pa.array(column.values, mask=missing)


def collect(data: object, source: str, *, mixed_as_text: bool = False) -> pa.Table:
    """The Arrow table of any dataframe that narwhals knows; a lazy one is computed."""
    import narwhals as nw

    try:
        frame: Any = nw.from_native(cast(Any, data))
    except TypeError:
        what = f"A {type(data).__name__} is not a table."
        raise DataError(what, where=source, fix=f"pass {ACCEPTED}") from None
    except ValueError as error:  # such as names that occur twice
        raise _unusable(error, source) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    frame = nw.maybe_reset_index(frame)
    check_names([str(name) for name in frame.columns], source)
    if mixed_as_text:
        texts = {name: text_of_mixed(frame[name].to_list()) for name in _objects(frame)}
        frame = frame.with_columns(
            nw.new_series(name, text, nw.String, backend=frame.implementation)
            for name, text in texts.items()
            if text is not None
        )
    try:
        return frame.to_arrow()
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _unusable(error, source) from None


def _objects(frame: Any) -> list[str]:
    """The columns that may hold anything."""
    import narwhals as nw

    return [name for name, kind in frame.schema.items() if kind == nw.Object]


def _unusable(error: Exception, source: str) -> DataError:
    reason = " ".join(" ".join(str(arg) for arg in error.args).split()).rstrip(".")
    what = f"The data cannot be made a table: {reason}."
    return DataError(what, where=source, fix="give every column a name and one type of value")


def _from_mapping(data: Mapping[Any, Any], source: str, *, mixed_as_text: bool = False) -> Table:
    check_names([str(name) for name in data], source)
    columns = {}
    for name in data:
        text = text_of_mixed(data[name]) if mixed_as_text and isinstance(data[name], list) else None
        columns[str(name)] = from_plain(str(name), data[name] if text is None else text, source)
    n_rows = len(next(iter(columns.values())).values) if columns else 0
    _check_lengths(columns, n_rows, source)
    return Table(columns, n_rows, source)


def _from_arrow(data: pa.Table, source: str, *, where: str | None = None) -> Table:
    check_names(data.column_names, where or source)
    names = data.column_names
    found = _each(lambda name: from_arrow(name, data.column(name)), names, data.num_rows)
    return Table(dict(zip(names, found, strict=True)), data.num_rows, source)


def _each(work: Callable[[str], T], names: Sequence[str], n_rows: int) -> list[T]:
    """What is made of each column, side by side where there are many rows."""
    found: dict[str, T] = {}

    def do(name: str) -> None:
        found[name] = work(name)

    tasks = [partial(do, name) for name in names]
    run([tasks], threads=1 if n_rows < MANY_ROWS else None, track=None)
    return [found[name] for name in names]


def _check_lengths(columns: Mapping[str, Column], n_rows: int, source: str) -> None:
    for name, column in columns.items():
        if len(column.values) != n_rows:
            what = f"Column {name!r} has {len(column.values)} values, but there are {n_rows} rows."
            raise DataError(what, where=source, fix="give one value for every row")


def _html_row(column: Column) -> str:
    missing = "" if column.kind == "other" else f"{np.count_nonzero(column.missing()):,}"
    cells = (column.name, column.kind, missing, summary(column))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
