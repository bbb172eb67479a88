"""What a reader should know of a check beside its counts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Table
from sqrl._language.forms import Form
from sqrl._rules.label import MOST_SHOWN, classes_of, value_text
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.job import State

Ints = NDArray[np.int64]


def idle_notes(forms: Sequence[Form], n_rows: int, applicable: Ints) -> list[str]:
    """What a reader should know of rules that could not be checked."""
    notes = []
    for size in sorted({form.over for form in forms if form.over is not None}):
        if size > n_rows > 0:
            count = sum(form.over == size for form in forms)
            notes.append(
                f"{n_rows:,} rows do not fill a mini-batch of {size:,}: "
                f"{count:,} rules were not checked"
            )
    idle = int(np.count_nonzero(applicable == 0))
    if idle and n_rows:
        notes.append(f"{idle:,} of {len(forms):,} rules applied to no sample")
    return notes


@dataclass(frozen=True, slots=True)
class LabelNotes:
    """What to know of the label, or of the prediction in its place: missing and unknown values."""

    name: str
    others: tuple[str | float | bool, ...]  # values of which no rule speaks

    @classmethod
    def of(
        cls, rules: RuleSet, whole: Table, label: str | None, called: str | None
    ) -> "LabelNotes | None":
        """What is to be counted; None where the rules speak of no class, or data has no label.

        `whole` holds each value of the label at least once, `called` is the prediction's name.
        """
        wanted = classes_of(rules, label) if label else []
        if label is None or not wanted or label not in whole or whole[label].kind == "other":
            return None
        distinct = whole[label].distinct()
        if len(distinct) > MOST_VALUES:
            return cls(called or label, ())
        others = [value for value in distinct if value_text(value) not in wanted]
        return cls(called or label, tuple(others))

    def sentences(self, n_rows: int, counted: State) -> list[str]:
        """The notes, once the rows are counted: see `CountLabels`."""
        n_missing, n_others = int(counted["missing"][0]), int(counted["listed"][0])
        notes = []
        if n_missing:
            notes.append(f"{n_missing:,} of {n_rows:,} rows have no value in {self.name!r}")
        if self.others:
            shown = ", ".join(value_text(value) for value in self.others[:MOST_SHOWN])
            more = ", ..." if len(self.others) > MOST_SHOWN else ""
            notes.append(
                f"{n_others:,} of {n_rows:,} rows have a value in {self.name!r} of which no rule "
                f"speaks: {shown}{more}"
            )
        return notes
