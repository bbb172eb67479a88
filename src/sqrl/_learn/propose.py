"""A default schema for a table nobody has written one for.

Every column is watched: missing values, values never seen, the usual range, what lies beyond all
that was seen, and its distribution; then what columns say of each other, as far as that was found
on a sample of the rows; then what the label depends on; then keys and rows that repeat.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from sqrl._data.table import Column, Table, as_table
from sqrl._learn.candidates import check_limit, make_templates
from sqrl._learn.draft import Draft, items_of, left_out
from sqrl._learn.relations.find import Relations, find_relations
from sqrl._learn.roles import UNIT, Watched, check_label, watch
from sqrl._learn.schema_checks import as_unit, hide_column, unit_given
from sqrl._learn.watched_sequences import take_moves, watch_in_order, watched_moves
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema, Validate, as_schema
from sqrl._rules.sequence_names import order_given
from sqrl.errors import DataError, LimitError

PROPOSED_FROM = 100_000  # rows; of more so many are drawn
BUDGET = 300_000  # candidates
ROWS_BUDGET = 1_000_000_000  # candidates times rows, for rules that look at each row
OVERHEAD = 5_000  # rows that a candidate costs whatever the table's size
FEWEST_ROWS = 20
MOST_CLASSES = 50  # of a label that is a whole number; of another number a fifth
MOST_PAIRS = 30  # columns that are watched together; of a wide table one for each column
MOST_PAIRS_WIDE = 60
SMALLEST_BATCH, LARGEST_BATCH = 16, 1024


def propose_schema(
    data: object,
    *,
    label: str | None = None,
    valid: Table | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    lacking: frozenset[str] | None = None,
    unit: str | Sequence[str] | None = None,
    order: str | list[str] | None = None,
    entity: str | list[str] | None = None,
) -> Schema:
    """A schema that watches every column, what columns say of each other, and the label.

    Columns that name the `unit` which rows belong to are not watched.

    `lacking` names the columns with missing values, where the table is only a part of the rows.
    With an `order`, and an `entity` where rows are of several, it also watches how far numbers move
    from one row to the next.

    >>> people = {"age": list(range(20, 80)) * 2, "sick": ["no", "no", "yes"] * 40}
    >>> for sentence in propose_schema(people, label="sick").sentences:
    ...     print(sentence)
    ? <= N <= ?
    C in ?
    known(K)
    ? <= N <= ?
    distance(N/10) <= ? over 16
    distance(C) <= ? over 16
    repeats(key(age, sick)) <= ? over 16
    """
    table, units = as_table(data), as_unit(unit)
    if label is not None:
        check_label(table, label)
    _check_rows(table)
    table, moves = take_moves(table, order, entity)
    for name in units:
        table = hide_column(table, name)
    watched = watch_in_order(watch(table), order, entity, label)
    if not any(one.role != "none" for one in watched):
        raise _no_schema(table)
    if lacking is None:
        lacking = frozenset(one.name for one in watched if one.n_missing)
    in_order = order_given(order, entity)
    for one in _choices(table, watched, label, valid, seed):
        schema = one.schema(lacking, watched_moves(moves, watched), in_order, units)
        if _fits(schema, table, budget):
            break
    if not units:
        return schema
    reasons = schema.left_out | dict.fromkeys(units, UNIT)
    return replace(schema, **unit_given(units), left_out=reasons)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A schema that a table could have: with all that was found of it, or with less."""

    table: Table
    watched: list[Watched]
    label: Watched | None
    relations: Relations
    batch: int

    def schema(
        self,
        lacking: frozenset[str],
        moves: Sequence[Watched],
        in_order: Mapping[str, Any],
        units: Sequence[str],
    ) -> Schema:
        """The templates in the order in which people read rules."""
        table, label = self.table, self.label
        coverage = usual_coverage(table.n_rows)
        draft = Draft(table, self.watched, label, self.batch, table.n_rows, coverage)
        is_classes = label is not None and is_class_label(label.column)
        per = draft.add_logic(self.relations) if is_classes else None
        draft.add_functions(self.relations)
        draft.add_narrow(self.relations)
        if label is not None and is_classes:
            sizes = np.unique(label.column.values[~label.column.missing()], return_counts=True)[1]
            draft.add_classes(self.relations, usual_coverage(int(np.median(sizes))))
        draft.add_ranges()
        draft.add_moves(moves)
        draft.add_bounded_pairs(self.relations, usual_coverage(table.n_rows // 4))
        draft.add_sets()
        draft.add_missing(lacking)
        draft.add_extremes()
        draft.add_shares(self.relations)
        draft.add_tested_pairs(self.relations)
        draft.add_repeats(units)
        made = {"let": draft.let, "rules": draft.rules, "left_out": left_out(self.watched)}
        return as_schema(
            {"coverage": coverage, "label": None if label is None else label.name}
            | dict(in_order)
            | made
            | ({"select": {"top": draft.top(), "per": per, "by": "informative"}} if per else {})
        )


def _choices(
    table: Table, watched: list[Watched], label: str | None, valid: Table | None, seed: int
) -> Iterator[_Choice]:
    """The richest schema first, then one without pairs, then one without relations."""
    target = next((one for one in watched if one.name == label), None)
    is_classes = target is not None and is_class_label(target.column)
    items = items_of(watched, target if is_classes else None)
    most = min(max(MOST_PAIRS, len(items)), MOST_PAIRS_WIDE)
    found = find_relations(table, items, label=label, most_pairs=most, seed=seed)
    batch = batch_size(table, valid)
    without = Relations((), found.functions, found.narrow, found.orders, found.of_label)
    for relations in (found, without, Relations()):
        yield _Choice(table, watched, target, relations, batch)


def _check_rows(table: Table) -> None:
    if table.n_rows < FEWEST_ROWS:
        rows = "1 row is" if table.n_rows == 1 else f"{table.n_rows} rows are"
        raise DataError(
            f"{rows} too few to propose a schema for.",
            where=table.source,
            fix=f"give {FEWEST_ROWS} rows or more, or write a schema (--schema)",
        )


def is_class_label(column: Column) -> bool:
    """Whether a label's values are classes, rather than numbers on a scale."""
    if column.kind != "number":
        return True
    distinct, present = len(column.distinct()), int((~column.missing()).sum())
    most = MOST_CLASSES if column.is_integer else MOST_CLASSES // 5
    return distinct == 2 or (distinct <= most and 5 * distinct <= present)


def batch_size(table: Table, valid: Table | None) -> int:
    """A power of two, at least twice in the held-out rows; 0 where those are too few."""
    held_out = round(table.n_rows * Validate().share)
    if valid is not None:
        held_out = min(valid.n_rows, table.n_rows)
    if held_out < SMALLEST_BATCH:
        return 0
    size = 1 << int(math.log2(held_out / 2))
    return min(max(size, SMALLEST_BATCH), LARGEST_BATCH)


def free_holes(table: Table, letters: str) -> list[str]:
    """A name for each hole that no column has: A, else A1, A2 and so on."""
    names = (
        [letter, *(f"{letter}{number}" for number in range(1, len(table.names) + 2))]
        for letter in letters
    )
    return [next(name for name in choice if name not in table) for choice in names]


def usual_coverage(n_samples: int) -> float:
    """The highest usual coverage that so many samples can bound, four fifths to learn from."""
    return next((share for share in (0.98, 0.95) if 0.8 * n_samples * (1 - share) >= 1), 0.9)


def _fits(schema: Schema, table: Table, budget: int) -> bool:
    """Whether the schema's candidates are few enough, also for the rows that they look at."""
    rows = Rows(table, {})
    with np.errstate(invalid="ignore"):  # infinite values are reported when learning begins
        templates = make_templates(schema, rows)
    try:
        check_limit(templates, budget)
    except LimitError:
        return False
    by_rows = sum(template.count() for template in templates if template.form.bounds_rows)
    return by_rows * (table.n_rows + OVERHEAD) <= ROWS_BUDGET


def _no_schema(table: Table) -> DataError:
    return DataError(
        "No column can be used: each is empty or of a type that no rule can speak of.",
        where=table.source,
        fix="give a table with numbers, categories, dates or text",
    )
