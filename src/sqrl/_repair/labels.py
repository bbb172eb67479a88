"""Which class to fall back on where the predicted one breaks rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Bools, Floats, Int32s, Int64s
from sqrl._language.forms import Form
from sqrl._repair.feasible import row_intervals
from sqrl._repair.roles import about_label
from sqrl._rows.rows import Rows
from sqrl._rules.label import class_codes, value_text
from sqrl.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The classes a row may be given, and the probability of each.

    Shapes: probabilities (n_classes, n_rows), nan for a class without any; None where none has any.
    A label is known by its place in `names`, -1 where it is missing. Only classes that `is_offered`
    are given to rows; others are there because some row has them.
    """

    column: Column
    names: tuple[str, ...]
    is_offered: Bools
    probabilities: Floats | None

    def places(self) -> Int64s:
        """The label of each row as it was predicted."""
        which = {name: place for place, name in enumerate(self.names)}
        names, codes = class_codes(self.column)
        return np.array([*(which[name] for name in names), -1], np.int64)[codes]

    def column_of(self, places: Int64s) -> Column:
        """The label's column with these classes in its rows."""
        if self.column.kind == "category":
            return replace(self.column, values=places.astype(np.int32), categories=self.names)
        values = [_number(name, self.column) for name in self.names]
        return replace(self.column, values=np.array([*values, np.nan])[places])

    def costs(self, forms: Sequence[Form], rows: Rows) -> Int32s:
        """How many of the rules each class would break on each row: (n_classes, n_rows)."""
        cost = np.zeros((len(self.names), rows.n), np.int32)
        classes = self.classes()
        for form in forms:
            which, broken = breaking(form, rows, classes, self.column.name)
            cost[which] += broken
        return cost

    def classes(self) -> Rows:
        """A table with a row for each class, of which formulas about the label can be asked."""
        every = self.column_of(np.arange(len(self.names)))
        return Rows(Table({every.name: every}, len(self.names)), {})

    def choose(self, cost: Int32s, start: Int64s) -> Int64s:
        """The class of each row: the one it has, unless a class on offer breaks fewer rules.

        With probabilities the likeliest of those that break the fewest; without, the one class that
        breaks none, if there is only one.
        """
        if not cost.shape[0] or not self.is_offered.any():
            return start
        here = np.arange(start.size)
        own = np.where(start >= 0, cost[start, here], 0)
        offered = np.where(self.is_offered[:, None], cost, np.iinfo(np.int32).max)
        fewest = offered.min(axis=0)
        best = offered == fewest
        if self.probabilities is None:
            is_sure = (fewest == 0) & (np.count_nonzero(best, axis=0) == 1)
            return np.where((own > 0) & is_sure, best.argmax(axis=0), start)
        likeliest = np.where(best, self.probabilities, -1.0).argmax(axis=0)
        return np.where((own > fewest) & ~self.unranked(), likeliest, start)

    def unranked(self) -> Bools:
        """The rows on which the probability of a class on offer is missing."""
        if self.probabilities is None:
            return np.zeros(self.column.values.size, np.bool_)
        return np.asarray(np.isnan(self.probabilities[self.is_offered]).any(axis=0))

    def take(self, rows: Int64s) -> "Labels":
        """The labels of only these rows."""
        probabilities = None if self.probabilities is None else self.probabilities[:, rows]
        return replace(self, column=self.column.take(rows), probabilities=probabilities)


def make_labels(column: Column, offered: Sequence[str], probabilities: Floats | None) -> Labels:
    """The labels in a column, with the classes on offer and their probabilities.

    >>> from sqrl._data.column import from_plain
    >>> labels = make_labels(from_plain("y", ["b", None, "a"], "doctest"), ["a", "c"], None)
    >>> labels.names, labels.places().tolist()
    (('a', 'b', 'c'), [1, -1, 0])
    """
    spelt = {_spelling(name, column): place for place, name in enumerate(offered)}
    seen = {_spelling(value_text(value), column) for value in column.distinct()}
    seen |= set(column.categories)
    names = tuple(sorted(seen | set(spelt)))
    is_offered = np.array([name in spelt for name in names], np.bool_)
    ranked = None
    if probabilities is not None:
        ranked = np.full((len(names), probabilities.shape[1]), np.nan)
        ranked[is_offered] = probabilities[[spelt[name] for name in names if name in spelt]]
    return Labels(column, names, is_offered, ranked)


def breaking(form: Form, rows: Rows, classes: Rows, label: str) -> tuple[Int64s, Bools]:
    """The classes that break a rule, and the rows on which they do."""
    if form.implies_class:
        assert form.head is not None
        return np.flatnonzero(classes.truths(form.head).false), rows.all_true(form.given)
    assert form.subject is not None
    about = about_label(form, label, rows.statistics)
    given = rows.all_true(tuple(node for node in form.given if node not in about))
    lower, upper = row_intervals(form, rows, given)
    values = rows.numbers(form.subject)
    return np.flatnonzero(classes.all_true(about)), (values < lower) | (values > upper)


def _spelling(name: str, column: Column) -> str:
    """The class as the column spells it: true and false, or a number, or a word."""
    if column.kind == "category":
        return name
    number = _number(name, column)
    return value_text(bool(number) if column.kind == "boolean" else number)


def _number(name: str, column: Column) -> float:
    truths = {"true": 1.0, "false": 0.0}
    try:
        return truths[name] if name in truths else float(name)
    except ValueError:
        raise DataError(
            f"The class {name!r} cannot be written to column {column.name!r}, which holds numbers.",
            fix="name the classes as the column does",
        ) from None
