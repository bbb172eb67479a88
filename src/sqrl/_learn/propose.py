"""A default schema for a table nobody has written one for.

For a label with classes: an interval of every number within every class, and the F1 of conjunctions
of facts for every class. For a label that is a number: its range under every fact. With no label:
the range of every number, and of every number given another. As many literals and pairs as the
budget allows.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Column, Table
from sqrl._language.printer import name_text
from sqrl._learn.candidates import check_limit, make_templates
from sqrl._learn.domains import MOST_LITERALS
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Entry, Schema, Select, Validate
from sqrl.errors import DataError, LimitError

BUDGET = 300_000  # candidates
ROWS_BUDGET = 300_000_000  # candidates times rows, for rules that look at each row
OVERHEAD = 5_000  # rows that a candidate costs whatever the table's size
FEWEST_ROWS = 20
MOST_CLASSES = 50  # of a label that is a whole number; of another number a fifth
MOST_COLUMNS = 60  # in literals
MOST_PAIRED = 30  # numbers to bound given each other: the rules are too many to read otherwise
SMALLEST_BATCH, LARGEST_BATCH = 16, 4096
FEW_VALUES = 10  # a number with no more has a literal for each
TOP = 50


def propose_schema(
    table: Table, *, label: str | None = None, valid: Table | None = None, budget: int = BUDGET
) -> Schema:
    """A schema of conditional intervals and logic rules that fits the table and the budget.

    >>> from sqrl._data.table import as_table
    >>> people = as_table({"age": list(range(20, 80)) * 2, "sick": ["no", "no", "yes"] * 40})
    >>> for sentence in propose_schema(people, label="sick").rules:
    ...     print(sentence)
    sick = Y => ? <= A <= ?
    ? <= f1(L{1..3} => sick = Y) <= ? over 16
    """
    if label is not None:
        check_label(table, label)
    others = [column for column in table.columns.values() if column.name != label]
    usable = [column for column in others if is_usable(column)]
    _check_rows(table)
    draft = _Draft(table, valid, usable)
    if label is None:
        choices = draft.for_all()
    elif is_class_label(table[label]):
        choices = draft.for_classes(table[label])
    else:
        choices = draft.for_number(table[label])
    proposed = None
    for proposed in choices:
        if _fits(proposed, table, budget):
            break
    if proposed is None:
        raise _no_schema(table, usable, label)
    return proposed


def check_label(table: Table, label: str, *, n_present: int | None = None) -> None:
    """Raise where the column cannot be a label: it must tell rows apart, and not be their name.

    `n_present` is how many rows have one, where the table holds each value only once.
    """
    column = table[label]
    distinct = column.distinct() if column.kind != "other" else ()
    what, fix = None, "choose another --label"
    if not distinct:
        what = f"The label {label!r} has no values that can be used."
        fix = "use a column of numbers or categories"
    elif len(distinct) == 1:
        what = f"The label {label!r} is {distinct[0]} in every row: there is nothing to tell."
        fix = "use a column with at least two values"
    elif column.kind == "category" and _is_name(column, len(distinct), n_present):
        what = f"The label {label!r} is different in every row."
    elif column.kind == "category" and len(distinct) > MOST_VALUES:
        what = f"The label {label!r} has {len(distinct):,} categories, more than {MOST_VALUES:,}."
    if what:
        raise DataError(what, where=table.source, fix=fix)


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


def is_usable(column: Column) -> bool:
    """Whether a column can tell rows apart and is more than a row's name or number."""
    if column.kind == "other":
        return False
    distinct = len(column.distinct())
    if column.kind == "category" and distinct > MOST_LITERALS:
        return False
    return distinct >= 2 and not _is_name(column, distinct)


