"""What the rows at hand hold in each column that rules name, counted in the pass that checks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqrl._check.reading import Reading, Unread, as_number
from sqrl._data.column import MOST_VALUES, Column
from sqrl._data.table import Table
from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Compare, In, Name, Number, Truth, Word
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows, category_text
from sqrl._rules.label import value_text
from sqrl._scan.job import State

MOST_UNSEEN = 20  # values that are kept by name, the most frequent first
MOST_SHOWN = 3  # of them in a sentence


@dataclass(frozen=True, slots=True)
class UnseenValue:
    """A value that no rule allows for, and how many rows have it."""

    text: str
    n_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNow:
    """One column of the rows at hand.

    `least` and `greatest` are nan where it holds no number. `known` are the values that it had in
    training, where a rule lists them, `unseen` the others, `n_unseen` the rows that have one.
    """

    is_gone: bool = False
    n_missing: int = 0
    n_unread: int = 0
    unread: Unread | None = None
    least: float = float("nan")
    greatest: float = float("nan")
    known: tuple[str, ...] = ()
    n_unseen: int = 0
    unseen: tuple[UnseenValue, ...] = ()


def known_values(forms: Sequence[Form]) -> dict[str, tuple[str, ...]]:
    """The values of each column that a rule about all rows says it has.

    >>> from sqrl._language.forms import Form
    >>> pet = In(Name("pet"), (Word("dog"), Word("cat")))
    >>> known_values([Form(kind="class", head=pet)])
    {'pet': ('dog', 'cat')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for form in forms:
        if form.given or form.head is None or not form.implies_class:
            continue
        match form.head:
            case In(Name(name), values):
                found[name] = tuple(map(category_text, values))
            case Compare(Name(name), "=", Word() | Number() | Truth() as value):
                found[name] = (category_text(value),)
    return found


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Counts missing values, ends, and values never seen of each column that rules name.

    `unseen` has for some columns the values at hand that are not among the known ones.
    """

    names: tuple[str, ...]
    unseen: Mapping[str, tuple[Any, ...]]
    of: Of = "train"

    @classmethod
    def of_table(
        cls, names: Collection[str], whole: Table, known: Mapping[str, tuple[str, ...]]
    ) -> "CountColumns":
        """What is to be counted; `whole` has each value of the columns at least once."""
        unseen = {}
        here = tuple(name for name in sorted(names) if name in whole)
        for name in here:
            column = whole[name]
            if name in known and column.kind != "other":
                unseen[name] = tuple(_unseen(column, known[name]))
        return cls(here, unseen)

    def start(self) -> State:
        """Nothing counted."""
        n = len(self.names)
        state = {
            "missing": np.zeros(n, np.int64),
            "least": np.full(n, np.inf),
            "greatest": np.full(n, -np.inf),
        }
        for name, values in self.unseen.items():
            state[f"{name}/unseen"] = np.zeros(len(values), np.int64)
        return state

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        for place, name in enumerate(self.names):
            column = rows.table[name]
            missing = column.missing()
            tally["missing"][place] += np.count_nonzero(missing)
            if column.kind in {"number", "boolean"} and column.values.size:
                ends = tally["least"], tally["greatest"]
                ends[0][place] = np.fmin(ends[0][place], np.fmin.reduce(column.values))
                ends[1][place] = np.fmax(ends[1][place], np.fmax.reduce(column.values))
            if self.unseen.get(name):
                tally[f"{name}/unseen"] += _counts(column, self.unseen[name])
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        joins = {"least": np.fmin, "greatest": np.fmax}
        return {key: joins.get(key, np.add)(one[key], other[key]) for key in one}

    def finish(
        self,
        tally: State,
        n_rows: int,
        reading: Reading,
        missing_before: Mapping[str, int],
        known: Mapping[str, tuple[str, ...]],
    ) -> dict[str, ColumnNow]:
        """Each column, once the rows are counted."""
        found = {name: ColumnNow(is_gone=True, n_missing=n_rows) for name in reading.gone}
        for place, name in enumerate(self.names):
            if name in reading.gone:
                continue
            n_missing = int(tally["missing"][place])
            ends = tally["least"][place], tally["greatest"][place]
            counts = tally.get(f"{name}/unseen", np.empty(0, np.int64))
            order = np.argsort(-counts, kind="stable")[:MOST_UNSEEN].tolist()
            texts = [value_text(self.unseen[name][one]) for one in order]
            unread = reading.unread.get(name)
            before = missing_before.get(name, n_missing)
            found[name] = ColumnNow(
                n_missing=before,
                n_unread=_n_unread(unread, n_rows, before, n_missing),
                unread=unread,
                least=float(ends[0]) if np.isfinite(ends[0]) else np.nan,
                greatest=float(ends[1]) if np.isfinite(ends[1]) else np.nan,
                known=known.get(name, ()),
                n_unseen=int(counts.sum()),
                unseen=tuple(
                    UnseenValue(text, int(counts[one]))
                    for text, one in zip(texts, order, strict=True)
                    if counts[one]
                ),
            )
        return found


def _n_unread(unread: Unread | None, n_rows: int, before: int, after: int) -> int:
    """How many rows hold what is not needed: those that became missing, or all that are there."""
    if unread is None:
        return 0
    if unread.example is None:
        return n_rows
    return after - before or n_rows - before


def _unseen(column: Column, known: tuple[str, ...]) -> Iterator[Any]:
    """The values that occur and are not known, in order; of numbers with very many, the least."""
    if column.kind == "category":
        words = set(known)
        yield from (word for word in column.distinct() if word not in words)
    else:
        numbers = {as_number(word) for word in known}
        some = column.distinct()[: MOST_VALUES + 1]
        yield from (value for value in some if float(value) not in numbers)


def _counts(column: Column, values: tuple[Any, ...]) -> Int64s:
    """How many rows have each of the values, which are in order."""
    if column.kind == "category":
        codes = {word: code for code, word in enumerate(column.categories)}
        counted = np.bincount(column.values + 1, minlength=len(codes) + 1)
        return counted[np.array([codes.get(value, -1) for value in values], np.int64) + 1]
    each = np.array([float(value) for value in values])
    place = np.minimum(np.searchsorted(each, column.values), each.size - 1)
    return np.bincount(place[each[place] == column.values], minlength=each.size)


def unseen_text(name: str, now: ColumnNow, n_rows: int) -> str:
    """Values never seen in training, and in how many rows."""
    shown = ", ".join(value.text for value in now.unseen[:MOST_SHOWN])
    n_more = len(now.unseen) - MOST_SHOWN
    values = "value" if len(now.unseen) == 1 else "values"
    more = f" and {n_more:,} more" if n_more > 0 else ""
    return (
        f"{name}: {values} {shown}{more}, never seen in training, "
        f"in {now.n_unseen:,} of {n_rows:,} rows"
    )
