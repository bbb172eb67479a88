"""Columns that follow from the rows before: `lag(x)`, `delta(x)`, `rolling_mean(x, 24)`.

They are computed of a whole table, before its rows are divided in any way, and are columns of it
from then on. A column that the data has under such a name is taken as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sqrl._data.column import Column, from_plain
from sqrl._data.table import Table
from sqrl._kernels.arrays import Array, Floats
from sqrl._kernels.sequences import Arranged, arrange, rolling_means, rows_back
from sqrl._language.names import SINCE_LAST, base_of, sequence_of
from sqrl._language.tree import Name, Node, walk
from sqrl._rows.column_functions import COLUMN_FUNCTIONS
from sqrl._rows.rows import Rows
from sqrl.errors import DataError, SchemaError, SqrlError, unknown


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Which rows follow one another: those of an `entity`, sorted by `order`.

    Both are columns; with no entity all rows are of one.
    """

    order: tuple[str, ...]
    entity: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say it."""
        return (*self.entity, *self.order)


def is_sequence(name: str) -> bool:
    """Whether a name is that of a column that follows from the rows before.

    >>> is_sequence("lag(x)"), is_sequence("since_last"), is_sequence("x")
    (True, True, False)
    """
    return name == SINCE_LAST or sequence_of(name) is not None


def columns_behind(
    names: Iterable[str], row_order: RowOrder | None, statistics: Mapping[str, Node]
) -> frozenset[str]:
    """The columns that data must have for these names.

    >>> sorted(columns_behind(["delta(area)"], RowOrder(("t",)), {"area": Name("w")}))
    ['t', 'w']
    """
    found: set[str] = set()
    for name in names:
        if not is_sequence(name) or (name == SINCE_LAST and row_order is None):
            found.add(name)
            continue
        found |= set(row_order.columns if row_order is not None else ())
        if name != SINCE_LAST:
            inner = _leaves(base_of(name), statistics)
            found |= columns_behind(inner, row_order, statistics)
    return frozenset(found)


def with_sequences(
    table: Table,
    names: Iterable[str],
    row_order: RowOrder | None,
    statistics: Mapping[str, Node],
) -> Table:
    """The table with those of the named columns that follow from the rows before.

    Rows whose order or entity is missing have none, and are nobody's row before. Rows of an equal
    order stay as they come.

    Cost: one sort of the rows by entity and order, then O(rows) for each column, and for a rolling
    mean as often as its number of rows can be halved.

    >>> from sqrl._data.table import as_table
    >>> visits = as_table({"who": ["a", "b", "a"], "day": [2, 1, 1], "pulse": [70, 90, 64]})
    >>> found = with_sequences(visits, ["delta(pulse)"], RowOrder(("day",), ("who",)), {})
    >>> found["delta(pulse)"].values.tolist()
    [6.0, nan, nan]
    """
    wanted = sorted(name for name in names if is_sequence(name) and name not in table)
    if row_order is None or not wanted:
        return table
    adding = _Adding(table, row_order, statistics)
    for name in wanted:
        adding.add(name)
    return adding.table


def with_possible_sequences(
    table: Table,
    names: Iterable[str],
    row_order: RowOrder | None,
    statistics: Mapping[str, Node],
) -> tuple[Table, SqrlError | None]:
    """The table with all that can be computed of these columns, and the first reason why not all.

    For data that may lack columns, or hold something else in them than it did.
    """
    reason: SqrlError | None = None
    adding: _Adding | None = None
    for name in sorted(name for name in names if is_sequence(name) and name not in table):
        if row_order is None:
            break
        try:
            adding = adding or _Adding(table, row_order, statistics)
            adding.add(name)
        except SqrlError as error:
            reason = reason or error
            if adding is None:
                break
    return table if adding is None else adding.table, reason


class _Adding:
    """A table that gets one column after another, those first that others follow from."""

    def __init__(self, table: Table, row_order: RowOrder, statistics: Mapping[str, Node]) -> None:
        self.table, self.row_order, self.statistics = table, row_order, statistics
        self.arranged = _arrange(table, row_order)

    def add(self, name: str) -> None:
        """Add a column, if the table lacks it."""
        if name in self.table:
            return
        made = sequence_of(name)
        if made is None:
            column = self._since_last()
        elif made.function == "lag":
            column = self._lag(self._source(made.of), made.n_rows)
        else:
            values = self._numbers(made.of)
            if made.function == "delta":
                found = _moved(values, self.arranged, made.n_rows)
            else:
                found = rolling_means(values, self.arranged, made.n_rows)
            column = from_plain(name, found, self.table.source)
        columns = {**self.table.columns, name: replace(column, name=name)}
        self.table = Table(columns, self.table.n_rows, self.table.source)

    def _source(self, name: str) -> Column:
        """The column or statistic of a name, computed if need be."""
        for part in _leaves(name, self.statistics):
            if is_sequence(part):
                self.add(part)
        if name in self.statistics:
            return from_plain(name, self._rows().numbers(Name(name)), self.table.source)
        column = self.table[name]
        if column.kind == "other":
            self._rows().numbers(Name(name))  # raises: neither numbers nor categories
        return column

    def _numbers(self, name: str) -> Floats:
        column = self._source(name)
        if column.kind == "date":
            return column.values
        return self._rows().numbers(Name(name))

    def _rows(self) -> Rows:
        return Rows(self.table, self.statistics)

    def _lag(self, column: Column, n: int) -> Column:
        """What the column was n rows ago, of the kind that it is."""
        before = rows_back(self.arranged, n)
        missing = -1 if column.kind == "category" else np.nan
        values = column.values[before] if column.values.size else column.values
        return replace(column, values=np.where(before < 0, missing, values).astype(values.dtype))

    def _since_last(self) -> Column:
        """How long ago the row before was: in days for dates, else as the order counts."""
        if len(self.row_order.order) > 1:
            raise SchemaError(
                f"{SINCE_LAST} is of one order column, and there are "
                f"{len(self.row_order.order)}: {', '.join(self.row_order.order)}.",
                where="order",
                fix="order rows by one column, of numbers or of dates",
            )
        column = self.table[self.row_order.order[0]]
        when = column.values
        if column.kind == "category":  # words that are no dates have no distance
            of_words = COLUMN_FUNCTIONS["days"].of_words(list(column.categories))
            when = np.append(of_words, np.nan)[column.values]
        return from_plain(SINCE_LAST, _moved(when, self.arranged, 1), self.table.source)


def _arrange(table: Table, row_order: RowOrder) -> Arranged:
    known = np.ones(table.n_rows, np.bool_)
    for name in row_order.columns:
        key = "order" if name in row_order.order else "entity"
        if name not in table:
            raise unknown("column", name, table.names, where=f"{key}, {table.source}")
        if table[name].kind == "other":
            raise DataError(
                f"Column {name!r} tells nothing of which rows follow one another: it holds "
                "neither numbers, dates nor text.",
                where=f"{key}, {table.source}",
                fix="use another column, or make it one of these",
            )
        known &= ~table[name].missing()

    def keys(names: tuple[str, ...]) -> list[Array]:
        return [table[name].values for name in names]

    return arrange(keys(row_order.entity), keys(row_order.order), known)


def _moved(values: Floats, arranged: Arranged, n: int) -> Floats:
    """The value less that of n rows ago; missing where either is."""
    before = rows_back(arranged, n)
    found = np.full(values.size, np.nan)
    has_one = before >= 0
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are reported later
        found[has_one] = values[has_one] - values[before[has_one]]
    return found


def _leaves(name: str, statistics: Mapping[str, Node]) -> Iterator[str]:
    """The columns that a name stands for: itself, or those that its statistic is computed of."""
    if name not in statistics:
        yield name
        return
    for part in walk(statistics[name]):
        if isinstance(part, Name):
            yield from _leaves(part.name, statistics)
