"""Labels and numbers of the rows that break rules, moved in turn until no rule asks for more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqrl._check.check import check
from sqrl._check.row_outcomes import evaluate_rows
from sqrl._check.violations import Violations
from sqrl._data.table import Table, take_rows
from sqrl._kernels.arrays import Array, Bools, Int64s
from sqrl._language.forms import Form
from sqrl._repair.feasible import all_intervals, binding, nearest_in_type
from sqrl._repair.labels import Labels, breaking
from sqrl._repair.original_types import decimal_places, number_type
from sqrl._repair.roles import Roles
from sqrl._rows.rows import Rows
from sqrl._rules.needed_columns import columns_of, names_in, parts_of
from sqrl._rules.ruleset import RuleSet

MOST_AT_ONCE = 1 << 22  # bounds, or classes, of all the rows that are repaired together
SWEEPS = 8

# The numbers in each column that may change; of the label the places of its classes.
Values = dict[str, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """What is repaired; `called` gives the name of a column in the data where it is another.

    `labels` are there only where rules may change the label, as a class. `computed` are columns
    that follow from others on the rows before.
    """

    arrow: pa.Table
    table: Table
    rules: RuleSet
    forms: Sequence[Form]
    roles: Roles
    label: str | None
    labels: Labels | None
    called: Mapping[str, str]
    computed: frozenset[str] = frozenset()

    def name(self, name: str) -> str:
        """What a column is called in the data."""
        return self.called.get(name, name)

    def check(self, places: Sequence[int], table: Table) -> Violations:
        """What becomes of some of the rules; the prediction is already in the label's place."""
        given = [name for name in table if name not in self.computed]  # the rest may be others now
        table = Table({name: table[name] for name in given}, table.n_rows, table.source)
        found = check(self.rules.take(np.array(places, np.int64)), table)
        return replace(found, label=self.label, prediction=self.called.get(self.label or ""))

    def forms_at(self, places: Sequence[int]) -> list[Form]:
        """The rules at these places of the rule set."""
        return [self.forms[place] for place in places]

    def is_class(self, name: str) -> bool:
        """Whether a column is the label, with classes that may change."""
        return self.labels is not None and name == self.label

    def start(self) -> Values:
        """The values as they were predicted."""
        values: Values = {name: self.table[name].values for name in self.roles.clip}
        if self.labels is not None:
            values[self.labels.column.name] = self.labels.places()
        return values

    def rows(self, values: Values) -> Rows:
        """The rows with these values in the columns that may change."""
        changed = {name: replace(self.table[name], values=values[name]) for name in values}
        if self.labels is not None:
            name = self.labels.column.name
            changed[name] = self.labels.column_of(values[name])
        table = Table({**self.table.columns, **changed}, self.table.n_rows, self.table.source)
        return Rows(table, self.rules.statistics())

    def take(self, rows: Int64s) -> "Repair":
        """The repair of only these rows, with the columns that its rules name."""
        names = columns_of(self.forms_at(self.roles.mended()), self.rules.statistics())
        labels = None if self.labels is None else self.labels.take(rows)
        return replace(self, table=take_rows(self.table, rows, names), labels=labels)

    def is_coupled(self) -> bool:
        """Whether a change can alter which rules apply to its row, or how."""
        clip, statistics = self.roles.clip, self.rules.statistics()
        may_change = {*clip, *([] if self.labels is None else [self.labels.column.name])}
        clipping = [form for places in clip.values() for form in self.forms_at(places)]
        conditions = [node for form in clipping for node in parts_of(form)[0]]
        if names_in(conditions, statistics) & may_change:
            return True
        return bool(columns_of(self.forms_at(self.roles.label), statistics) & clip.keys())

    def count_broken(self, values: Values) -> Int64s:
        """How many rules each row breaks."""
        found = evaluate_rows(self.forms_at(self.roles.mended()), self.rows(values))
        return np.bincount(found.row, minlength=self.table.n_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Mended:
    """New values, and of each row the rule that its value in a column is owed to, -1 for none.

    A row that is `unsettled` went in circles, one `without_gain` would have broken as many rules as
    before: both are as they were.
    """

    values: Values
    owed: dict[str, Int64s]
    unsettled: Bools
    without_gain: Bools


def mend(work: Repair, before: Violations) -> Mended:
    """The values that may change, with the rows repaired that break a rule."""
    counts, n_rows = before.row_counts(), work.table.n_rows
    values = {name: old.copy() for name, old in work.start().items()}
    owed = {name: np.full(n_rows, -1, np.int64) for name in values}
    mended = Mended(values, owed, np.zeros(n_rows, np.bool_), np.zeros(n_rows, np.bool_))
    for rows in _portions(np.flatnonzero(counts), work):
        part = _mend_rows(work.take(rows), counts[rows])
        for name, new in part.values.items():
            values[name][rows], owed[name][rows] = new, part.owed[name]
        mended.unsettled[rows], mended.without_gain[rows] = part.unsettled, part.without_gain
    return mended


def _portions(rows: Int64s, work: Repair) -> list[Int64s]:
    """The rows in portions that keep memory small, the more rules or classes the smaller."""
    n_classes = len(work.labels.names) if work.labels else 1
    step = max(1, MOST_AT_ONCE // max(1, n_classes, *map(len, work.roles.clip.values())))
    return [rows[first : first + step] for first in range(0, rows.size, step)]


def _mend_rows(work: Repair, counts: Int64s) -> Mended:
    """Repair some rows, which break so many rules.

    A row that would break as many rules as before is left as it was: nothing speaks for a change.
    """
    start = work.start()
    end, settled = _settle(work, start)
    left = work.count_broken(end)
    without_gain = _has_moved(start, end) & (left >= counts)
    end = {name: np.where(without_gain, start[name], end[name]) for name in end}
    if work.is_coupled():
        _take_back(work, start, end, left == 0)
    return Mended(end, _owed_to(work, start, end), ~settled, without_gain)


def _settle(work: Repair, start: Values) -> tuple[Values, Bools]:
    """The values after repair, and which rows settled; rows that did not are as they were.

    Each sweep moves the label, then each column, to what the rules that apply by now allow nearest
    to the *start*. That can go in circles where a change switches off the rule that asked for it;
    later sweeps therefore go on from where the row is, which moves further but mostly stops.
    """
    settled = np.ones(work.table.n_rows, np.bool_)
    if not work.is_coupled():
        return _sweep(work, start, start), settled
    now = {name: values.copy() for name, values in start.items()}
    moving = np.arange(work.table.n_rows)
    for sweep in range(2 * SWEEPS):
        here = {name: values[moving] for name, values in now.items()}
        first = {name: values[moving] for name, values in start.items()}
        new = _sweep(work.take(moving), here, first if sweep < SWEEPS else here)
        for name, values in new.items():
            now[name][moving] = values
        moving = moving[_has_moved(here, new)]
        if not moving.size:
            break
    settled[moving] = False
    return {name: np.where(settled, now[name], start[name]) for name in now}, settled


def _sweep(work: Repair, now: Values, start: Values) -> Values:
    """Every column that may change, moved once."""
    now = dict(now)
    if work.labels is not None:
        cost = work.labels.costs(work.forms_at(work.roles.label), work.rows(now))
        name = work.labels.column.name
        now[name] = work.labels.choose(cost, start[name])
    for name, places in work.roles.clip.items():
        lower, upper = all_intervals(work.forms_at(places), work.rows(now))
        held = work.arrow.schema.field(work.name(name)).type
        digits = decimal_places(held)
        dtype = number_type(held) if digits is None else digits
        now[name] = nearest_in_type(start[name], lower, upper, dtype)
    return now


def _take_back(work: Repair, start: Values, end: Values, kept: Bools) -> None:
    """Undo changes that turn out to be needless, on rows that keep every rule.

    One change can make another needless that came before it: the rule that asked for it no longer
    applies.
    """
    for name in end:
        needless = kept & (work.count_broken({**end, name: start[name]}) == 0)
        end[name] = np.where(needless, start[name], end[name])


def _has_moved(old: Values, new: Values) -> Bools:
    """The rows on which a number or the label is another."""
    return np.asarray(np.any([differs(old[name], new[name]) for name in old], axis=0))


def differs(old: Array, new: Array) -> Bools:
    """Where two columns are not the same, missing being the same as missing."""
    return np.asarray((old != new) & ~(np.isnan(old) & np.isnan(new)))


def _owed_to(work: Repair, start: Values, end: Values) -> dict[str, Int64s]:
    """The rule that each row's change is owed to, for each column; -1 where there is none."""
    rows = work.rows(end)
    owed: dict[str, Int64s] = {}
    for name, places in work.roles.clip.items():
        lower, upper = all_intervals(work.forms_at(places), rows)
        owed[name] = np.array([*places, -1])[binding(start[name], end[name], lower, upper)]
    if work.labels is None:
        return owed
    label, classes = work.labels.column.name, work.labels.classes()
    owed[label] = np.full(rows.n, -1, np.int64)
    for place in work.roles.label:
        which, broken = breaking(work.forms[place], rows, classes, label)
        breaks = np.zeros(classes.n + 1, np.bool_)  # and one for what is missing
        breaks[which] = True
        mended = broken & breaks[start[label]] & ~breaks[end[label]] & (owed[label] < 0)
        owed[label][mended] = place
    return owed
