"""The schema `supervise`: what tells most of the label, for training a model by it.

Of a number its means within the classes of the label are stated (`number_terms`); of a category, or
a missing value, the rates of the classes where it holds: a fact. Columns are taken one after the
other, each time the one that tells most of the label beyond those taken before (the residuals'
variance between its cells). How finely numbers are described, whether pairs of facts help, and how
strongly a model should shrink effects are tried out on the rows at hand (`supervise_trials`). Of a
label that is a number, the means within facts are stated, buckets of numbers among them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Int64s
from sqrl._language.names import name_text
from sqrl._language.printer import to_text
from sqrl._language.tree import Node
from sqrl._learn.column_terms import Target, choose_columns, target_of
from sqrl._learn.productive_pairs import productive_pairs
from sqrl._learn.propose import batch_size, free_holes, usual_coverage
from sqrl._learn.roles import check_label, watch
from sqrl._learn.schema_checks import as_unit, hide_column, unit_given
from sqrl._learn.supervise_trials import (
    TrialData,
    best_pairs,
    best_terms,
    cells_of_pairs,
    pair_formula,
)
from sqrl._learn.try_training import Trial
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema, as_schema
from sqrl.errors import DataError

SUPERVISE = "supervise"
MOST_RULES = 300
FEWEST_ROWS = 20  # behind a fact, unless `min_support` says otherwise
FEWEST_SHARE = 0.002  # of all rows: a rarer fact moves no model
LOOKED_AT = 20_000  # rows that columns are chosen by
FEWEST_TO_HOLD_OUT = 160  # rows of which a fifth can be held out


def propose_supervision(
    table: Any,
    *,
    label: str | None,
    valid: Table | None = None,
    unit: str | Sequence[str] | None = None,
    most: int = MOST_RULES,
    pairs: bool | None = None,
    means: bool = True,
    min_support: int | None = None,
) -> Schema:
    """A schema of what tells most of the label, or of its mean where it is a number.

    At most `most` rules. What is left of them goes to pairs of facts that say more than their
    parts, where models trained by them do better; with `pairs=True` also where that is not tried
    out (without `means`, and of a label that is a number). Facts with fewer than `min_support`
    rows are left out. Without `means` numbers are stated by rates within buckets, as they are where
    classes have too few rows.

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
    target = target_of(table[label])
    known = np.flatnonzero(~table[label].missing())
    rows = known[np.linspace(0, known.size - 1, min(known.size, LOOKED_AT)).astype(np.int64)]
    fewest = min_support or max(FEWEST_ROWS, int(FEWEST_SHARE * known.size))
    fewest = min(fewest, max(2, known.size // 8)) if min_support is None else fewest
    seen = Rows(table, {})
    watched = [one for one in watch(table) if one.name != label]
    share = known.size / max(1, rows.size)
    data = TrialData(seen, watched, rows, target, fewest / share, most)
    sizes = _Sizes.of(whole, valid)
    trial = None
    paired: list[Node] = []
    if means and target.classes and _has_enough(target, rows, sizes.of_means, min_support):
        columns, trial = best_terms(data)
        if pairs is not False:
            paired, trial = best_pairs(data, columns, trial)
    else:
        columns = data.buckets()
    chosen, residual = choose_columns(columns, target, target.values[rows], data.room)
    facts = [node for one in chosen for node in one.facts]
    numbers = [node for one in chosen for node in one.numbers]
    if pairs and trial is None:
        cells = cells_of_pairs(data)
        variance = np.broadcast_to(residual.var(axis=0), residual.shape)
        room = data.room_beside(chosen)
        codes = [one.codes for one in cells]
        found = productive_pairs(codes, residual, variance, fewest=data.fewest, most=room)
        paired = [pair_formula(cells, one) for one in found]
    facts += paired
    if not facts and not numbers:
        raise DataError(
            f"No column tells anything of {label!r}, or none has enough rows for a fact.",
            where=table.source,
            fix="give more rows, or write a schema",
        )
    stated = _Stated(facts, numbers, trial, known.size)
    return _schema(whole, label, target, stated, sizes, as_unit(unit))


def _has_enough(target: Target, rows: Int64s, over: int, min_support: int | None) -> bool:
    """Whether means within classes rest on enough rows, in all rows and in a mini-batch."""
    counts = np.bincount(target.codes[rows], minlength=len(target.values_of_label))
    in_batch = over * counts.min() / max(1, rows.size)
    return min_support is None or min(in_batch, float(counts.min())) >= min_support


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
