"""The schema `supervise`: rates of the label within facts, chosen for training a model by them.

A fact is a bucket of a number, a value of a category, or that a value is missing. Columns are taken
one after the other, each time the one that tells most of the label beyond those taken before (the
residuals' variance between its cells): so facts are diverse, and each adds something.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import bucket_formulas
from sqrl._language.names import name_text
from sqrl._language.printer import to_text
from sqrl._language.tree import And, Call, Compare, In, Known, Name, Node, Not
from sqrl._learn.propose import batch_size, free_holes, is_class_label, usual_coverage
from sqrl._learn.roles import Watched, check_label, watch
from sqrl._learn.schema_checks import as_unit, hide_column, unit_given
from sqrl._rows.rows import Rows, constant_of
from sqrl._rules.label import value_text
from sqrl._rules.schema import Schema, as_schema
from sqrl.errors import DataError

SUPERVISE = "supervise"
MOST_RULES = 300
BUCKETS = (8, 5, 3, 2)  # of a number: as many as the rules allowed leave room for
FEWEST_ROWS = 20  # behind a fact, unless `min_support` says otherwise
FEWEST_SHARE = 0.002  # of all rows: a rarer fact moves no model
LOOKED_AT = 20_000  # rows that columns are chosen by
FEWEST_TO_HOLD_OUT = 160  # rows of which a fifth can be held out
MOST_PAIRED = 8  # columns whose pairs are looked at
PENALTY = 2.0  # for each cell of a column, as Akaike's criterion has it


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The facts of one column: formulas of which at most one holds on a row, and which one does.

    Shapes: codes (n_rows,), -1 where none holds.
    """

    column: str
    formulas: tuple[Node, ...]
    codes: Int64s

    @property
    def needed(self) -> tuple[Node, ...]:
        """The formulas that have to be said: of two that fill all rows, one implies the other."""
        is_pair = len(self.formulas) == 2 and bool((self.codes >= 0).all())
        return self.formulas[1:] if is_pair else self.formulas


