"""Repaired, what repair gives: the predictions mended, what changed, and what could not be."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqrl._check.violations import Violations
from sqrl._data.html_table import html_table
from sqrl._data.table import Table
from sqrl._kernels.arrays import Bools, Int64s
from sqrl._language.short import wrapped
from sqrl._repair.mend import Mended, Repair, differs
from sqrl._repair.original_types import with_numbers, with_words
from sqrl._rules.label import class_names
from sqrl._rules.ruleset import RuleSet

CONTRADICTION = "the rules that apply contradict each other"
UNSETTLED = "changes went in circles"
NO_GAIN = "keeping it breaks another rule"
EVERY_CLASS = "every class breaks a rule"
NOT_ONE_CLASS = "not exactly one class is allowed"
NO_PROBABILITY = "the probability of a class is missing"
MOST_SHOWN = 20
BELOW = " " * 14  # how far lines that go on are indented
CAUTION = (
    "Predictions that keep every rule need not be right: hold them against the truth, and other "
    "ways of mending a model against these."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Repaired:
    """Predictions that keep the rules about single rows, as near as can be to those given.

    `table` has all columns and rows as given, but for the values changed. `changes` has a line for
    each of these: row (from 0), column, before, after, and the rule it is owed to. `before` and
    `after` are what `check` finds of the rules that were repaired. `conflicts` has a line for each
    of those that a row still breaks, and why; `left_out` one for each rule that is not repaired,
    why, and how often it was broken before and after.
    """

    table: pa.Table
    changes: pa.Table
    before: Violations
    after: Violations
    conflicts: pa.Table
    left_out: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def changed(self) -> dict[str, int]:
        """In how many rows each column changed, of those that did."""
        return dict(Counter(self.changes["column"].to_pylist()))

    @property
    def n_changed(self) -> int:
        """How many rows changed."""
        return int(np.unique(self.changes["row"].to_numpy()).size)

    @property
    def n_conflicts(self) -> int:
        """How many rows still break a rule that was to be repaired."""
        return int(np.unique(self.conflicts["row"].to_numpy()).size)

    def reasons(self) -> dict[str, int]:
        """How many rules were left out for each reason, the commonest first."""
        return dict(Counter(self.left_out["reason"].to_pylist()).most_common())

    def to_pandas(self) -> Any:
        """The repaired predictions as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, but for the predictions themselves."""
        return {
            "n_rows": len(self),
            "n_rules": len(self.after),
            "rows_changed": self.n_changed,
            "changed": self.changed,
            "violations_before": self.before.total,
            "violations_after": self.after.total,
            "rows_in_conflict": self.n_conflicts,
            "changes": self.changes.to_pylist(),
            "conflicts": self.conflicts.to_pylist(),
            "left_out": self.left_out.to_pylist(),
        }

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"{self.n_changed:,} of {_count(len(self), 'row')} changed; "
            f"{_count(self.before.total, 'violation')} of {_count(len(self.after), 'rule')} "
            f"before, {self.after.total:,} after; {_count(self.left_out.num_rows, 'rule')} left out"
        )

    def lines(self, *, width: int = 80) -> Iterator[str]:
        """The result as lines that fit a terminal."""
        n_rules = len(self.after) + self.left_out.num_rows
        yield f"{self.before.table.source}: {_count(len(self), 'row')}, {_count(n_rules, 'rule')}"
        yield f"{_count(len(self.after), 'rule', 11)} repaired"
        where = ", ".join(f"{name} {count:,}" for name, count in self.changed.items())
        changed = f"{_count(self.n_changed, 'row', 11)} changed"
        yield from wrapped(f"{changed}: {where}" if where else changed, width, rest=BELOW)
        yield f"{_count(self.before.total, 'violation', 11)} before"
        yield f"{_count(self.after.total, 'violation', 11)} after"
        for why, count in Counter(self.conflicts["reason"].to_pylist()).most_common():
            yield from wrapped(f"{count:>11,} left: {why}", width, rest=BELOW)
        yield from self._left_out_lines(width)
        yield ""
        yield from wrapped(CAUTION, width)

    def _left_out_lines(self, width: int) -> Iterator[str]:
        for reason, count in self.reasons().items():
            mine = np.array(self.left_out["reason"].to_pylist()) == reason
            before, after = (
                int(self.left_out[f"violations_{when}"].to_numpy()[mine].sum())
                for when in ("before", "after")
            )
            yield from wrapped(
                f"{_count(count, 'rule', 11)} left out: {reason}; "
                f"violations {before:,} before, {after:,} after",
                width,
                rest=BELOW,
            )

    def __repr__(self) -> str:
        return f"Repaired: {self.summary()}"

    def _repr_html_(self) -> str:
        shown = self.changes.slice(0, MOST_SHOWN)
        names = ("row", "column", "before", "after", "text")
        rows = [[_cell(line[name]) for name in names] for line in shown.to_pylist()]
        more = self.changes.num_rows - MOST_SHOWN
        table = html_table([*names[:-1], "rule"], rows)
        note = f"<p>and {more:,} more changes</p>" if more > 0 else ""
        return f"<p>{escape(self.summary())}</p>{table}{note}"


def _count(n: int, noun: str, width: int = 0) -> str:
    return f"{n:>{width},} {noun}{'' if n == 1 else 's'}"


def _cell(value: Any) -> str:
    return "" if value is None else escape(str(value))


def make_result(work: Repair, mended: Mended, before: Violations) -> Repaired:
    """The predictions with what was mended put back in, and the account of it."""
    table = work.rows(mended.values).table
    start = work.start()
    changed = {name: differs(start[name], mended.values[name]) for name in start}
    arrow = _put_back(work, table, changed)
    after = work.check(work.roles.mended(), table)
    return Repaired(
        table=arrow,
        changes=_changes(work, arrow, mended, changed),
        before=before,
        after=after,
        conflicts=_conflicts(work, mended, after),
        left_out=_left_out(work, table, is_changed=any(map(np.any, changed.values()))),
    )


def _put_back(work: Repair, table: Table, changed: Mapping[str, Bools]) -> pa.Table:
    arrow = work.arrow
    for name, where in changed.items():
        if where.any() and work.is_class(name):
            words = class_names(table[name].take(where))
            arrow = with_words(arrow, work.name(name), words, where)
        elif where.any():
            arrow = with_numbers(arrow, work.name(name), table[name].values, where)
    return arrow


def _changes(
    work: Repair, arrow: pa.Table, mended: Mended, changed: Mapping[str, Bools]
) -> pa.Table:
    """A line for each value that changed, by row."""
    rows, names, owed = [np.empty(0, np.int64)], [], [np.empty(0, np.int64)]
    sides: tuple[list[pa.Array], list[pa.Array]] = ([], [])
    for name, where in changed.items():
        found = np.flatnonzero(where)
        rows.append(found)
        owed.append(mended.owed[name][found])
        names += [work.name(name)] * found.size
        for side, source in zip(sides, (work.arrow, arrow), strict=True):
            side.append(_texts(source.column(work.name(name)), found))
    rule = np.concatenate(owed)
    table = {
        "row": pa.array(np.concatenate(rows)),
        "column": pa.array(names, pa.string()),
        "before": pa.chunked_array(sides[0], pa.string()),
        "after": pa.chunked_array(sides[1], pa.string()),
        "rule": pa.array(rule, mask=rule < 0),
        "text": _rule_texts(work.rules, rule),
    }
    return pa.table(table).sort_by("row")


def _texts(column: pa.ChunkedArray, rows: Int64s) -> pa.Array:
    """The values of some rows as text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.cast(column.take(pa.array(rows)).combine_chunks(), pa.string())


