"""What a check counts of rows, in tallies that add up, wherever the rows are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._check.broken_rows_folder import RowsFolder
from sqrl._check.probabilities import Soft, count_softly
from sqrl._check.row_outcomes import Floats32, Int32s, Ints, judge_rows
from sqrl._data.column import Column
from sqrl._kernels.sums import add_moments, start_moments
from sqrl._language.forms import Form
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State


@dataclass(frozen=True, slots=True)
class CountRows:
    """Counts rules about single rows: see `Outcomes`.

    Each chunk is looked at once: its broken pairs are also kept, or written to a folder, if asked.
    """

    forms: Sequence[Form]
    keeps_pairs: bool = False
    folder: RowsFolder | None = None
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
        return {**counts, "excess": start_moments(len(self.forms)), "files": np.zeros(1, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        found = judge_rows(self.forms, rows)
        tally["applicable"] += found.applicable
        tally["broken"] += found.broken
        excess, rule = found.excess.astype(np.float64), found.rule.astype(np.int64)
        add_moments(excess, rule, tally["excess"])
        if self.keeps_pairs:
            tally[f"{first}/rule"], tally[f"{first}/excess"] = found.rule, found.excess
            tally[f"{first}/row"] = found.row + np.int32(first)
        if self.folder is not None:
            tally["files"] += self.folder.write(found, first, rows.n)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        both = {name: one[name] + other[name] for name in one.keys() & other.keys()}
        return {**one, **other, **both}

    def pairs(self, tally: State) -> tuple[Int32s, Int32s, Floats32]:
        """Rule, row and excess of each broken pair that was kept, by rule and then by row."""
        firsts = sorted(int(key.partition("/")[0]) for key in tally if key.endswith("/rule"))

        def joined(name: str, kind: Any) -> Any:
            return np.concatenate([np.empty(0, kind), *(tally[f"{at}/{name}"] for at in firsts)])

        rule, row = joined("rule", np.int32), joined("row", np.int32)
        excess = joined("excess", np.float32)
        if len(firsts) > 1:
            order = np.argsort(rule, kind="stable")
            rule, row, excess = rule[order], row[order], excess[order]
        return rule, row, excess


@dataclass(frozen=True, slots=True)
class CountLabels:
    """Counts the rows without a label, and those whose label is one of some values."""

    label: str
    values: tuple[str | float | bool, ...]
    of: Of = "train"

    def start(self) -> State:
        """Nothing counted."""
        return {"missing": np.zeros(1, np.int64), "listed": np.zeros(1, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        column = rows.table[self.label]
        tally["missing"] += np.count_nonzero(column.missing())
        if self.values:
            tally["listed"] += np.count_nonzero(_is_one_of(column, self.values))
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: values + other[name] for name, values in one.items()}


def _is_one_of(column: Column, values: Sequence[str | float | bool]) -> NDArray[np.bool_]:
    if column.kind == "category":
        codes = [column.categories.index(str(value)) for value in values]
        return np.isin(column.values, codes)
    return np.isin(column.values, [float(value) for value in values])


@dataclass(frozen=True, slots=True)
class CountSoftly:
    """Counts rules about single rows under predicted probabilities, which are of rows in memory.

    Shapes of a tally: (n_forms, 2): on how many rows to expect each rule to apply, and broken.
    """

    forms: Sequence[Form]
    soft: Soft
    of: Of = "train"

    def start(self) -> State:
        """Nothing counted."""
        return {"counts": np.zeros((len(self.forms), 2))}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        here = self.soft.take(slice(first, first + rows.n))
        counts = [count_softly(form, rows, here) for form in self.forms]
        tally["counts"] += np.array(counts).reshape(-1, 2)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"counts": one["counts"] + other["counts"]}
