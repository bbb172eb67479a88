"""What a default schema watches of rows that follow one another: how far numbers move, how soon."""

from collections.abc import Sequence
from dataclasses import replace

from sqrl._data.table import Table
from sqrl._language.names import SINCE_LAST, SequenceColumn, base_of
from sqrl._learn.roles import PLACE, Watched, is_date, watch
from sqrl._rows.sequences import RowOrder, is_sequence, with_sequences
from sqrl._rules.schema import Schema
from sqrl._rules.sequence_names import row_order_of
from sqrl.errors import unknown

MOST_MOVES = 100  # numbers whose moves are watched
Names = str | list[str] | None


def row_order_given(order: Names = None, entity: Names = None) -> RowOrder | None:
    """Which rows follow one another; raises where that is said badly."""
    return row_order_of(Schema(rules=("? <= x",), order=order, entity=entity))


def moves_of(table: Table, order: Names = None, entity: Names = None) -> list[str]:
    """The columns that say how far numbers move, and how long that takes.

    >>> from sqrl._data.table import as_table
    >>> moves_of(as_table({"day": [1, 2], "x": [0.5, 1.5], "pet": ["cat", "dog"]}), "day")
    ['delta(x)', 'since_last']
    """
    row_order = row_order_given(order, entity)
    if row_order is None:
        return []
    for name in row_order.columns:
        if name not in table:
            key = "order" if name in row_order.order else "entity"
            raise unknown("column", name, table.names, where=f"{key}, {table.source}")
    numbers = [
        name
        for name, column in table.columns.items()
        if column.kind == "number" and name not in row_order.columns and not is_sequence(name)
    ]
    made = [SequenceColumn("delta", name, 1).name for name in numbers[:MOST_MOVES]]
    when = table[row_order.order[0]]
    is_counted = when.kind in {"number", "date"} or (when.kind == "category" and is_date(when))
    if len(row_order.order) == 1 and is_counted:
        made.append(SINCE_LAST)
    return [name for name in made if name not in table]


def add_moves(table: Table, order: Names = None, entity: Names = None) -> Table:
    """The table with the columns that say how far numbers move."""
    moves = moves_of(table, order, entity)
    return with_sequences(table, moves, row_order_given(order, entity), {})


def take_moves(table: Table, order: Names, entity: Names) -> tuple[Table, Table]:
    """The table, and one of the columns that say how far its numbers move; added if need be."""
    if order is None and entity is None:
        return table, Table({}, table.n_rows, table.source)
    wide = add_moves(table, order, entity)
    plain = Table(
        {name: column for name, column in wide.columns.items() if not _is_move(name, wide)},
        table.n_rows,
        table.source,
    )
    moves = {name: column for name, column in wide.columns.items() if name not in plain}
    return plain, Table(moves, table.n_rows, table.source)


def _is_move(name: str, table: Table) -> bool:
    return name == SINCE_LAST or (base_of(name) != name and base_of(name) in table)


def watch_in_order(
    watched: Sequence[Watched], order: Names, entity: Names, label: str | None
) -> list[Watched]:
    """What each column is, where some say which rows follow one another.

    Time goes on and patients come and go: their range says nothing of other rows.
    """
    row_order = row_order_given(order, entity)
    places = set() if row_order is None else {*row_order.columns} - {label}
    return [
        replace(one, role="place", left_out=PLACE)
        if one.name in places and one.role != "none"
        else one
        for one in watched
    ]


def watched_moves(moves: Table, watched: Sequence[Watched]) -> list[Watched]:
    """The moves that are worth watching: of numbers on a scale, that are known somewhere."""
    measured = {one.name for one in watched if one.role == "number"}
    return [
        one
        for one in watch(moves)
        if one.role != "none" and (one.name == SINCE_LAST or base_of(one.name) in measured)
    ]
