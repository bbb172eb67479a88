"""repair(): the nearest predictions that keep the rules about single rows; no model needed."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from sqrl._check.probabilities import make_probabilities
from sqrl._data.table import Table
from sqrl._language.forms import Form
from sqrl._language.tree import Name
from sqrl._repair.labels import Labels, make_labels
from sqrl._repair.mend import Repair, mend
from sqrl._repair.original_types import given_as
from sqrl._repair.repaired import Repaired, make_result
from sqrl._repair.roles import check_numbers, predicted_columns, roles_of
from sqrl._rules.label import class_names, classes_of, value_text, with_prediction
from sqrl._rules.needed_columns import check_columns
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.sequence_names import row_order_of


def repair(
    rules: RuleSet,
    predictions: Any,
    *,
    prediction: str | None = None,
    probabilities: Mapping[Any, str] | None = None,
    columns: Sequence[str] | None = None,
) -> Repaired:
    """The nearest predictions that keep the rules about single rows.

    `columns` are the numbers that a model predicted. Each moves to the nearest value that all the
    rules allow that bound it and apply to its row; where no value is allowed by all, to the nearest
    that breaks the fewest. `prediction` names the column with the predicted class, which takes
    the label's place. With `probabilities`, a column for each class, a class that breaks rules
    gives way to the likeliest one that breaks the fewest; without, to the only class that keeps the
    rules that imply a class. A row that breaks nothing stays as it is, bit by bit.

    If none of the three is given, the columns that rules bound and use for nothing else may change.

    Cost: two checks, and for the rows that break a rule a few passes over the rules that bound
    them. Keeping every rule is not being right.

    >>> rules = RuleSet.from_texts(["kind = a => 0 <= x <= 9", "x <= 20"])
    >>> mended = repair(rules, {"kind": ["a", "a", "b"], "x": [3.0, 12.5, 99.0]})
    >>> mended.table["x"].to_pylist(), mended.before.total, mended.after.total
    ([3.0, 9.0, 20.0], 2, 0)
    """
    if isinstance(predictions, RuleSet):  # as this function once had them
        what = "repair() takes the rules first: repair(rules, predictions)."
        warnings.warn(what, DeprecationWarning, stacklevel=2)
        rules, predictions = predictions, rules
    rules = rules.in_force()
    arrow, given = given_as(predictions)
    given, label = with_prediction(rules, given, prediction)
    table = rules.with_sequences(given)
    forms = rules.forms()
    statistics = rules.statistics()
    check_columns(forms, table, statistics, [])
    names, labels = _what_may_change(
        rules,
        forms,
        table,
        label,
        prediction=prediction,
        probabilities=probabilities,
        columns=columns,
    )
    is_ranked = labels is not None and labels.probabilities is not None
    changing = None if labels is None else label
    row_order = row_order_of(rules.schema)
    roles = roles_of(forms, statistics, names, changing, is_ranked=is_ranked, row_order=row_order)
    called = {label: prediction} if label and prediction else {}
    moved = labels if roles.label else None
    computed = frozenset(table.names) - frozenset(given.names)
    work = Repair(arrow, table, rules, forms, roles, label, moved, called, computed)
    before = work.check(roles.mended(), table)
    return make_result(work, mend(work, before), before)


def _what_may_change(
    rules: RuleSet,
    forms: Sequence[Form],
    table: Table,
    label: str | None,
    *,
    prediction: str | None,
    probabilities: Mapping[Any, str] | None,
    columns: Sequence[str] | None,
) -> tuple[list[str], Labels | None]:
    """The columns of numbers that may change, and the labels, where these may."""
    asked = [columns] if isinstance(columns, str) else list(columns or ())
    names = list(dict.fromkeys(label if label and name == prediction else name for name in asked))
    is_class = label is not None and bool(probabilities or classes_of(rules, label))
    if prediction is None and not probabilities and columns is None:
        return predicted_columns(forms, rules.statistics(), table), None
    if prediction is not None and not is_class and label not in names:
        assert label is not None
        names.append(label)  # a number, as in regression
    labels = None
    if probabilities:
        given = make_probabilities(rules, table, probabilities, label)
        offered = class_names(given.classes.table[given.label])
        has_any = not table[given.label].missing().all()
        labels = make_labels(table[given.label], offered if has_any else [], given.values)
    elif is_class and (prediction is not None or _is_named_class(forms, table, label, names)):
        assert label is not None
        labels = make_labels(table[label], _known_classes(rules, table, label), None)
    if labels is not None:
        names = [name for name in names if name != label]
    check_numbers(names, table)
    return names, labels


def _is_named_class(
    forms: Sequence[Form], table: Table, label: str | None, names: Sequence[str]
) -> bool:
    """Whether the label is among the columns named, and not as a number that rules bound."""
    if label is None or label not in names:
        return False
    is_bounded = any(form.bounds_rows and form.subject == Name(label) for form in forms)
    return table[label].kind != "number" or not is_bounded


def _known_classes(rules: RuleSet, table: Table, label: str) -> list[str]:
    """The classes that rules speak of or that were predicted; none where nothing was."""
    column = table[label]
    if column.kind == "other" or column.missing().all():
        return []
    return sorted({*classes_of(rules, label), *map(value_text, column.distinct())})
