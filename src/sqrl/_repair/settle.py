"""Labels and numbers moved in turn until no rule asks for more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Array, Bools, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Node
from sqrl._repair.feasible import all_intervals, binding, nearest_in_type
from sqrl._repair.labels import Labels, breaking
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import names_in, parts_of

SWEEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class RepairTask:
    """What is to be repaired: rules by the column they clip, rules about the label, and the types.

    Rules stand with their places in the rule set; `named` is the label, where rules may change it.
    A column without a type is one of float64.
    """

    clip: Mapping[str, tuple[tuple[int, Form], ...]]
    label: tuple[tuple[int, Form], ...]
    named: str | None
    types: Mapping[str, np.dtype[Any] | None]
    statistics: Mapping[str, Node]

    def columns(self) -> list[str]:
        """What may change: columns of numbers, and the label."""
        return [*self.clip, *([] if self.named is None else [self.named])]

    def forms(self) -> list[Form]:
        """All the rules."""
        clip = [form for rules in self.clip.values() for _, form in rules]
        return [*(form for _, form in self.label), *clip]

    def is_coupled(self) -> bool:
        """Whether a change can alter which rules apply to its row, or how."""
        nodes = [
            node for rules in self.clip.values() for _, form in rules for node in parts_of(form)[0]
        ]
        if not names_in(nodes, self.statistics).isdisjoint(self.columns()):
            return True
        nodes = [node for _, form in self.label for part in parts_of(form) for node in part]
        return bool(names_in(nodes, self.statistics) & set(self.clip))


@dataclass(frozen=True, slots=True, eq=False)
class RowState:
    """The rows of a table as they are now, and the place of each row's label among the classes."""

    table: Table
    labels: Labels | None
    places: Int64s

    def take(self, rows: Int64s) -> "RowState":
        """Only these rows."""
        labels = None if self.labels is None else self.labels.take(rows)
        return RowState(self.table.take(rows), labels, self.places[rows])

    def values(self, name: str) -> Array:
        """The numbers in a column; of the label the places of its classes."""
        return self.places if self._is_label(name) else self.table[name].values

    def with_values(self, name: str, values: Array) -> "RowState":
        """These rows with other numbers in a column, or with other labels."""
        column = replace(self.table[name], values=values)
        if self.labels is not None and self._is_label(name):
            column = self.labels.column_of(values)
        columns = {**self.table.columns, name: column}
        table = Table(columns, self.table.n_rows, self.table.source)
        return RowState(table, self.labels, values if self._is_label(name) else self.places)

    def _is_label(self, name: str) -> bool:
        return self.labels is not None and name == self.labels.column.name


def start_state(table: Table, labels: Labels | None) -> RowState:
    """The rows as they were predicted."""
    if labels is None:
        return RowState(table, None, np.full(table.n_rows, -1, np.int64))
    places = labels.places()
    return RowState(table, labels, places).with_values(labels.column.name, places)


def settle(start: RowState, task: RepairTask) -> tuple[RowState, Bools]:
    """The rows after repair, and which of them settled; rows that did not are as they were.

    Each sweep moves the label, then each column, to what the rules that apply by now allow nearest
    to the *start*. That can go in circles where a change switches off the rule that asked for it;
    later sweeps therefore go on from where the row is, which moves further but mostly stops.
    """
    everyone = np.ones(start.table.n_rows, np.bool_)
    if not task.is_coupled():
        return _sweep(start, start, task), everyone
    now = start
    moving = np.arange(start.table.n_rows)
    for sweep in range(2 * SWEEPS):
        here = now.take(moving)
        new = _sweep(here, start.take(moving) if sweep < SWEEPS else here, task)
        moved = has_moved(here, new, task)
        now = _put(now, new, moving, task.columns())
        moving = moving[moved]
        if not moving.size:
            break
    everyone[moving] = False
    return _put(now, start.take(moving), moving, task.columns()), everyone


def _sweep(now: RowState, start: RowState, task: RepairTask) -> RowState:
    """Every column that may change, moved once."""
    if now.labels is not None and task.label:
        forms = [form for _, form in task.label]
        cost = now.labels.costs(forms, now.table, task.statistics)
        now = now.with_values(now.labels.column.name, now.labels.choose(cost, start.places))
    for name, rules in task.clip.items():
        lower, upper = all_intervals([form for _, form in rules], Rows(now.table, task.statistics))
        values = start.table[name].values
        now = now.with_values(name, nearest_in_type(values, lower, upper, task.types[name]))
    return now


def has_moved(old: RowState, new: RowState, task: RepairTask) -> Bools:
    """The rows on which a number or the label is another."""
    moved = np.zeros(old.table.n_rows, np.bool_)
    for name in task.columns():
        moved |= differs(old.values(name), new.values(name))
    return moved


def differs(old: Array, new: Array) -> Bools:
    """Where two columns are not the same, missing being the same as missing."""
    return np.asarray((old != new) & ~(np.isnan(old) & np.isnan(new)))


def _put(whole: RowState, part: RowState, rows: Int64s, names: Iterable[str]) -> RowState:
    """The whole with some columns of some rows replaced."""
    for name in names:
        values = whole.values(name).copy()
        values[rows] = part.values(name)
        whole = whole.with_values(name, values)
    return whole


def revert(start: RowState, end: RowState, rows: Bools, names: Iterable[str]) -> RowState:
    """The end state with some columns of some rows as they were at the start."""
    chosen = np.flatnonzero(rows)
    return _put(end, start.take(chosen), chosen, names)


def owed_to(start: RowState, end: RowState, task: RepairTask) -> dict[str, Int64s]:
    """The rule that each row's change is owed to, for each column; -1 where there is none."""
    rows = Rows(end.table, task.statistics)
    owed: dict[str, Int64s] = {}
    for name, rules in task.clip.items():
        lower, upper = all_intervals([form for _, form in rules], rows)
        which = binding(start.table[name].values, end.table[name].values, lower, upper)
        owed[name] = np.array([*(place for place, _ in rules), -1], np.int64)[which]
    if end.labels is None:
        return owed
    label, classes = end.labels.column.name, end.labels.classes()
    owed[label] = np.full(rows.n, -1, np.int64)
    for place, form in task.label:
        which, broken = breaking(form, rows, classes, label)
        breaks = np.zeros(len(end.labels.names) + 1, np.bool_)  # and one for what is missing
        breaks[which] = True
        mended = broken & breaks[start.places] & ~breaks[end.places] & (owed[label] < 0)
        owed[label][mended] = place
    return owed
