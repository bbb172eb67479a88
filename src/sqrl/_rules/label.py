"""The table a rule set is checked on: predictions in the label's place, every column there."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sqrl._data.column import MOST_VALUES
from sqrl._data.table import Column, Table
from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form
from sqrl._language.printer import number_text
from sqrl._language.tree import Compare, In, Name, Node, Number, Truth, Word, walk
from sqrl._rows.rows import category_text
from sqrl._rules.ids import cuts_in
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError

MOST_SHOWN = 5


def with_prediction(
    rules: RuleSet, table: Table, prediction: str | None
) -> tuple[Table, str | None]:
    """The table with the prediction in place of the label, and the label's name."""
    if prediction is None:
        return table, label_of(rules)
    predicted, label = table[prediction], known_label(rules)
    _check_classes(rules, label, predicted, table.source)
    return put_prediction(table, label, prediction), label


def put_prediction(table: Table, label: str | None, prediction: str | None) -> Table:
    """The table with the prediction in place of the label, where both are named."""
    if label is None or prediction is None:
        return table
    columns = {**table.columns, label: replace(table[prediction], name=label)}
    return Table(columns, table.n_rows, table.source)


def known_label(rules: RuleSet) -> str:
    """The label's name; raises where the rules do not say it."""
    label = label_of(rules)
    if label is None:
        raise DataError(
            "The rules do not say which column is the label.",
            fix="learn them with a schema that has 'label:'",
        )
    return label


def label_of(rules: RuleSet) -> str | None:
    """The label's name: from the schema, else the one column that heads or conditions name."""
    if rules.schema is not None and rules.schema.label is not None:
        return rules.schema.label
    heads, conditions = set(), set()
    for form in rules.forms():
        if _says_what_is_there(rules, form):
            continue
        heads |= set(_compared((form.head,) if form.head else ()))
        conditions |= set(_compared(form.given))
    names = heads or conditions
    return names.pop() if len(names) == 1 else None


def _says_what_is_there(rules: RuleSet, form: Form) -> bool:
    """Whether a rule is about values that were learned, which are no classes."""
    if not form.implies_class:
        return False
    if rules.schema is None:
        return not form.given
    return not any(cuts_in(node) for node in form.given)


def _compared(nodes: tuple[Node, ...]) -> Iterator[str]:
    """The columns that some of the formulas say to be equal to a value."""
    for node in nodes:
        if isinstance(node, Compare) and node.op == "=" and isinstance(node.left, Name):
            yield node.left.name


def class_of(nodes: tuple[Node, ...], label: str) -> str | None:
    """The value that formulas say the label has, as text; None where they do not.

    >>> class_of((Compare(Name("type"), "=", Word("Car")),), "type")
    'Car'
    """
    for node in nodes:
        match node:
            case Compare(Name(name), "=", Number() | Word() | Truth() as value) if name == label:
                return category_text(value)
    return None


def classes_of(rules: RuleSet, label: str) -> list[str]:
    """The label's values that the rules speak of, as text, in order."""
    found: dict[str, None] = {}
    for node in rules.nodes:
        for part in walk(node):
            match part:
                case Compare(Name(name), "=" | "!=", Number() | Word() | Truth() as value):
                    if name == label:
                        found[category_text(value)] = None
            if isinstance(part, In) and part.item == Name(label):
                found.update(dict.fromkeys(map(category_text, part.values)))
    return sorted(found)


def names_label(rules: RuleSet, index: int, label: str) -> bool:
    """Whether a rule names the label, by itself or in a derived statistic.

    >>> rules = RuleSet.from_texts(["type = Car => width <= 9", "3 <= GCS <= 15"])
    >>> names_label(rules, 0, "type"), names_label(rules, 1, "type")
    (True, False)
    """
    return label in columns_of([rules.form(index)], rules.statistics())


def _check_classes(rules: RuleSet, label: str, predicted: Column, source: str) -> None:
    """Raise where the predictions name none of the classes that the rules speak of."""
    wanted = classes_of(rules, label)
    if not wanted or predicted.kind == "other":
        return
    made = [value_text(value) for value in predicted.distinct()[:MOST_VALUES]]
    if made and not set(made) & set(wanted):
        shown = ", ".join(made[:MOST_SHOWN])
        raise DataError(
            f"Column {predicted.name!r} names none of the rules' classes, but {shown}.",
            where=source,
            fix=f"name classes as the rules do: {', '.join(wanted[:8])}",
        )


def class_codes(column: Column) -> tuple[list[str], Int64s]:
    """The values of a column as rules name them, each once, and which of them each row has.

    Rows without a value have -1.

    >>> from sqrl._data.column import from_plain
    >>> class_codes(from_plain("y", [2, None, 0, 2], "doctest"))
    (['0', '2'], array([ 1, -1,  0,  1]))
    """
    if column.kind == "category":
        return list(column.categories), column.values.astype(np.int64)
    missing = column.missing()
    found = np.full(missing.size, -1, np.int64)
    found[~missing] = np.unique(column.values[~missing], return_inverse=True)[1]
    return [value_text(value) for value in column.distinct()], found


def class_names(column: Column) -> list[str]:
    """The value of each row, none of them missing, as rules name it."""
    names, codes = class_codes(column)
    return [names[code] for code in codes]


def value_text(value: str | float | bool) -> str:
    """A value of a column as rules name it.

    >>> value_text(1.0), value_text(True), value_text("Car")
    ('1', 'true', 'Car')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number_text(float(value))