def propose_supervision(
    table: Table,
    *,
    label: str | None,
    valid: Table | None = None,
    unit: str | Sequence[str] | None = None,
    most: int = MOST_RULES,
    pairs: bool = False,
    min_support: int | None = None,
) -> Schema:
    """A schema of rates of the label within facts, or of its mean where it is a number.

    At most `most` rules. With `pairs` the rules that are left over go to pairs of facts that say
    more than both. Facts with fewer than `min_support` rows are left out.

    >>> from sqrl._data.table import as_table
    >>> ages = [(7 * row) % 60 + 20 for row in range(400)]
    >>> people = {"age": ages, "sick": ["yes" if age > 50 else "no" for age in ages]}
    >>> schema = propose_supervision(as_table(people), label="sick")
    >>> for sentence in schema.sentences:
    ...     print(sentence)
    ? <= rate(sick = Z) <= ? over 32
    ? <= precision(F => sick = Y) <= ? over 32
    >>> schema.let["F"][:2]
    ['age <= 27', '27 < age <= 34']
    """
    if label is None:
        raise DataError(
            "Rules to train a model by are about a label, and none is named.",
            where=table.source,
            fix="name the column: --label y, or label='y'",
        )
    check_label(table, label)
    whole = table
    for name in as_unit(unit):
        table = hide_column(table, name)
    target = _target(table[label])
    known = np.flatnonzero(~table[label].missing())
    rows = known[np.linspace(0, known.size - 1, min(known.size, LOOKED_AT)).astype(np.int64)]
    fewest = min_support or max(FEWEST_ROWS, int(FEWEST_SHARE * known.size))
    fewest = min(fewest, max(2, known.size // 8)) if min_support is None else fewest
    room = max(1, (most - target.n_rules) // max(1, target.n_rules))  # facts, a rule a class each
    seen = Rows(table, {})
    watched = [one for one in watch(table) if one.name != label]
    share = known.size / max(1, rows.size)
    facts = _facts(seen, watched, rows, room, fewest / share)
    chosen, residual = _choose(facts, target.values[rows], room)
    nodes = [node for one in chosen for node in one.needed]
    if pairs:
        nodes += _pairs(chosen, residual, room - len(nodes), fewest / share)
    if not nodes:
        raise DataError(
            f"No column tells anything of {label!r}, or none has enough rows for a fact.",
            where=table.source,
            fix="give more rows, or write a schema",
        )
    return _schema(whole, label, target, nodes, valid, as_unit(unit))


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The label as numbers, and the values of it that rules are about; none where it is a number.

    Shapes: values (n_rows, 1 or n_classes), each column with mean 0 and variance 1.
    """

    values: Floats
    classes: tuple[Any, ...]
    values_of_label: tuple[Any, ...] = ()  # all of them, of a label with classes

    @property
    def n_rules(self) -> int:
        """How many rules a fact makes."""
        return len(self.classes) or 1


def _target(column: Column) -> Target:
    if not is_class_label(column):
        values = column.values.astype(np.float64)[:, None]
        return Target((values - np.nanmean(values)) / (np.nanstd(values) or 1.0), ())
    distinct = column.distinct()
    chosen = distinct[1:] if len(distinct) == 2 else distinct
    if column.kind == "category":
        codes = [column.categories.index(str(value)) for value in chosen]
        hits = column.values[:, None] == np.array(codes)
    else:
        hits = column.values[:, None] == np.array(chosen, np.float64)
    share = hits[~column.missing()].mean(axis=0)
    return Target((hits - share) / np.sqrt(np.maximum(share * (1 - share), 1e-9)), chosen, distinct)


def _facts(
    seen: Rows, watched: Sequence[Watched], rows: Int64s, room: int, fewest: float
) -> list[Facts]:
    """The facts of each column, in as many buckets as there is room for."""
    made: list[Facts] = []
    for n_buckets in BUCKETS:
        made = facts_of(seen, watched, rows, n_buckets, fewest)
        if sum(len(one.needed) for one in made) <= 2 * room:
            break
    return made


def facts_of(
    seen: Rows, watched: Sequence[Watched], rows: Int64s, n_buckets: int, fewest: float
) -> list[Facts]:
    """The facts of each column that has any; no label has a part in them."""
    return [one for column in watched if (one := _of(seen, column, rows, n_buckets, fewest))]


def _of(seen: Rows, watched: Watched, rows: Int64s, n_buckets: int, fewest: float) -> Facts | None:
    """The facts of a column; None where it has none that tell rows apart."""
    column = watched.column.take(rows)
    subject: Node = Name(watched.name)
    is_date = watched.role == "date"
    if is_date:
        subject = Call("days", (subject,))
    formulas: list[Node] = []
    code = np.full(rows.size, -1, np.int64)
    if watched.role in {"number", "few"} or is_date:
        values = seen.numbers(subject)[rows]
        there = ~np.isnan(values)
        distinct = np.unique(values[there])
        if distinct.size > n_buckets:
            cuts = cut_at(values[there], n_buckets)
            formulas = bucket_formulas(subject, cuts)
            code[there] = np.searchsorted(cuts, values[there], "left")
        else:
            formulas = [Compare(subject, "=", constant_of(value_text(v))) for v in distinct]
            code[there] = np.searchsorted(distinct, values[there])
    elif watched.role == "category":
        formulas, code = _of_values(column, subject, fewest)
    missing = column.missing()
    if missing.sum() >= fewest and formulas:
        code[missing] = len(formulas)
        formulas.append(Not(Known(subject if not is_date else Name(watched.name))))
    counts = np.bincount(code[code >= 0], minlength=len(formulas))
    kept = np.flatnonzero(counts >= fewest)
    if kept.size < 1 or (counts == rows.size).any():
        return None
    places = np.full(len(formulas) + 1, -1)
    places[kept] = np.arange(kept.size)
    return Facts(watched.name, tuple(formulas[i] for i in kept), places[code])


def cut_at(values: Floats, n_buckets: int) -> Floats:
    """Values that cut others into about equal parts; each part has some.

    >>> cut_at(np.arange(9.0), 3).tolist()
    [2.0, 5.0]
    >>> cut_at(np.array([1.0, 2.0, 9.0, 9.0, 9.0, 9.0]), 2).tolist()  # half of them are the largest
    [2.0]
    """
    order = np.sort(values)
    places = np.arange(1, n_buckets) * order.size // n_buckets
    cuts = np.unique(order[np.maximum(places - 1, 0)])
    cuts = cuts[cuts < order[-1]]
    return np.asarray(cuts if cuts.size else order[order < order[-1]][-1:])


def _of_values(column: Column, subject: Node, fewest: float) -> tuple[list[Node], Int64s]:
    """A fact for each value that occurs often enough, and one for all others together."""
    codes = column.values.astype(np.int64)
    if column.kind != "category":  # booleans
        codes = np.where(column.missing(), -1, column.values).astype(np.int64)
        names: Sequence[Any] = ("false", "true")
    else:
        names = column.categories
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    often = np.flatnonzero(counts >= fewest)
    words = [constant_of(names[i]) for i in often.tolist()]
    formulas: list[Node] = [Compare(subject, "=", word) for word in words]
    places = np.full(len(names) + 1, -1, np.int64)
    places[often] = np.arange(often.size)
    made = places[codes]
    rest = (codes >= 0) & (made < 0)
    if often.size and rest.sum() >= fewest:
        made[rest] = len(formulas)
        formulas.append(Not(In(subject, tuple(words))))
    return formulas, made


def _choose(facts: list[Facts], target: Floats, room: int) -> tuple[list[Facts], Floats]:
    """Columns, one after the other, that tell most of what is left of the label; what is left.

    Columns that by themselves tell nothing of the label are left out.
    """
    chosen: list[Facts] = []
    residual = target - target.mean(axis=0)
    left = [one for one in facts if _gain(one, residual)[0] > 0]
    while left and room > 0:
        best = int(np.argmax([_gain(one, residual)[0] for one in left]))
        one = left.pop(best)
        if len(one.needed) > room:
            continue
        room -= len(one.needed)
        chosen.append(one)
        residual = residual - _gain(one, residual)[1]
    order = {one.column: place for place, one in enumerate(facts)}
    return sorted(chosen, key=lambda one: order[one.column]), residual


def _gain(facts: Facts, residual: Floats) -> tuple[float, Floats]:
    """What cells explain of the residuals, in chi-squares less a penalty; and what they predict."""
    n_cells = len(facts.formulas)
    cell = np.where(facts.codes < 0, n_cells, facts.codes)
    counts = np.bincount(cell, minlength=n_cells + 1)
    sums = np.stack([np.bincount(cell, one, minlength=n_cells + 1) for one in residual.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    spread = np.maximum(residual.var(axis=0), 1e-9)
    explained = float((counts[:, None] * means**2 / spread).sum())
    n_free = (np.count_nonzero(counts) - 1) * residual.shape[1]
    return explained - PENALTY * n_free, means[cell]


def _pairs(chosen: list[Facts], residual: Floats, room: int, fewest: float) -> list[Node]:
    """Pairs of facts that say more than both by themselves: the best first, as many as fit."""
    found: list[tuple[float, Node]] = []
    gains = [_gain(one, residual)[0] for one in chosen]
    best = [chosen[i] for i in np.argsort(gains)[::-1][:MOST_PAIRED]]
    for index, one in enumerate(best):
        for other in best[index + 1 :]:
            for i, first in enumerate(one.formulas):
                for j, second in enumerate(other.formulas):
                    inside = (one.codes == i) & (other.codes == j)
                    n_rows = int(inside.sum())
                    if n_rows >= fewest:
                        mean = residual[inside].mean(axis=0)
                        found.append((float((n_rows * mean**2).max()), And((first, second))))
    found.sort(key=lambda pair: -pair[0])
    return [node for gain, node in found[: max(0, room)] if gain > 2 * PENALTY]


def _schema(
    table: Table,
    label: str,
    target: Target,
    nodes: Sequence[Node],
    valid: Table | None,
    units: tuple[str, ...],
) -> Schema:
    hole, fact, every = free_holes(table, "YFZ")
    name = name_text(label)
    size = batch_size(table, valid)
    n_rows = table.n_rows
    held_out = valid is not None or n_rows >= FEWEST_TO_HOLD_OUT
    over = size if held_out and size else max(8, 1 << int(np.log2(max(16, n_rows) / 2)))
    made: dict[str, Any] = {
        "label": label,
        "coverage": usual_coverage(100),
        "let": {fact: [to_text(node) for node in nodes]},
        **unit_given(units),
        # Rates that train and held-out rows disagree about weigh less: see `centres`.
        "validate": {"epsilon": 0.99} if held_out else False,
        "bounds": {"min_support": 2},
    }
    if target.classes:
        each = hole if target.classes == target.values_of_label else every
        made["let"] = {hole: list(target.classes), **made["let"]}
        made["let"][each] = list(target.values_of_label)
        made["rules"] = [
            f"? <= rate({name} = {each}) <= ? over {over}",
            f"? <= precision({fact} => {name} = {hole}) <= ? over {over}",
        ]
    else:
        made["rules"] = [
            f"? <= mean({name}) <= ? over {over}",
            f"{fact} => ? <= mean({name}) <= ? over {over}",
        ]
    return as_schema(made)
