"""What a reader should know of a check beside its counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from sqrl._check.columns_now import ColumnNow, unseen_text
from sqrl._check.p_values import Background
from sqrl._check.unit_tests import log_draws
from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Units, over_order
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rules.label import MOST_SHOWN, classes_of, value_text
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.job import State

FEW_UNITS = 1e-4  # a p-value that many rules together may need


def idle_notes(
    forms: Sequence[Form], n_rows: int, n_units: int, applicable: Int64s, p_value: Floats
) -> list[str]:
    """What a reader should know of rules that could not be checked.

    Rules about mini-batches are tested on all rows, however few; most have a p-value all the same.
    """
    notes = []
    is_tested = ~np.isnan(p_value) & np.array([not form.is_single for form in forms], np.bool_)
    for size in sorted({form.over for form in forms if form.over is not None}, key=over_order):
        there = Units(n_units) if isinstance(size, Units) else n_rows
        rows = "" if isinstance(size, Units) else " rows"
        if over_order(size) > over_order(there) and n_rows:
            mine = np.array([form.over == size for form in forms])
            tested, left = np.count_nonzero(mine & is_tested), np.count_nonzero(mine & ~is_tested)
            notes.append(
                f"{there:,}{rows} do not fill a mini-batch of {size:,}: "
                + (f"{tested:,} rules were tested on all rows together" if tested else "")
                + (", " if tested and left else "")
                + (f"{left:,} rules were not checked" if left else "")
            )
    idle = int(np.count_nonzero((applicable == 0) & ~is_tested))
    if idle and n_rows:
        notes.append(f"{idle:,} of {len(forms):,} rules applied to no sample")
    return notes


def untested_notes(background: Background, label: str | None) -> list[str]:
    """What a reader should know of rules that predictions cannot be tested against."""
    untested = sum(background.evidence[place] is None for place in background.predicted)
    if not untested:
        return []
    rules = "1 rule names" if untested == 1 else f"{untested:,} rules name"
    them = "it" if untested == 1 else "them"
    return [
        f"{rules} {label!r}, and predictions are not tested against {them}: learn with "
        "--prediction to do so"
    ]


def few_units_notes(n_old: int, n_new: int, unit: Sequence[str]) -> list[str]:
    """What a reader should know where units are too few for any change to be sure of.

    >>> few_units_notes(6, 2, ["drive"])
    ['2 units of drive are compared with 6: no p-value can be below 0.036, whatever has changed']
    >>> few_units_notes(600, 200, ["image"])
    []
    """
    least = exp(-log_draws(n_old + n_new, n_new)) if n_old and n_new else 1.0
    if least < FEW_UNITS or not n_new:
        return []
    units = f"{n_new:,} unit{'' if n_new == 1 else 's'} of {' and '.join(unit)}"
    are = "is" if n_new == 1 else "are"
    return [
        f"{units} {are} compared with {n_old:,}: no p-value can be below {least:.2g}, whatever has "
        "changed"
    ]


@dataclass(frozen=True, slots=True)
class LabelNotes:
    """Counts the rows without a label, or a prediction, and with one of which no rule speaks."""

    label: str
    called: str
    others: tuple[str | float | bool, ...]
    of: Of = "train"

    def start(self) -> State:
        """Nothing counted."""
        return {"missing": np.zeros(1, np.int64), "others": np.zeros(1, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        column = rows.table[self.label]
        values: list[Any] = [float(value) for value in self.others if not isinstance(value, str)]
        if column.kind == "category":
            values = [column.categories.index(str(value)) for value in self.others]
        tally["missing"] += np.count_nonzero(column.missing())
        tally["others"] += np.count_nonzero(np.isin(column.values, values))
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: values + other[name] for name, values in one.items()}

    def sentences(self, n_rows: int, tally: State) -> list[str]:
        """The notes, once the rows are counted."""
        notes = []
        n_missing, n_others = int(tally["missing"][0]), int(tally["others"][0])
        if n_missing:
            notes.append(f"{n_missing:,} of {n_rows:,} rows have no value in {self.called!r}")
        if self.others:
            shown = ", ".join(value_text(value) for value in self.others[:MOST_SHOWN])
            more = ", ..." if len(self.others) > MOST_SHOWN else ""
            notes.append(
                f"{n_others:,} of {n_rows:,} rows have a value in {self.called!r} of which no rule "
                f"speaks: {shown}{more}"
            )
        return notes


def label_notes(
    rules: RuleSet, whole: Table, label: str | None, prediction: str | None
) -> list[LabelNotes]:
    """What is to be counted of the label; nothing where rules name no class, or data no label.

    `whole` holds each value of the label at least once.
    """
    wanted = classes_of(rules, label) if label else []
    if label is None or not wanted or label not in whole or whole[label].kind == "other":
        return []
    distinct = whole[label].distinct()
    others = [value for value in distinct if value_text(value) not in wanted]
    few = tuple(others) if len(distinct) <= MOST_VALUES else ()
    return [LabelNotes(label, prediction or label, few)]


def unseen_notes(
    columns: Mapping[str, ColumnNow], n_rows: int, label: str | None, prediction: str | None
) -> list[str]:
    """Values never seen in training, of columns whose values rules list."""
    return [
        unseen_text(prediction if name == label and prediction else name, now, n_rows)
        for name, now in columns.items()
        if now.unseen
    ]