def _rule_texts(rules: RuleSet, places: Int64s) -> pa.Array:
    """The sentences of the rules at these places, each made once; null for -1."""
    used, which = np.unique(places, return_inverse=True)
    texts = [None if place < 0 else rules[int(place)].text for place in used]
    return pa.array(texts, pa.string()).take(pa.array(which))


def _conflicts(work: Repair, mended: Mended, after: Violations) -> pa.Table:
    """A line for each rule that a row still breaks, and why it does."""
    row = after.pair_row.astype(np.int64)
    rule = np.array(work.roles.mended(), np.int64)[after.pair_rule]
    reason = np.full(row.size, CONTRADICTION, object)
    if work.labels is not None:
        is_ranked = work.labels.probabilities is not None
        about = np.isin(rule, work.roles.label)
        reason[about] = EVERY_CLASS if is_ranked else NOT_ONE_CLASS
        reason[about & work.labels.unranked()[row]] = NO_PROBABILITY
    reason[mended.without_gain[row]] = NO_GAIN
    reason[mended.unsettled[row]] = UNSETTLED
    table = {
        "row": row,
        "rule": rule,
        "text": _rule_texts(work.rules, rule),
        "reason": pa.array(reason.tolist(), pa.string()),
    }
    return pa.table(table).sort_by("row")


def _left_out(work: Repair, table: Table, *, is_changed: bool) -> pa.Table:
    """A line for each rule that was not repaired, and how it fared."""
    places = list(work.roles.left_out)
    before = work.check(places, work.table)
    after = work.check(places, table) if is_changed else before
    return pa.table(
        {
            "rule": pa.array(places, pa.int64()),
            "text": pa.array(before.rules.texts(), pa.string()),
            "reason": pa.array(list(work.roles.left_out.values()), pa.string()),
            "violations_before": before.broken,
            "violations_after": after.broken,
        }
    )
