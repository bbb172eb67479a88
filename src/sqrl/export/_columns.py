"""The columns that exported rules read: under what name, and what they hold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqrl._data.table import as_table
from sqrl._language.forms import Form
from sqrl._language.names import sequence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import Name, Node, Number, Truth, Word
from sqrl._rows.sequences import RowOrder, is_sequence
from sqrl._rules.label import known_label, with_prediction
from sqrl._rules.needed_columns import check_columns, column_needs, names_in
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.sequence_names import row_order_of
from sqrl.errors import DataError, SchemaError

Holds = Literal["number", "boolean", "category", "date"]


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column holds that rules name, and the column to read in its place.

    `places` has the label where a prediction takes its place. Those that are `computed` follow
    from others on the rows before, in the `row_order`.
    """

    holds: Mapping[str, Holds]
    places: Mapping[str, str]
    computed: frozenset[str] = frozenset()
    row_order: RowOrder | None = None

    def place(self, name: str) -> str:
        """The column to read for a name in a rule."""
        return self.places.get(name, name)

    def to_read(self) -> list[str]:
        """The columns that a table must have."""
        also = self.row_order.columns if self.row_order is not None and self.computed else ()
        named = (name for name in self.holds if name not in self.computed)
        return sorted({self.place(name) for name in (*named, *also)})


def find_columns(
    rules: RuleSet, forms: Sequence[Form], *, like: Any = None, prediction: str | None = None
) -> Columns:
    """The columns of rules: what they hold is read off `like`, else off the rules themselves.

    >>> rules = RuleSet.from_texts(["kind = Car and wet => 0 <= width <= 9"])
    >>> find_columns(rules, [rules.form(0)]).holds
    {'kind': 'category', 'wet': 'boolean', 'width': 'number'}
    """
    statistics, row_order = rules.statistics(), row_order_of(rules.schema)
    stored: frozenset[str] = frozenset()
    known: dict[str, Holds] = {}
    places = {} if prediction is None else {known_label(rules): prediction}
    if like is not None:
        given, _ = with_prediction(rules, as_table(like), prediction)
        table, stored = rules.with_sequences(given), frozenset(given.names)
        made_by = rules.provenance.extractors if rules.provenance else []
        check_columns(forms, table, statistics, made_by)
        for column in table.columns.values():
            if column.kind != "other" and not column.missing().all():
                known[column.name] = column.kind
    guessed = _guess(forms, statistics, known)
    computed = frozenset(name for name in guessed if is_sequence(name) and name not in stored)
    if row_order is not None and computed:
        plain = {name: kind for name, kind in known.items() if name in stored}
        computed = _follow(guessed, computed, plain, statistics, row_order)
        made = Columns(guessed, places, computed, row_order)
    else:
        made = Columns(guessed, places)
    for name in (*made.to_read(), *places):
        refuse_unwritable(name, "column")
    return made


def _follow(
    holds: dict[str, Holds],
    computed: frozenset[str],
    known: Mapping[str, Holds],
    statistics: Mapping[str, Node],
    row_order: RowOrder,
) -> frozenset[str]:
    """All columns that are computed; puts in what those hold that they follow from.

    `known` is what columns of the data hold.
    """
    todo, found = sorted(computed), set(computed)
    while todo:
        name = todo.pop()
        made = sequence_of(name)
        of = row_order.order[0] if made is None else made.of
        need = holds[name] if made is not None and made.function == "lag" else "number"
        for source in sorted(names_in([Name(of)], statistics)):
            kind = known.get(source, need if source == of else "number")
            if kind in {"date", "category"} and need == "number":
                raise SchemaError(
                    f"{name} is not exported: {source!r} holds dates, which databases and frames "
                    "count each in their own way.",
                    fix="leave out the rules that use it, or check them with 'sqrl check'",
                )
            if source not in holds:
                holds[source] = kind
                if is_sequence(source) and source not in known:
                    found.add(source)
                    todo.append(source)
    return frozenset(found)


def _guess(
    forms: Sequence[Form], statistics: Mapping[str, Node], known: Mapping[str, Holds]
) -> dict[str, Holds]:
    """What columns must hold for the rules to make sense, where it is not known."""
    names, needs = column_needs(forms, statistics)
    wanted: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, need, example in needs:
        wanted[name].setdefault(need, example)
    found: dict[str, Holds] = {}
    for name in sorted(names):
        if name in known:
            found[name] = known[name]
        elif "dates" in wanted[name] and len(wanted[name]) == 1:
            found[name] = "date"
        elif {"categories", "text"} & wanted[name].keys():
            if {"numbers", "truths"} & wanted[name].keys():
                such_as = wanted[name].get("categories")
                both = f"categories, such as {such_as}," if such_as else "text"
                raise SchemaError(
                    f"The rules need both {both} and numbers in column {name!r}.",
                    fix="leave out the rules of one kind, or name the columns apart",
                )
            found[name] = "category"
        elif not wanted[name]:  # only whether it has a value is asked
            found[name] = "category"
        else:
            found[name] = "number" if {"numbers", "digits"} & wanted[name].keys() else "boolean"
    return found


def refuse_unwritable(text: str, what: str) -> None:
    """Raise for text that no database takes in a statement, whatever the quotes around it."""
    unwritable = next((part for part in text if part == "\0" or 0xD800 <= ord(part) < 0xE000), None)
    if unwritable is not None:
        raise DataError(
            f"The {what} {text!r} has the character {unwritable!r}, which cannot be exported.",
            fix=f"leave out the rules that name it, or rename the {what}",
        )


def number_of(item: Node, value: Node) -> float:
    """The number that a constant stands for beside an item that is one.

    >>> from sqrl._language.tree import Name
    >>> number_of(Name("grade"), Word("3")), number_of(Name("wet"), Truth(True))
    (3.0, 1.0)
    """
    match value:
        case Number(number) | Truth(number):
            return float(number)
        case Word(text):
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number
    raise SchemaError(
        f"'{to_text(item)}' holds numbers and '{to_text(value)}' is not one.",
        fix="compare it with a number",
    )
