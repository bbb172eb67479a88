"""The rows that break rules, repaired so many at a time that memory stays small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqrl._check.check import check
from sqrl._check.row_outcomes import evaluate_rows
from sqrl._check.sources import take_rows
from sqrl._check.violations import Violations
from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Array, Bools, Int64s
from sqrl._language.forms import Form
from sqrl._repair.labels import Labels
from sqrl._repair.original_types import number_type
from sqrl._repair.roles import Roles
from sqrl._repair.settle import (
    RepairTask,
    RowState,
    has_moved,
    owed_to,
    revert,
    settle,
    start_state,
)
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import RuleSet

MOST_AT_ONCE = 1 << 22  # bounds, or classes, of all the rows that are repaired together


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """What is repaired; `called` gives the name of a column in the data where it is another.

    `labels` are there only where the label may change, as a class.
    """

    arrow: pa.Table
    table: Table
    rules: RuleSet
    forms: Sequence[Form]
    roles: Roles
    label: str | None
    labels: Labels | None
    called: Mapping[str, str]

    def name(self, name: str) -> str:
        """What a column is called in the data."""
        return self.called.get(name, name)

    def check(self, places: Sequence[int], table: Table) -> Violations:
        """What becomes of some of the rules; the prediction is already in the label's place."""
        found = check(self.rules.take(np.array(places, np.int64)), table)
        return replace(found, label=self.label, prediction=self.called.get(self.label or ""))

    def task(self) -> RepairTask:
        """The rules and types that a repair of rows takes."""
        clip = {
            name: tuple((place, self.forms[place]) for place in places)
            for name, places in self.roles.clip.items()
            if places
        }
        types = {name: number_type(self.arrow.schema.field(self.name(name)).type) for name in clip}
        label = tuple((place, self.forms[place]) for place in self.roles.label)
        named = self.label if label else None
        return RepairTask(clip, label, named, types, self.rules.statistics())


@dataclass(frozen=True, slots=True, eq=False)
class Mended:
    """New columns, and of each row the rule that its value there is owed to.

    A row that is `unsettled` went in circles, one `without_gain` would have broken as many rules as
    before: both are as they were.
    """

    columns: Mapping[str, Column]
    owed: Mapping[str, Int64s]
    unsettled: Bools
    without_gain: Bools


def mend(work: Repair, before: Violations) -> Mended:
    """The columns that may change, with the rows repaired that break a rule."""
    task = work.task()
    labels = work.labels if task.label else None
    counts = before.row_counts()
    broken = np.flatnonzero(counts)
    parts = [
        _mend_rows(work, task, labels, rows, counts[rows])
        for rows in _portions(broken, task, labels)
    ]
    start, n_rows = start_state(work.table, labels), work.table.n_rows
    columns, owed = {}, {}
    for name in task.columns():
        ends = [end.values(name) for end, *_ in parts]
        values = _put_parts(start.values(name).copy(), broken, ends)
        columns[name] = start.with_values(name, values).table[name]
        rules = [why[name] for _, why, *_ in parts]
        owed[name] = _put_parts(np.full(n_rows, -1, np.int64), broken, rules)
    none = np.zeros(n_rows, np.bool_)
    unsettled = _put_parts(none.copy(), broken, [part[2] for part in parts])
    without_gain = _put_parts(none, broken, [part[3] for part in parts])
    return Mended(columns, owed, unsettled, without_gain)


def _put_parts(values: Array, rows: Int64s, parts: Sequence[Array]) -> Array:
    """The values with those of some rows, which come in parts, put in."""
    if parts:
        values[rows] = np.concatenate(parts)
    return values


def _portions(rows: Int64s, task: RepairTask, labels: Labels | None) -> list[Int64s]:
    """The rows in portions, the smaller the more rules or classes there are."""
    widest = max([1, *map(len, task.clip.values()), len(labels.names) if labels else 1])
    step = max(1, MOST_AT_ONCE // widest)
    return [rows[first : first + step] for first in range(0, rows.size, step)]


def _mend_rows(
    work: Repair, task: RepairTask, labels: Labels | None, rows: Int64s, counts: Int64s
) -> tuple[RowState, dict[str, Int64s], Bools, Bools]:
    """Repair some rows: the new state, the rule behind each change, and two masks of rows.

    The masks are of rows that did not settle, and of rows that would gain nothing.

    A row that would break as many rules as before is left as it was: nothing speaks for a change.
    """
    forms = task.forms()
    table = take_rows(work.table, rows, columns_of(forms, task.statistics))
    start = start_state(table, None if labels is None else labels.take(rows))
    end, settled = settle(start, task)
    left = _count_broken(end, task)
    without_gain = has_moved(start, end, task) & (left >= counts)
    end = revert(start, end, without_gain, task.columns())
    end = _take_back(start, end, left == 0, task)
    return end, owed_to(start, end, task), ~settled, without_gain


def _take_back(start: RowState, end: RowState, kept: Bools, task: RepairTask) -> RowState:
    """The end state without changes that turn out to be needless, of rows that keep every rule.

    One change can make another needless that came before it: the rule that asked for it no longer
    applies.
    """
    if not task.is_coupled():
        return end
    for name in task.columns():
        without = revert(start, end, kept, [name])
        needless = kept & has_moved(end, without, task) & (_count_broken(without, task) == 0)
        end = revert(start, end, needless, [name])
    return end


def _count_broken(state: RowState, task: RepairTask) -> Int64s:
    """How many rules each row breaks."""
    found = evaluate_rows(task.forms(), Rows(state.table, task.statistics))
    return np.bincount(found.row, minlength=state.table.n_rows)
