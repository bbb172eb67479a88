"""The schema `supervise`: what tells most of the label, for training a model by it.

Of a number its means within the classes of the label are stated (`number_terms`); of a category, or
a missing value, the rates of the classes where it holds: a fact. Columns are taken one after the
other, each time the one that tells most of the label beyond those taken before (the residuals'
variance between its cells). How finely numbers are told, and how strongly a model should hold
effects back, is tried out on the rows at hand (`try_training`). Of a label that is a number, the
means within facts are stated, buckets of numbers among them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sqrl._data.table import Column, Table, as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import bucket_formulas
from sqrl._language.names import name_text
from sqrl._language.printer import to_text
from sqrl._language.tree import And, Call, Compare, In, Known, Name, Node, Not, is_about_missing
from sqrl._learn.number_terms import number_terms
from sqrl._learn.propose import batch_size, free_holes, is_class_label, usual_coverage
from sqrl._learn.roles import Watched, check_label, watch
from sqrl._learn.schema_checks import as_unit, hide_column, unit_given
from sqrl._learn.try_training import TermsOfRows, Trial, try_training
from sqrl._rows.rows import Rows, constant_of
from sqrl._rules.label import value_text
from sqrl._rules.schema import Schema, as_schema
from sqrl.errors import DataError

SUPERVISE = "supervise"
MOST_RULES = 300
BUCKETS = (8, 5, 3, 2)  # of a number: as many as the rules allowed leave room for
KNOTS = (0, 1, 3)  # quantiles at which the effect of a number may bend: what does best is stated
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

    def take(self, rows: Int64s) -> "Facts":
        """The facts of some of the rows."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What can be stated of one column: rates within facts, means of numbers within classes.

    `cells` divide the rows by the column, and say how much it tells of the label.
    """

    cells: Facts
    facts: tuple[Node, ...]
    numbers: tuple[Node, ...] = ()

    def n_rules(self, target: "Target") -> int:
        """How many rules state it."""
        return len(self.facts) * target.n_rules + len(self.numbers) * len(target.values_of_label)


def propose_supervision(
    table: Any,
    *,
    label: str | None,
    valid: Table | None = None,
    unit: str | Sequence[str] | None = None,
    most: int = MOST_RULES,
    pairs: bool = False,
    means: bool = True,
    min_support: int | None = None,
) -> Schema:
    """A schema of what tells most of the label, or of its mean where it is a number.

    At most `most` rules. With `pairs` the rules that are left over go to pairs of facts that say
    more than both. Facts with fewer than `min_support` rows are left out. Without `means` numbers
    are told by rates within buckets, as they are where classes have too few rows.

    >>> ages = [(7 * row) % 60 + 20 for row in range(400)]
    >>> people = {"age": ages, "sick": ["yes" if age > 50 else "no" for age in ages]}
    >>> schema = propose_supervision(people, label="sick")
    >>> for sentence in schema.sentences:
    ...     print(sentence)
    ? <= rate(sick = Y) <= ? over 32
    sick = Y => ? <= mean(X) <= ? over 32
    >>> schema.let["X"]
    ['age', 'max(49, age)']
    """
    if label is None:
        raise DataError(
            "Rules to train a model by are about a label, and none is named.",
            fix="name the column: --label y, or label='y'",
        )
    whole = table = as_table(table)
    check_label(table, label)
    for name in as_unit(unit):
        table = hide_column(table, name)
    target = _target(table[label])
    known = np.flatnonzero(~table[label].missing())
    rows = known[np.linspace(0, known.size - 1, min(known.size, LOOKED_AT)).astype(np.int64)]
    fewest = min_support or max(FEWEST_ROWS, int(FEWEST_SHARE * known.size))
    fewest = min(fewest, max(2, known.size // 8)) if min_support is None else fewest
    seen = Rows(table, {})
    watched = [one for one in watch(table) if one.name != label]
    share = known.size / max(1, rows.size)
    looked = _Looked(seen, watched, rows, target, fewest / share, most)
    sizes = _Sizes.of(whole, valid)
    trial = None
    if means and target.classes and _has_enough(target, rows, sizes.of_means, min_support):
        told, trial = _best(looked)
    else:
        told = looked.buckets()
    chosen, residual = _choose(told, target, target.values[rows], looked.room)
    facts = [node for one in chosen for node in one.facts]
    numbers = [node for one in chosen for node in one.numbers]
    if pairs:
        room = (looked.room - sum(one.n_rules(target) for one in chosen)) // target.n_rules
        facts += _pairs([one.cells for one in chosen], residual, room, fewest / share)
    if not facts and not numbers:
        raise DataError(
            f"No column tells anything of {label!r}, or none has enough rows for a fact.",
            where=table.source,
            fix="give more rows, or write a schema",
        )
    stated = _Stated(facts, numbers, trial, known.size)
    return _schema(whole, label, target, stated, sizes, as_unit(unit))


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """The rows that columns are chosen by, and how many rules there may be."""

    seen: Rows
    watched: Sequence[Watched]
    rows: Int64s
    target: "Target"
    fewest: float
    most: int

    @property
    def room(self) -> int:
        """How many rules there may be beside the rate of each class."""
        return max(self.target.n_rules, self.most - max(1, len(self.target.values_of_label)))

    def buckets(self) -> list[Told]:
        """Each column by rates within facts, in as many buckets as there is room for."""
        made: list[Facts] = []
        room = max(1, self.room // self.target.n_rules)
        for n_buckets in BUCKETS:
            made = facts_of(self.seen, self.watched, self.rows, n_buckets, self.fewest)
            if sum(len(one.needed) for one in made) <= 2 * room:
                break
        return [Told(one, one.needed) for one in made]

    def means(self, n_knots: int) -> list[Told]:
        """Each number by means within classes, unless its few values tell as much."""
        made = []
        for column in self.watched:
            cells = _of(self.seen, column, self.rows, BUCKETS[0], self.fewest)
            if cells is None:
                continue
            subject: Node = Name(column.name)
            if column.role == "date":
                subject = Call("days", (subject,))
            elif column.role not in {"number", "few"}:
                made.append(Told(cells, cells.needed))
                continue
            values = self.seen.numbers(subject)[self.rows]
            values = values[~np.isnan(values)]
            if np.unique(values).size <= n_knots + 2:
                made.append(Told(cells, cells.needed))
                continue
            missing = tuple(one for one in cells.formulas if is_about_missing(one))
            made.append(Told(cells, missing, tuple(number_terms(subject, values, n_knots))))
        return made


def _has_enough(target: "Target", rows: Int64s, over: int, min_support: int | None) -> bool:
    """Whether means within classes rest on enough rows, in all rows and in a mini-batch."""
    counts = np.bincount(target.codes[rows], minlength=len(target.values_of_label))
    in_batch = over * counts.min() / max(1, rows.size)
    return min_support is None or min(in_batch, float(counts.min())) >= min_support


def _best(looked: _Looked) -> tuple[list[Told], Trial]:
    """The columns told as finely as does best when models are trained by it."""
    tried: list[tuple[list[Told], Trial]] = []
    for n_knots in KNOTS:
        told = looked.means(n_knots)
        near = tried[-1][1].strength if tried else 1.0
        tried.append((told, _try(looked, told, near)))
    return min(tried, key=lambda one: one[1].cost)


def _try(looked: _Looked, told: list[Told], near: float) -> Trial:
    """How well a model does that is trained by what is told, in rooms of the same size."""
    target, rows = looked.target, looked.rows
    terms: dict[Node, Floats] = {}
    for one in told:
        for node in one.facts:
            terms[node] = looked.seen.all_true((node,))[rows].astype(np.float64)
        for node in one.numbers:
            terms[node] = looked.seen.numbers(node)[rows]

    def terms_of(some: Int64s) -> TermsOfRows:
        part = [replace(one, cells=one.cells.take(some)) for one in told]
        chosen, _ = _choose(part, target, target.values[rows[some]], looked.room)
        facts = [node for one in chosen for node in one.facts]
        nodes = facts + [node for one in chosen for node in one.numbers]
        made = np.zeros((rows.size, 0))
        if nodes:
            made = np.stack([terms[node] for node in nodes], axis=1)
        is_missing = np.array([is_about_missing(node) for node in nodes], np.bool_)
        return TermsOfRows(made, len(facts), is_missing)

    n_classes = len(target.values_of_label)
    return try_training(terms_of, target.codes[rows], n_classes, near=near)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The label as numbers, and the values of it that rules are about; none where it is a number.

    Shapes: values (n_rows, 1 or n_classes), each column with mean 0 and variance 1; codes (n_rows,)
    are places among all values, -1 where there is none.
    """

    values: Floats
    classes: tuple[Any, ...]
    values_of_label: tuple[Any, ...] = ()  # all of them, of a label with classes
    codes: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

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
        every = np.array([column.categories.index(str(value)) for value in distinct])
    else:
        every = np.array(distinct, np.float64)
    hits = column.values[:, None] == every
    codes = np.where(hits.any(axis=1), hits.argmax(axis=1), -1)
    hits = hits[:, -len(chosen) :]
    share = hits[~column.missing()].mean(axis=0)
    values = (hits - share) / np.sqrt(np.maximum(share * (1 - share), 1e-9))
    return Target(values, chosen, distinct, codes)


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


