"""What a check counts of scanned rows, in tallies that add up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._check.row_outcomes import judge_rows
from sqrl._data.column import Column
from sqrl._kernels.sums import add_moments, start_moments
from sqrl._language.forms import Form
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Judge:
    """Counts rules about single rows: see `Outcomes`."""

    forms: Sequence[Form]
    of: Of = "train"

    @property
    def piece_of(self) -> Ints:
        """The rule of each piece."""
        n_pieces = [max(len(form.pieces), 1) for form in self.forms]
        return np.repeat(np.arange(len(self.forms)), n_pieces)

    def start(self) -> State:
        """Nothing counted."""
        n_pieces = self.piece_of.size
        counts = {name: np.zeros(n_pieces, np.int64) for name in ("applicable", "broken")}
        return {**counts, "excess": start_moments(len(self.forms))}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        found = judge_rows(self.forms, rows)
        tally["applicable"] += found.applicable
        tally["broken"] += found.broken
        excess, rule = found.excess.astype(np.float64), found.rule.astype(np.int64)
        add_moments(excess, rule, tally["excess"])
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: values + other[name] for name, values in one.items()}


@dataclass(frozen=True, slots=True)
class CountValues:
    """Counts the rows that have each value of a column; `column` holds each of them once."""

    column: Column
    of: Of = "train"

    def start(self) -> State:
        """Nothing counted."""
        return {"counts": np.zeros(self.column.values.size, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        values = rows.table[self.column.name]
        present = values.values[~values.missing()] + (0 if values.kind == "category" else 0.0)
        if self.column.values.size:
            place = np.searchsorted(self.column.values, present)
            place = np.minimum(place, self.column.values.size - 1)
            hit = place[self.column.values[place] == present]
            tally["counts"] += np.bincount(hit, minlength=self.column.values.size)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"counts": one["counts"] + other["counts"]}
