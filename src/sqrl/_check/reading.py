"""Reading: the columns that rules need, made of those that the data has as far as that can be done.

A column that is gone, or that holds something else than it did, is a finding and no error as long
as other rules can be checked. Numbers that came as text are read; what cannot be read is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sqrl._data.column import MOST_VALUES, Column
from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, In, Name, Node, Number, Truth, Word, walk
from sqrl._rows.rows import category_text
from sqrl._rules.label import value_text
from sqrl._rules.needed_columns import (
    Need,
    axes_of,
    check_columns,
    column_needs,
    columns_of,
    parts_of,
    suits,
)

_TRUTHS = {"true": 1.0, "false": 0.0}
_HELD = {
    "date": "dates",
    "number": "numbers",
    "boolean": "true and false",
    "other": "neither numbers nor text",
}
_NEEDED: Mapping[Need, str] = {
    "numbers": "numbers",
    "digits": "numbers",
    "truths": "true and false",
    "categories": "text",
    "dates": "dates",
    "text": "text",
}


@dataclass(frozen=True, slots=True)
class Unread:
    """What a column holds in place of what rules need there, both in words, with an example."""

    holds: str
    needs: str
    example: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Makes a table have the columns that rules need; the whole table and chunks of it alike.

    Columns that are `gone` are added without a value, and what is `useless` for rules is taken as
    missing. Columns of words are read `as_numbers` (or as truths), columns of numbers `as_words`,
    which are all that the whole table has.
    """

    gone: frozenset[str] = frozenset()
    useless: frozenset[str] = frozenset()
    as_numbers: Mapping[str, Need] = field(default_factory=dict)
    as_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, Unread] = field(default_factory=dict)

    def __call__(self, table: Table, *, has_rows: bool = True) -> Table:
        """The table with every column that rules need, of a length of its own if it has no rows."""
        if not (self.gone or self.useless or self.as_numbers or self.as_words):
            return table
        n_rows = table.n_rows if has_rows else 0
        columns = dict(table.columns)
        columns |= {name: _nothing(name, n_rows) for name in self.gone | self.useless}
        for name, need in self.as_numbers.items():
            columns[name] = _numbers(columns[name], need)
        for name, words in self.as_words.items():
            columns[name] = _words(columns[name], words)
        return Table(columns, table.n_rows, table.source)


def make_reading(
    forms: Sequence[Form], whole: Table, statistics: Mapping[str, Node], extractors: list[str]
) -> Reading:
    """How to read the data for these rules; raises where that would leave no rule to check.

    Raises too where rules need a column to be of one kind and of another.

    `whole` has each value of the columns at least once.
    """
    names, needs = column_needs(forms, statistics)
    gone = frozenset(name for name in names if name not in whole)
    wanted: dict[str, Need] = {}
    for name, need, _ in needs:
        if name not in gone and not suits(whole[name], need):
            wanted.setdefault(name, need)
    met = {(name, need) for name, need, _ in needs if name in wanted and suits(whole[name], need)}
    if any(need != "digits" for _, need in met):  # of either kind
        check_columns(forms, whole, statistics, extractors)  # raises: no reading serves all rules
    made = _Making(forms)
    for name, need in wanted.items():
        made.read(whole[name], need)
    lost = gone | made.lost
    if lost and all(lost & columns_of([form], statistics) for form in forms):
        check_columns(forms, whole, statistics, extractors)  # raises: nothing is left to check
    return Reading(gone, frozenset(made.useless), made.as_numbers, made.as_words, made.unread)


