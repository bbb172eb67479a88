"""The table a rule set is checked on: predictions in the label's place, every column there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sqrl._data import Column, Table
from sqrl._domains import MOST_VALUES
from sqrl._evaluate import Floats, category_text
from sqrl._forms import Form, sentence_of
from sqrl._language.printer import number_text
from sqrl._language.tree import Compare, In, Name, Node, Number, Truth, Word, walk
from sqrl._rules import RuleSet
from sqrl.errors import DataError, unknown


def stand_in(rules: RuleSet, table: Table, prediction: str | None) -> tuple[Table, str | None]:
    """The table with the prediction in place of the label, and the label's name."""
    label = label_of(rules)
    if prediction is None:
        return table, label
    predicted = table[prediction]
    if label is None:
        raise DataError(
            "The rules do not say which column the prediction stands in for.",
            fix="learn them with a schema that has 'label:', or name the prediction as the label is",
        )
    _check_classes(rules, label, predicted, table.source)
    columns = {**table.columns, label: replace(predicted, name=label)}
    return Table(columns, table.n_rows, table.source), label


def label_of(rules: RuleSet) -> str | None:
    """The label's name: from the schema, else the one column that heads or conditions name."""
    if rules.schema is not None and rules.schema.label is not None:
        return rules.schema.label
    for places in (("head",), ("given",)):
        names = {
            node.left.name
            for index in range(len(rules))
            for node in _nodes(rules.form(index), places)
            if isinstance(node, Compare) and node.op == "=" and isinstance(node.left, Name)
        }
        if names:
            return names.pop() if len(names) == 1 else None
    return None


def _nodes(form: Form, places: tuple[str, ...]) -> list[Node]:
    if places == ("head",):
        return [form.head] if form.head else []
    return list(form.given)


def classes_of(rules: RuleSet, label: str) -> list[str]:
    """The label's values that the rules speak of, as text, in order."""
    found: dict[str, None] = {}
    for node in rules.nodes:
        for part in walk(node):
            if isinstance(part, Compare) and part.left == Name(label) and part.op in {"=", "!="}:
                found[category_text(part.right)] = None
            if isinstance(part, In) and part.item == Name(label):
                found.update(dict.fromkeys(map(category_text, part.values)))
    return sorted(found)


def _check_classes(rules: RuleSet, label: str, predicted: Column, source: str) -> None:
    """Raise where the predictions name none of the classes that the rules speak of."""
    wanted = classes_of(rules, label)
    if not wanted or predicted.kind == "other":
        return
    made = [_text(value) for value in predicted.distinct()[:MOST_VALUES]]
    if made and not set(made) & set(wanted):
        shown = ", ".join(made[:5])
        raise DataError(
            f"Column {predicted.name!r} names none of the classes that the rules speak of: {shown}.",
            where=source,
            fix=f"the rules' classes are {', '.join(wanted[:8])}; rename the predictions to match",
        )


def _text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number_text(float(value))


def check_columns(
    rules: RuleSet, forms: Sequence[Form], table: Table, statistics: Mapping[str, Node]
) -> None:
    """Raise where the rules need a column that is not there, or is of another type."""
    names = {
        node.name for form in forms for node in walk(sentence_of(form)) if isinstance(node, Name)
    }
    for tree in statistics.values():
        names |= {node.name for node in walk(tree) if isinstance(node, Name)}
    for name in sorted(names - set(statistics)):
        if name not in table:
            made_by = rules.provenance.extractors if rules.provenance else []
            error = unknown("column", name, table.names, where=table.source)
            if made_by:
                error.fix = f"{error.fix}; or pass extractors=[{', '.join(made_by)}]"
            raise error


def probabilities_of(
    table: Table, columns: Mapping[Any, str], label: str | None
) -> dict[Node, Floats]:
    """The predicted probability of each class on each row, checked."""
    if label is None:
        raise DataError("Probabilities need rules with a label.", fix="learn with 'label:'")
    found: dict[Node, Floats] = {}
    for value, name in columns.items():
        column = table[name]
        if column.kind != "number":
            raise DataError(
                f"Column {name!r} does not hold probabilities.",
                where=table.source,
                fix=f"name a column of numbers between 0 and 1 for the class {value}",
            )
        present = column.values[~np.isnan(column.values)]
        if present.size and not (0 <= present.min() and present.max() <= 1):
            raise DataError(
                f"Column {name!r} has values outside 0 to 1.",
                where=table.source,
                fix="give probabilities, not scores or logits",
            )
        found[_constant(value)] = column.values
    return found


def _constant(value: Any) -> Node:
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int | float | np.number):
        return Number(float(value))
    try:
        return Number(float(value))
    except ValueError:
        return Word(str(value))
