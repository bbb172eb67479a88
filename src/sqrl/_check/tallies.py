"""What a check counts of rows, in tallies that add up, wherever the rows are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._check.broken_rows import RowsFolder
from sqrl._check.probabilities import Probabilities, weighted_counts
from sqrl._check.row_outcomes import evaluate_rows
from sqrl._kernels.arrays import Float32s, Int32s, Int64s
from sqrl._kernels.sums import add_moments, start_moments
from sqrl._language.forms import Form
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State


@dataclass(frozen=True, slots=True)
class CountRows:
    """Counts rules about single rows: see `Outcomes`.

    Each chunk is looked at once: if asked, its broken pairs are also kept, or written to a folder,
    and rules are counted under predicted probabilities, which are of rows in memory.
    """

    forms: Sequence[Form]
    keeps_pairs: bool = False
    folder: RowsFolder | None = None
    predicted: Probabilities | None = None
    of: Of = "train"

    @property
    def piece_of(self) -> Int64s:
        """The rule of each piece."""
        n_pieces = [max(len(form.pieces), 1) for form in self.forms]
        return np.repeat(np.arange(len(self.forms)), n_pieces)

    def start(self) -> State:
        """Nothing counted."""
        return {
            "applicable": np.zeros(self.piece_of.size, np.int64),
            "broken": np.zeros(self.piece_of.size, np.int64),
            "excess": start_moments(len(self.forms)),
            "weighted": np.zeros((len(self.forms), 2)),  # applicable and broken rows to expect
            "files": np.zeros(1, np.int64),
        }

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        found = evaluate_rows(self.forms, rows)
        tally["applicable"] += found.applicable
        tally["broken"] += found.broken
        excess, rule = found.excess.astype(np.float64), found.rule.astype(np.int64)
        add_moments(excess, rule, tally["excess"])
        if self.keeps_pairs:
            tally[f"{first}/rule"], tally[f"{first}/excess"] = found.rule, found.excess
            tally[f"{first}/row"] = found.row + np.int32(first)
        if self.predicted is not None:
            here = self.predicted.take(slice(first, first + rows.n))
            counts = [weighted_counts(form, rows, here) for form in self.forms]
            tally["weighted"] += np.array(counts).reshape(-1, 2)
        if self.folder is not None:
            tally["files"] += self.folder.write(found, first, rows.n)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        both = {name: one[name] + other[name] for name in one.keys() & other.keys()}
        return {**one, **other, **both}

    def pairs(self, tally: State) -> tuple[Int32s, Int32s, Float32s]:
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
