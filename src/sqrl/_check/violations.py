"""Violations: a tally that also knows which rows broke which rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.row_outcomes import applicable_rows, interval_ends
from sqrl._check.tally import Tally
from sqrl._data.table import Table
from sqrl._rows.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats32 = NDArray[np.float32]
FARTHEST = 1e9  # widths; what is further off is as bad


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Violations(Tally):
    """For each rule how often it applied, was broken, and would be by chance; and where.

    Shapes: pair_rule, pair_row, pair_excess: each broken (rule, row) pair, by rule and then by row,
    the excess in widths of the interval, infinite where that has none. batches: the rows of each
    mini-batch, by size. `table` has the prediction in the label's place.
    """

    table: Table
    batches: Mapping[int, Ints]
    pair_rule: Int32s
    pair_row: Int32s
    pair_excess: Floats32

    def __post_init__(self) -> None:
        super().__post_init__()
        for rows in self.batches.values():
            rows.flags.writeable = False

    def row_counts(self) -> Ints:
        """How many rules each row breaks, of those about single rows."""
        return np.bincount(self.pair_row, minlength=self.n_rows).astype(np.int64)

    def row_degree(self) -> Floats:
        """How badly each row breaks its worst rule, from 0 (none) to 1: d / (1 + d) in widths.

        A rule without a width (one-sided, or one that implies a class) is broken fully or not.
        """
        degree = np.zeros(self.n_rows)
        far = np.minimum(self.pair_excess.astype(np.float64), FARTHEST)
        np.maximum.at(degree, self.pair_row, far / (1.0 + far))
        return degree

    def rows_of(self, rule: int) -> tuple[Int32s, Floats32]:
        """The rows that break a rule, and by how many widths."""
        first, last = np.searchsorted(self.pair_rule, [rule, rule + 1])
        return self.pair_row[first:last], self.pair_excess[first:last]

    def rules_of(self, row: int) -> Int32s:
        """The rules that a row breaks."""
        return np.asarray(self.pair_rule[self.pair_row == row])

    def outcomes(self, rule: int) -> NDArray[np.str_]:
        """What became of a rule on each row, or mini-batch: `held`, `broken` or `n/a`."""
        if rule in self.batch_values:
            values = self.batch_values[rule]
            (lower,), (upper,) = interval_ends(self.rules.form(rule))
            applies = ~np.isnan(values)
            broken = (values < lower) | (values > upper)
        else:
            rows = Rows(self.table, self.rules.statistics())
            applies = applicable_rows(self.rules.form(rule), rows)
            broken = np.zeros(self.n_rows, np.bool_)
            broken[self.rows_of(rule)[0]] = True
        return np.where(broken, "broken", np.where(applies, "held", "n/a"))

    def sentences(self, row: int) -> list[str]:
        """Why a row breaks each of its rules, the worst first."""
        from sqrl._check.sentences import row_sentences

        return row_sentences(self, row)

    def slices(self, *, columns: Sequence[str] | None = None, most: int = 20) -> pa.Table:
        """Which conditions concentrate violations: values of columns, quarters of numbers."""
        from sqrl._check.slices import slices

        return slices(self, columns=columns, most=most)

    def plot(self, rule: int | None = None, *, ax: Any = None) -> Any:
        """Matplotlib axes: a rule's values with its bounds, or all rules against chance."""
        from sqrl.report._plot import plot_rule, plot_summary

        return plot_summary(self, ax) if rule is None else plot_rule(self, rule, ax)