class _Making:
    """How columns that do not suit are read, gathered one by one; `lost` have no value to use."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self.forms = forms
        self.as_numbers: dict[str, Need] = {}
        self.as_words: dict[str, tuple[str, ...]] = {}
        self.unread: dict[str, Unread] = {}
        self.useless: set[str] = set()
        self.lost: set[str] = set()

    def read(self, column: Column, need: Need) -> None:
        """Find out how to read a column that does not hold what is needed."""
        if column.kind != "other" and column.missing().all():
            self.useless.add(column.name)  # it holds nothing, of whatever kind
        elif need in {"categories", "text"} and column.kind in {"number", "boolean"}:
            self._read_words(column)
        elif need in {"numbers", "digits", "truths"} and column.kind not in {"date", "other"}:
            self._read_numbers(column, need)
        else:
            self.unread[column.name] = Unread(_HELD.get(column.kind, "text"), _NEEDED[need], None)
            self.useless.add(column.name)
            self.lost.add(column.name)

    def _read_words(self, column: Column) -> None:
        texts = tuple(map(value_text, column.distinct()[: MOST_VALUES + 1]))
        self.as_words[column.name] = texts if len(texts) <= MOST_VALUES else ()
        named = set(_words_named(self.forms, column.name))
        if named and not set(texts) & named:
            self.unread[column.name] = Unread("numbers", "text", texts[0])
            self.lost.add(column.name)

    def _read_numbers(self, column: Column, need: Need) -> None:
        self.as_numbers[column.name] = need
        read = _numbers(column, need)
        bad = read.missing() & ~column.missing()
        if not bad.any():
            return
        if column.kind == "category":
            holds, example = "text", column.categories[min(column.values[bad].tolist())]
        else:
            holds, example = "other numbers", value_text(float(column.values[bad].min()))
        self.unread[column.name] = Unread(holds, _NEEDED[need], example)
        if read.missing().all():
            self.lost.add(column.name)


def _nothing(name: str, n_rows: int) -> Column:
    """A column without any value, which may be of any kind."""
    return Column(name, "category", np.full(n_rows, -1, np.int32))


def _words_named(forms: Sequence[Form], name: str) -> Iterator[str]:
    """The values that rules compare a column with."""
    for form in forms:
        axes = form.reference.axes if form.reference is not None else ()
        for item, axis in zip(axes_of(form), axes, strict=False):
            if item == Name(name):
                yield from axis.words or ()
    nodes = {node for form in forms for part in parts_of(form) for node in part}
    for part in (part for node in nodes for part in walk(node)):
        match part:
            case Compare(Name(found), _, Word() | Truth() | Number() as value) if found == name:
                yield category_text(value)
            case In(Name(found), values) if found == name:
                yield from map(category_text, values)


def _numbers(column: Column, need: Need) -> Column:
    """The column as numbers, missing where a value is none; of truths 0 and 1 alone."""
    values = column.values.astype(np.float64)
    if column.kind == "category":
        words = np.array([as_number(word) for word in column.categories] + [np.nan])
        values = words[column.values]
    if need == "truths":
        values = np.where((values == 0.0) | (values == 1.0), values, np.nan)
    return replace(column, kind="number", values=values, categories=())


def as_number(word: str) -> float:
    """The number that a word is, 1 and 0 for true and false; nan where it is none.

    >>> as_number(" 12.50"), as_number("True"), as_number("12 kg")
    (12.5, 1.0, nan)
    """
    text = word.strip().casefold()
    if text in _TRUTHS:
        return _TRUTHS[text]
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def _words(column: Column, words: tuple[str, ...]) -> Column:
    """A column of numbers as categories, each number as rules would name it."""
    categories = tuple(sorted(words))
    codes = {word: code for code, word in enumerate(categories)}
    missing = column.missing()
    known: Floats = np.unique(column.values[~missing])
    is_truth = column.kind == "boolean"
    texts = [value_text(bool(value) if is_truth else float(value)) for value in known.tolist()]
    places = np.array([codes.get(text, -1) for text in texts] + [-1], np.int32)
    found = np.where(
        missing, known.size, np.searchsorted(known, np.where(missing, 0, column.values))
    )
    return Column(column.name, "category", places[np.minimum(found, known.size)], categories)
