"""Rows by their numbers: what mini-batches are made of, fetched into memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._data.column import Column
from sqrl._data.table import Table
from sqrl._rows.questions import Of
from sqrl._scan.job import State

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Fetch:
    """Collects some rows, by their numbers in ascending order, each once."""

    of: Of
    numbers: Ints
    names: frozenset[str]

    def add(self, table: Table, first: int, state: State) -> State:
        """The state with those of the rows that are wanted; `first` is the number of the first."""
        begin, end = np.searchsorted(self.numbers, [first, first + table.n_rows])
        if begin == end:
            return state
        mine = self.numbers[begin:end] - first
        for name in self.names:
            state[f"{first}/{name}"] = table[name].values[mine]
        state[f"{first}/"] = self.numbers[begin:end]
        return state

    def finish(self, state: State, whole: Table) -> Table:
        """The rows as a table, in the order of their numbers."""
        split = [key.partition("/") for key in state]
        firsts = sorted(int(first) for first, _, name in split if not name)
        columns = {}
        for name in sorted(self.names):
            column = whole[name]
            parts = [state[f"{first}/{name}"] for first in firsts]
            values = np.concatenate([column.values[:0], *parts])
            columns[name] = Column(name, column.kind, values, column.categories, column.is_integer)
        return Table(columns, self.numbers.size, whole.source)
