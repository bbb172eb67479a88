"""What a repair changed, left as it was, and left out, as tables that people read."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqrl._check.violations import Violations
from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Bools, Int64s
from sqrl._repair.mend import Mended, Repair
from sqrl._repair.original_types import with_numbers, with_words
from sqrl._repair.repaired import Repaired
from sqrl._repair.settle import differs
from sqrl._rules.label import class_names
from sqrl._rules.ruleset import RuleSet

CONTRADICTION = "the rules that apply contradict each other"
UNSETTLED = "changes went in circles"
NO_GAIN = "keeping it breaks another rule"
EVERY_CLASS = "every class breaks a rule"
NOT_ONE_CLASS = "not exactly one class is allowed"
NO_PROBABILITY = "the probability of a class is missing"


def make_result(work: Repair, mended: Mended, before: Violations) -> Repaired:
    """The predictions with what was mended put back in, and the account of it."""
    columns = {**work.table.columns, **mended.columns}
    table = Table(columns, work.table.n_rows, work.table.source)
    changed = {name: _changed(work, name, column) for name, column in mended.columns.items()}
    arrow = _put_back(work, mended.columns, changed)
    after = work.check(work.roles.mended(), table)
    return Repaired(
        table=arrow,
        changes=_changes(work, arrow, mended, changed),
        before=before,
        after=after,
        conflicts=_conflicts(work, mended, after),
        left_out=_left_out(work, table, is_changed=any(map(np.any, changed.values()))),
    )


def _changed(work: Repair, name: str, column: Column) -> Bools:
    if work.labels is not None and name == work.labels.column.name:
        same = work.labels.column_of(work.labels.places()).values == column.values
        return np.asarray(~same & ~column.missing())
    return differs(work.table[name].values, column.values)


def _put_back(
    work: Repair, columns: Mapping[str, Column], changed: Mapping[str, Bools]
) -> pa.Table:
    arrow = work.arrow
    for name, column in columns.items():
        where = changed[name]
        if not where.any():
            continue
        if work.labels is not None and name == work.labels.column.name:
            arrow = with_words(arrow, work.name(name), class_names(column.take(where)), where)
        else:
            arrow = with_numbers(arrow, work.name(name), column.values, where)
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
    order = np.argsort(np.concatenate(rows), kind="stable")
    rule = np.concatenate(owed)
    table = {
        "row": pa.array(np.concatenate(rows)),
        "column": pa.array(names, pa.string()),
        "before": pa.chunked_array(sides[0], pa.string()),
        "after": pa.chunked_array(sides[1], pa.string()),
        "rule": pa.array(rule, mask=rule < 0),
        "text": _rule_texts(work.rules, rule),
    }
    return pa.table(table).take(pa.array(order))


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
    order = np.argsort(row, kind="stable")
    table = {
        "row": row,
        "rule": rule,
        "text": _rule_texts(work.rules, rule),
        "reason": pa.array(reason.tolist(), pa.string()),
    }
    return pa.table(table).take(pa.array(order))


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