def _choose(
    told: list[Told], target: Target, values: Floats, room: int
) -> tuple[list[Told], Floats]:
    """Columns, one after the other, that tell most of what is left of the label; what is left.

    Facts that by themselves tell nothing of the label are left out; of numbers whose means are
    stated, many that tell little may tell something together. There is room for so many rules.
    """
    chosen: list[Told] = []
    residual = values - values.mean(axis=0)
    left = [one for one in told if one.numbers or _gain(one.cells, residual)[0] > 0]
    while left and room > 0:
        best = int(np.argmax([_gain(one.cells, residual)[0] for one in left]))
        one = left.pop(best)
        if one.n_rules(target) > room:
            continue
        room -= one.n_rules(target)
        chosen.append(one)
        residual = residual - _gain(one.cells, residual)[1]
    order = {one.cells.column: place for place, one in enumerate(told)}
    return sorted(chosen, key=lambda one: order[one.cells.column]), residual


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


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Rows of a mini-batch of rates, of one of means within classes; and are rows held out?"""

    of_rates: int
    of_means: int
    held_out: bool

    @classmethod
    def of(cls, table: Table, valid: Table | None) -> "_Sizes":
        n_rows = table.n_rows
        held_out = valid is not None or n_rows >= FEWEST_TO_HOLD_OUT
        size = batch_size(table, valid)
        if not held_out or not size:
            few = max(8, 1 << int(math.log2(max(16, n_rows) / 2)))
            return cls(few, few, held_out)
        others = round(0.2 * n_rows) if valid is None else min(valid.n_rows, n_rows)
        return cls(size, max(size, 1 << int(math.log2(max(2, others) / 2))), held_out)


@dataclass(frozen=True, slots=True, eq=False)
class _Stated:
    """What the rules are about, and what did best when models were trained by it."""

    facts: Sequence[Node]
    numbers: Sequence[Node]
    trial: Trial | None
    n_rows: int


def _schema(
    table: Table,
    label: str,
    target: Target,
    stated: _Stated,
    sizes: _Sizes,
    units: tuple[str, ...],
) -> Schema:
    hole, fact, every, number = free_holes(table, "YFZX")
    name = name_text(label)
    over = sizes.of_rates
    made: dict[str, Any] = {
        "label": label,
        "coverage": usual_coverage(100),
        "let": {},
        **unit_given(units),
        # Rates that train and held-out rows disagree about weigh less: see `centres`.
        "validate": {"epsilon": 1.0} if sizes.held_out else False,
        "bounds": {"min_support": 2},
    }
    if stated.facts:
        made["let"][fact] = [to_text(node) for node in stated.facts]
    if not target.classes:
        made["rules"] = [
            f"? <= mean({name}) <= ? over {over}",
            f"{fact} => ? <= mean({name}) <= ? over {over}",
        ]
        return as_schema(made)
    is_same = target.classes == target.values_of_label or not stated.facts
    each = hole if is_same else every
    made["let"] = {each: list(target.values_of_label), **made["let"]}
    made["rules"] = [f"? <= rate({name} = {each}) <= ? over {over}"]
    if stated.facts:
        made["let"] |= {} if is_same else {hole: list(target.classes)}
        made["rules"].append(f"? <= precision({fact} => {name} = {hole}) <= ? over {over}")
    if stated.numbers:
        made["let"][number] = [to_text(node) for node in stated.numbers]
        sentence = f"{name} = {each} => ? <= mean({number}) <= ? over {sizes.of_means}"
        made["rules"].append(sentence)
    if stated.trial is not None:
        strength = stated.trial.strength / math.sqrt(stated.n_rows)
        made["train"] = {
            "strength": float(f"{strength:.3g}"),
            "scale": float(f"{stated.trial.scale:.3g}"),
        }
    return as_schema(made)
