"""From candidates to a RuleSet, without objects for what is enumerated by the million."""

from collections.abc import Sequence
from dataclasses import replace as replace_fields

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqrl._data.arrow_arrays import from_numpy, from_values, repeated
from sqrl._kernels.arrays import Array, Bools, Int32s, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Node
from sqrl._learn.bounds import Bounds
from sqrl._learn.bounds.logic import LogicMeasure
from sqrl._learn.selection import SELECTED, STATUSES, Learned
from sqrl._rules.rule_columns import COLUMNS, Pool, over_columns
from sqrl._rules.ruleset import RuleSet, concat_rules
from sqrl._rules.schema import Schema


def build_rules(learned: Sequence[Learned], schema: Schema, *, everything: bool) -> RuleSet:
    """The selected candidates as rules, the best first, or every candidate that can be said."""
    sets = []
    for template, part in enumerate(learned):
        chosen = np.flatnonzero(_can_be_said(part.bounds)) if everything else part.selected
        shared = _shared_columns(part, chosen, template)
        logic = isinstance(part.measure, LogicMeasure) and part.measure.literals(chosen[:1])
        if not logic:
            forms = [_finished(part, int(index)) for index in chosen]
            columns = {  # nan says that something is not known
                name: [None if value != value else value for value in column.tolist()]  # noqa: PLR0124
                for name, column in shared.items()
            }
            sets.append(RuleSet.from_forms(forms, **columns))
        else:
            sets.append(_logic_rules(part, chosen, shared))
    sets = [replace_fields(rules, schema=schema) for rules in sets]  # which says where bounds lack
    return sets[0] if len(sets) == 1 else concat_rules(sets)


def _finished(part: Learned, index: int) -> Form:
    """The rule of a candidate; of the selected, negations of one of two values name the other."""
    form = part.measure.form(index, part.bounds)
    if STATUSES[part.status[index]] != SELECTED:
        return form
    names: dict[Node, Node] = {}
    for family in part.candidates.template.families.values():
        names |= family.renamed()
    given, body = (
        tuple(names.get(node, node) for node in some) for some in (form.given, form.body)
    )
    return replace(form, given=given, body=body)


def _shared_columns(part: Learned, chosen: Int64s, template: int) -> dict[str, Array]:
    support = np.where(part.bounds.support < 0, 0, part.bounds.support)[chosen]
    columns: dict[str, Array] = {
        "coverage": np.full(chosen.size, part.candidates.template.coverage),
        "support": support.max(axis=1) if part.bounds.strict_lower is not None else support.sum(1),
        "jaccard": part.jaccard[chosen],
        "status": np.array(STATUSES, dtype=object)[part.status[chosen]],
        "template": np.full(chosen.size, template, np.int32),
    }
    if part.rows is not None:
        columns["rows"] = part.rows[chosen]
    return columns


def _can_be_said(bounds: Bounds) -> Bools:
    """Which candidates are sentences, if only with `?` for bounds that nothing supports.

    A bucket that is not there, a class without an interval of its own and values that are too
    few or too many are not.
    """
    is_interval = bounds.strict_lower is None and bounds.repeats is None
    there = bounds.support >= 0 if is_interval else ~np.isnan(bounds.lower)
    return np.asarray(there.any(axis=1))


def _logic_rules(part: Learned, chosen: Int64s, shared: dict[str, Array]) -> RuleSet:
    """Rules over enumerated conjunctions, column by column."""
    measure = part.measure
    assert isinstance(measure, LogicMeasure)
    found = measure.literals(chosen)
    assert found is not None
    family, literals = found
    form = part.candidates.template.form
    pool = Pool()
    n_literals = 2 * len(family.literals.features)
    formulas, names = [family.formula(literal) for literal in range(n_literals)], family.renamed()
    plain = np.array([pool.add(node) for node in formulas], np.int32)
    renamed = np.array([pool.add(names.get(node, node)) for node in formulas], np.int32)
    is_selected = part.status[chosen] == STATUSES.index(SELECTED)
    ids = np.where(is_selected[:, None], renamed[literals], plain[literals])
    heads = [pool.add(head) for head in measure.heads]
    given = [[pool.add(node) for node in condition] for condition in measure.grid.conditions]
    lower = part.bounds.lower[chosen, 0]
    upper = part.bounds.upper[chosen, 0]
    method = measure.method
    condition, which_head = measure.grid.which[chosen].tolist(), measure.which_head[chosen].tolist()
    columns = {
        "kind": repeated(form.kind, chosen.size, pa.string()),
        "given": from_values([given[i] for i in condition], pa.list_(pa.int32())),
        "statistic": repeated(form.statistic, chosen.size, pa.string()),
        "body": _lists(ids, literals >= 0),
        "head": from_values([heads[i] for i in which_head], pa.int32()),
        **{
            name: repeated(value, chosen.size, COLUMNS.field(name).type)
            for name, value in over_columns(form.over).items()
        },
        "lower": from_numpy(lower, np.isnan(lower) | (not method.has_lower)),
        "upper": from_numpy(upper, np.isnan(upper) | (not method.has_upper)),
    }
    for name, column in shared.items():
        if column.dtype.kind == "O":
            columns[name] = from_values(column.tolist(), COLUMNS.field(name).type)
        else:
            missing = np.isnan(column) if column.dtype.kind == "f" else None
            columns[name] = from_numpy(column, missing)
    for name in COLUMNS.names:
        if name not in columns:
            columns[name] = pa.nulls(chosen.size, COLUMNS.field(name).type)
    arrays = [columns[name] for name in COLUMNS.names]
    return RuleSet(pa.Table.from_arrays(arrays, schema=COLUMNS), pool.nodes())


def _lists(ids: Int32s, there: Bools) -> pa.ListArray:
    """The literals of each body, where there are any, as a list of node numbers."""
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(from_numpy(offsets), from_numpy(ids[there]))
