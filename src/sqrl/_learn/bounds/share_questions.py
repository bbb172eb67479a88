"""Questions about rows that a reference is made of: the values of an axis, and counts of cells."""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Node
from sqrl._rows.cells import Grid
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import AxisCodes, Codes, count_codes, is_words, joined
from sqrl._scan.job import State

AT_ONCE = 4096  # values looked at before all of them are: most columns have many values


@dataclass(frozen=True, slots=True)
class Place:
    """The rows of a condition, in one of its cells."""

    condition: int
    cell: int


@dataclass(frozen=True, slots=True)
class AxisValues:
    """Asks which values expressions have: of words how often each, of numbers if they are few.

    The answer has for each of `wanted` the counts of all its column's categories, or its distinct
    numbers, or where there are more than its limit, more than that.
    """

    of: Of
    grid: Grid
    wanted: tuple[tuple[Place, Node, int], ...]

    def start(self) -> State:
        """Nothing seen."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        chosen = Chosen(rows, self.grid)
        for number, (place, item, limit) in enumerate(self.wanted):
            key, here = str(number), chosen.rows(place)
            if is_words(item, rows):
                column = rows.table[item.name]  # type: ignore[attr-defined]
                codes = column.values if here is None else column.values[here]
                counts = count_codes(codes, len(column.categories))
                tally[key] = tally[key] + counts if key in tally else counts
                continue
            known = tally.get(key, np.empty(0))
            if known.size <= limit:
                values = rows.numbers(item)
                tally[key] = _few(values if here is None else values[here], known, limit)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        both = {}
        for key in one.keys() | other.keys():
            if key not in one or key not in other:
                both[key] = one[key] if key in one else other[key]
            elif one[key].dtype.kind == "i":
                both[key] = one[key] + other[key]
            else:
                both[key] = np.union1d(one[key], other[key])
        return both

    def finish(self, tally: State) -> list[Floats | Int64s]:
        """The counts, or the numbers, of each."""
        return [tally[str(number)] for number in range(len(self.wanted))]

    def answer(self, rows: Rows) -> list[Floats | Int64s]:
        """The counts, or the numbers, of each, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


def _few(values: Floats, known: Floats, limit: int) -> Floats:
    """The distinct values, or more than `limit` of them."""
    left = values[~np.isnan(values)] + 0.0  # one zero
    while left.size and known.size <= limit:
        some = np.setdiff1d(left[:AT_ONCE], known)
        known = np.union1d(known, some)
        if known.size <= limit:
            left = left[AT_ONCE:]
            left = left[~np.isin(left, known)]
    return known


@dataclass(frozen=True, slots=True)
class CellTable:
    """The cells of one axis or two, and the rows whose values are counted in them."""

    place: Place
    items: tuple[Node, ...]
    axes: tuple[CellAxis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has, that of the strata first."""
        return tuple(axis.n_cells for axis in reversed(self.axes))

    @property
    def n_cells(self) -> int:
        """How many cells there are in all."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, slots=True)
class CountCells:
    """Asks how many rows are in each cell of some tables.

    Shapes: a tally is (cells of all tables,).
    """

    of: Of
    grid: Grid
    tables: tuple[CellTable, ...]

    def start(self) -> State:
        """Nothing counted."""
        return {"counts": np.zeros(sum(table.n_cells for table in self.tables), np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        chosen, begin = Chosen(rows, self.grid), 0
        for table in self.tables:
            codes, here = chosen.codes(table), chosen.rows(table.place)
            codes = codes if here is None else codes[here]
            tally["counts"][begin : begin + table.n_cells] += count_codes(codes, table.n_cells)
            begin += table.n_cells
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"counts": one["counts"] + other["counts"]}

    def finish(self, tally: State) -> list[Int64s]:
        """The counts of each table."""
        ends = np.cumsum([table.n_cells for table in self.tables])[:-1]
        return np.split(tally["counts"], ends)

    def answer(self, rows: Rows) -> list[Int64s]:
        """The counts of each table, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


class Chosen:
    """Rows by place, and codes by axis: each computed once, of some rows."""

    def __init__(self, rows: Rows, grid: Grid) -> None:
        self._rows, self._grid = rows, grid
        self._chosen: dict[Place, Int64s | None] = {}
        self._codes = AxisCodes(rows)

    def rows(self, place: Place) -> Int64s | None:
        """The rows of a place; None for all of them."""
        if place not in self._chosen:
            if not self._grid.conditions[place.condition] and self._grid.n_cells == 1:
                self._chosen[place] = None
            else:
                selected, cell = self._grid.cells(self._rows, place.condition)
                self._chosen = {place: selected[cell == place.cell]}  # one at a time: large
        return self._chosen[place]

    def codes(self, table: CellTable) -> Codes:
        """The cell of a table that each row is in; -1 for none."""
        codes = map(self._codes.axis, table.items, table.axes)
        return joined(next(codes), next(codes, None), table.axes[0].n_cells)