def _is_name(column: Column, distinct: int, n_present: int | None = None) -> bool:
    """Whether a column names or numbers the rows: it is different in each of them.

    Incomes in whole numbers may be too, but they are neither sorted, nor dense, nor called id.
    """
    values = column.values[~column.missing()]
    if distinct < (n_present or values.size) or distinct <= 20:
        return False
    if column.kind == "category":
        return True
    steps = np.diff(values)
    sorted_up_or_down = bool((steps > 0).all() or (steps < 0).all())
    dense = float(np.ptp(values)) < 2 * distinct
    called = column.name.casefold().replace("_", " ").split()[-1:] in (["id"], ["index"], ["key"])
    return column.is_integer and (sorted_up_or_down or dense or called)


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """The schemas that a table could have, the richest first."""

    table: Table
    valid: Table | None
    usable: list[Column]

    def for_classes(self, label: Column) -> Iterator[Schema]:
        """Intervals of numbers within each class, and conjunctions of facts that imply it."""
        name, (y, a, literals) = name_text(label.name), free_holes(self.table, "YAL")
        rules: list[str] = []
        let: dict[str, str | list[Entry]] = {y: f"values({name})"}
        if self._measures():
            let[a] = self._measures()
            rules.append(f"{name} = {y} => ? <= {a} <= ?")
        sizes = np.unique(label.values[~label.missing()], return_counts=True)[1]
        make = partial(
            Schema,
            label=label.name,
            coverage=_coverage(int(np.median(sizes))),
            select=Select(top=TOP, per=y),
        )
        n_rows = self._batch_size() if self.usable else 0
        for most in (3, 2, 1) if n_rows else ():
            logic = f"? <= f1({literals}{{1..{most}}} => {name} = {y}) <= ? over {n_rows}"
            yield make(rules=(*rules, logic), let={**let, literals: self._literals()})
        if rules:
            yield make(rules=tuple(rules), let=let)

    def for_number(self, label: Column) -> Iterator[Schema]:
        """The range of the label, by itself and under one or two facts."""
        name, (hole,) = name_text(label.name), free_holes(self.table, "L")
        make = partial(
            Schema,
            label=label.name,
            coverage=_coverage(self.table.n_rows // 10),
            select=Select(top=TOP, by="width"),
        )
        plain = f"? <= {name} <= ?"
        for body in (f"{hole}{{1..2}}", hole) if self.usable else ():
            yield make(rules=(plain, f"{body} => {plain}"), let={hole: self._literals()})
        yield make(rules=(plain,))

    def for_all(self) -> Iterator[Schema]:
        """The range of every number, by itself and given another."""
        numbers, (a, b) = self._measures(), free_holes(self.table, "AB")
        make = partial(Schema, coverage=_coverage(self.table.n_rows // 4))
        plain = f"? <= {a} <= ?"
        if 1 < len(numbers) <= MOST_PAIRED:
            yield make(rules=(plain, f"? <= {b} <= ? by {a}/4"), let={a: numbers, b: numbers})
        if numbers:
            yield make(rules=(plain,), let={a: numbers})

    def _measures(self) -> list[Entry]:
        return [name_text(column.name) for column in self.usable if _is_measure(column)]

    def _literals(self) -> str:
        """`age/8` for a number with many values, the plain name for one with few."""
        n_buckets = 4 if len(self.usable) > 20 else 8
        parts = [
            name_text(column.name) + (f"/{n_buckets}" if _is_measure(column) else "")
            for column in self.usable[:MOST_COLUMNS]
        ]
        return f"literals({', '.join(parts)})"

    def _batch_size(self) -> int:
        """A power of two, at least twice in the held-out rows; 0 where those are too few."""
        held_out = round(self.table.n_rows * Validate().share)
        if self.valid is not None:
            held_out = min(self.valid.n_rows, self.table.n_rows)
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


def _is_measure(column: Column) -> bool:
    return column.kind == "number" and len(column.distinct()) > FEW_VALUES


def _coverage(n_samples: int) -> float:
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


def _no_schema(table: Table, usable: list[Column], label: str | None) -> DataError:
    if not usable:
        return DataError(
            "No column can be used: each is constant, an identifier, or of another type.",
            where=table.source,
            fix="give a table with numbers or categories",
        )
    if label is None:
        fix = "give a --label"
        return DataError("The table has no numbers to bound.", where=table.source, fix=fix)
    return DataError(
        f"There are no numbers to bound, and {table.n_rows:,} rows are too few for mini-batches.",
        where=table.source,
        fix=f"give {round(SMALLEST_BATCH / Validate().share)} rows or more",
    )
