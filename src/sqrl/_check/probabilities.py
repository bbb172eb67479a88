"""Probabilities in the label's place: how often rules are broken under the predicted distribution.

An arg-max prediction takes the likelier class as certain. Where a model says 60 %, labels break a
rule about the class on 40 % of the rows, the arg-max on none of them or on all. The counts here are
those to expect if the labels were drawn from the model's own probabilities.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from sqrl._check.row_outcomes import row_outcome
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Node, Number, Truth
from sqrl._rows.rows import Rows, category_text, constant_of
from sqrl._rules.label import classes_of
from sqrl._rules.needed_columns import names_in, parts_of
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError

TOLERANCE = 0.02  # of probabilities that should add up to one, each perhaps rounded
ADVICE = (
    "The counts above take each prediction as certain; counts by probabilities take the predicted "
    "probabilities at their word. Believe the latter if the model is calibrated: arg-max "
    "predictions leave out every class that is second best, and so break rules that labels keep."
)


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities:
    """The predicted probability of each class on each row.

    Shapes: values (n_classes, n_rows); classes has the label's value in a row for each class.
    """

    label: str
    classes: Rows
    values: Floats

    def take(self, rows: slice | Int64s) -> "Probabilities":
        """The probabilities of only these rows."""
        return Probabilities(self.label, self.classes, self.values[:, rows])

    def of(self, nodes: tuple[Node, ...]) -> Floats:
        """The probability on each row that formulas about the label alone hold."""
        true = self.classes.all_true(nodes)
        return np.asarray(self.values[true].sum(axis=0))

    def names(self, nodes: tuple[Node, ...], statistics: Mapping[str, Node]) -> bool:
        """Whether any of the formulas and expressions speaks of the label."""
        return self.label in names_in(nodes, statistics)

    def can_decide(self, nodes: tuple[Node, ...], statistics: Mapping[str, Node]) -> bool:
        """Whether the formulas speak of the label and of nothing else."""
        return all(names_in((node,), statistics) == {self.label} for node in nodes)

    def can_weigh(self, form: Form, statistics: Mapping[str, Node]) -> bool:
        """Whether a mini-batch rule speaks of the label in its head alone, or not at all."""
        subject = () if form.subject is None else (form.subject,)
        head = () if form.head is None else (form.head,)
        if self.names((*form.given, *form.body, *subject), statistics):
            return False
        return not self.names(head, statistics) or self.can_decide(head, statistics)


def make_probabilities(
    rules: RuleSet, table: Table, columns: Mapping[Any, str], label: str | None
) -> Probabilities:
    """The predicted probabilities in the table's columns, checked.

    Of two classes one is enough: the other has the rest.
    """
    if label is None:
        raise DataError(
            "Probabilities need rules with a label.",
            fix="learn the rules with a schema that has 'label:'",
        )
    given = [_probability_column(table, value, name) for value, name in columns.items()]
    named = [category_text(constant_of(value)) for value in columns]
    known = classes_of(rules, label)
    rest = [name for name in known if name not in named]
    if len(named) == 1 and len(known) == 2 and len(rest) == 1:
        named, given = [*named, *rest], [given[0], 1.0 - given[0]]
    _check_total(np.sum(given, axis=0), rest, table.source)
    constants = [constant_of(name) for name in named]
    values: list[Any] = named
    if all(isinstance(constant, Number) for constant in constants):
        values = [float(name) for name in named]
    if all(isinstance(constant, Truth) for constant in constants):
        values = [name == "true" for name in named]
    return Probabilities(label, Rows(as_table({label: values}), {}), np.array(given))


def _check_total(total: Floats, rest: list[str], source: str) -> None:
    """Raise where the probabilities of a row do not add up to one."""
    off = np.abs(total - 1) > TOLERANCE  # nan, a missing probability, is not off
    if off.any():
        row = int(off.argmax())
        fix = "give a column of probabilities for every class"
        raise DataError(
            f"The probabilities of row {row + 1:,} add up to {total[row]:.3g}, not to 1.",
            where=source,
            fix=f"{fix}, such as {rest[0]}" if rest else fix,
        )


def _probability_column(table: Table, value: Any, name: str) -> Floats:
    column = table[name]
    if column.kind != "number":
        raise DataError(
            f"Column {name!r} does not hold probabilities.",
            where=table.source,
            fix=f"name a column of numbers between 0 and 1 for the class {value}",
        )
    present = column.values[~np.isnan(column.values)]
    if present.size and not (present.min() >= 0 and present.max() <= 1):
        raise DataError(
            f"Column {name!r} has values outside 0 to 1.",
            where=table.source,
            fix="give probabilities, not scores or logits",
        )
    return np.asarray(column.values, np.float64)


def weighted_counts(form: Form, rows: Rows, predicted: Probabilities) -> tuple[float, float]:
    """How many rows a rule about single rows is expected to apply to, and to be broken by.

    nan where the rule speaks of the label in another way than as a class: in what it bounds, or
    together with other columns in one formula.
    """
    about = tuple(node for node in form.given if predicted.names((node,), rows.statistics))
    if not predicted.can_decide(about, rows.statistics):
        return np.nan, np.nan
    others = tuple(node for node in form.given if node not in about)
    if form.implies_class:
        return (np.nan, np.nan) if about else _count_class(form, rows, predicted)
    formulas, subject = parts_of(form)
    rest = (*formulas[len(form.given) :], *subject)
    if not form.bounds_rows or predicted.names(rest, rows.statistics):
        return np.nan, np.nan
    weight = predicted.of(about) if about else np.ones(rows.n)
    outcome, known = row_outcome(replace(form, given=others), rows), ~np.isnan(weight)
    applies = np.logical_or.reduce(outcome.applies) & known
    return float(weight[applies].sum()), float(weight[outcome.is_broken & known].sum())


def _count_class(form: Form, rows: Rows, predicted: Probabilities) -> tuple[float, float]:
    assert form.head is not None
    if not predicted.can_decide((form.head,), rows.statistics):
        return np.nan, np.nan
    head = predicted.of((form.head,))
    here = rows.all_true(form.given) & ~np.isnan(head)
    return float(np.count_nonzero(here)), float((1.0 - head[here]).sum())
