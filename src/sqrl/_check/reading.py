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


@dataclass(frozen=True, slots=True)
class Unread:
    """What a column holds in place of what rules need there, both in words, with an example."""

    holds: str
    needs: str
    example: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Makes a table have the columns that rules need; the whole table and chunks of it alike.

    Columns that are `gone` are added without a value. Columns of words are read `as_numbers` (or
    as truths), columns of numbers `as_words`, which are all that the whole table has.
    """

    gone: frozenset[str] = frozenset()
    as_numbers: Mapping[str, Need] = field(default_factory=dict)
    as_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, Unread] = field(default_factory=dict)

    def __call__(self, table: Table, *, has_rows: bool = True) -> Table:
        """The table with every column that rules need, of a length of its own if it has no rows."""
        if not (self.gone or self.as_numbers or self.as_words):
            return table
        n_rows = table.n_rows if has_rows else 0
        columns = dict(table.columns)
        columns |= {name: Column(name, "number", np.full(n_rows, np.nan)) for name in self.gone}
        for name, need in self.as_numbers.items():
            columns[name] = _numbers(columns[name], need)
        for name, words in self.as_words.items():
            columns[name] = _words(columns[name], words)
        return Table(columns, table.n_rows, table.source)


def make_reading(
    forms: Sequence[Form], whole: Table, statistics: Mapping[str, Node], extractors: list[str]
) -> Reading:
    """How to read the data for these rules; raises where that would leave no rule to check.

    `whole` has each value of the columns at least once.
    """
    names, needs = column_needs(forms, statistics)
    gone = frozenset(name for name in names if name not in whole)
    as_numbers: dict[str, Need] = {}
    as_words: dict[str, tuple[str, ...]] = {}
    unread: dict[str, Unread] = {}
    useless = set(gone)
    for name, need, _ in needs:
        if name in gone or name in as_numbers or name in as_words or suits(whole[name], need):
            continue
        column = whole[name]
        present = column.values[~column.missing()]
        if need == "categories" and column.kind in {"number", "boolean"}:
            if not present.size:
                continue
            texts = tuple(map(value_text, column.distinct()[: MOST_VALUES + 1]))
            as_words[name] = texts if len(texts) <= MOST_VALUES else ()
            if not set(texts) & set(_words_named(forms, name)):
                unread[name] = Unread("numbers", "text", texts[0])
                useless.add(name)
            continue
        as_numbers[name] = need
        read = _numbers(column, need)
        bad = read.missing() & ~column.missing()
        if column.kind == "other" or bad.any():
            unread[name] = _what_it_holds(column, bad, need)
            if read.missing().all():
                useless.add(name)
    if useless and all(useless & columns_of([form], statistics) for form in forms):
        check_columns(forms, whole, statistics, extractors)  # raises: nothing is left to check
    return Reading(gone, as_numbers, as_words, unread)


def _what_it_holds(column: Column, bad: np.ndarray, need: Need) -> Unread:
    needs = "true and false" if need == "truths" else "numbers"
    if column.kind == "other":
        return Unread("neither numbers nor text", needs, None)
    first = column.values[int(bad.argmax())]
    if column.kind == "category":
        return Unread("text", needs, column.categories[min(column.values[bad].tolist())])
    return Unread("other numbers", needs, value_text(float(first)))


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
