"""One pass over all rows that serves many questions at once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sqrl._data.column import Column
from sqrl._data.table import Table
from sqrl._kernels.arrays import Int64s, Ints
from sqrl._language.tree import Node
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rows.units import is_among, unit_keys
from sqrl._scan.job import Chunk, State
from sqrl._scan.split import AnySplit

if TYPE_CHECKING:  # what is searched for in rounds, by few passes
    from sqrl._kernels.selection_guess import Guessing
    from sqrl._kernels.selection_rounds import Round
    from sqrl._rows.order_statistics import OrderStatistics


SEEN = "seen"  # in the state of a part: rows held out so far, which later chunks are numbered by


class Tallied(Protocol):
    """A question whose answers for parts of the rows add up."""

    @property
    def of(self) -> Of:
        """Which rows it is about."""

    def start(self) -> State:
        """Nothing counted."""

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows, of which `first` is the number of the first, too."""

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""


@dataclass(frozen=True, slots=True)
class Search:
    """One round in the search for the order statistics that a question asks for.

    `rounds` has one for each of the question's subjects, None where nothing is left to find.
    """

    order: "OrderStatistics"
    rounds: "tuple[Round | Guessing | None, ...]"

    @property
    def of(self) -> Of:
        """Which rows it is about."""
        return self.order.of

    def start(self) -> State:
        """Nothing counted."""
        return {
            f"{place}/{key}": values
            for place, one in enumerate(self.rounds)
            if one is not None
            for key, values in one.start().items()
        }

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        group = self.order.group_of_rows(rows)
        selected = None
        if group is None:
            selected, group = self.order.groups(rows, self.order.conditions)
        for place, one in enumerate(self.rounds):
            if one is not None:
                values = rows.numbers(self.order.subjects[place])
                values = values if selected is None else values[selected]
                mine = one.summarise(values, group, under(tally, place))
                put(tally, place, mine)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        merged: State = {}
        for place, each in enumerate(self.rounds):
            if each is not None:
                put(merged, place, each.merge(under(one, place), under(other, place)))
        return merged


@dataclass(frozen=True, slots=True, eq=False)
class Fetch:
    """Fetches rows into memory by their numbers, ascending and each once, for mini-batches."""

    of: Of
    numbers: Ints
    names: frozenset[str]
    too_many: frozenset[str] = frozenset()  # columns of which each chunk has words of its own

    def start(self) -> State:
        """No row."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with those of these rows that are wanted too."""
        begin, end = np.searchsorted(self.numbers, [first, first + rows.n])
        if begin == end:
            return tally
        mine = self.numbers[begin:end] - first
        return _keep(rows.table, mine, first, self.names, self.too_many, tally)

    def merge(self, one: State, other: State) -> State:
        """The rows of both."""
        return {**one, **other}

    def finish(self, state: State, whole: Table) -> Table:
        """The rows as a table, in the order of their numbers."""
        return _joined(state, whole, self.names, self.too_many)


@dataclass(frozen=True, slots=True, eq=False)
class FetchUnits:
    """Fetches the rows of units into memory by the keys of these, ascending, for mini-batches."""

    of: Of
    unit: tuple[str, ...]
    keys: Int64s
    names: frozenset[str]
    too_many: frozenset[str] = frozenset()  # columns of which each chunk has words of its own

    def start(self) -> State:
        """No row."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with the rows of the units too."""
        mine = np.flatnonzero(is_among(unit_keys(rows, self.unit), self.keys))
        return _keep(rows.table, mine, first, self.names, self.too_many, tally)

    def merge(self, one: State, other: State) -> State:
        """The rows of both."""
        return {**one, **other}

    def finish(self, state: State, whole: Table) -> Table:
        """The rows as a table, in the order of their numbers."""
        return _joined(state, whole, self.names, self.too_many)


def _keep(
    table: Table,
    rows: Ints,
    first: int,
    names: frozenset[str],
    too_many: frozenset[str],
    tally: State,
) -> State:
    """The tally with some rows of a chunk, which begins with row `first`."""
    for name in names if rows.size else ():
        column = table[name]
        spelt = name in too_many and column.kind == "category"
        tally[f"{first}/{name}"] = _spelt(column, rows) if spelt else column.values[rows]
    if rows.size:
        tally[f"{first}/"] = rows + first
    return tally


def _joined(state: State, whole: Table, names: frozenset[str], too_many: frozenset[str]) -> Table:
    """The rows that were kept as a table, in the order of their numbers."""
    split = [key.partition("/") for key in state]
    firsts = sorted(int(first) for first, _, name in split if not name)
    columns = {}
    for name in sorted(names):
        column = whole[name]
        parts = [state[f"{first}/{name}"] for first in firsts]
        if name in too_many and column.kind == "category":
            columns[name] = _read(name, parts)
            continue
        values = np.concatenate([column.values[:0], *parts])
        columns[name] = Column(name, column.kind, values, column.categories, column.is_integer)
    return Table(columns, sum(state[f"{first}/"].size for first in firsts), whole.source)


def _spelt(column: Column, rows: Ints) -> NDArray[np.uint8]:
    """The words of some rows as bytes: of each its length and a colon, then its letters."""
    words = [column.categories[code] if code >= 0 else None for code in column.values[rows]]
    encoded = [b"-:" if word is None else _counted(word.encode()) for word in words]
    return np.frombuffer(b"".join(encoded), np.uint8)


def _counted(word: bytes) -> bytes:
    return str(len(word)).encode() + b":" + word


def _read(name: str, parts: list[NDArray[np.uint8]]) -> Column:
    """The column of words that were spelt, in the order of the parts."""
    words: list[str | None] = []
    for part in parts:
        content, place = part.tobytes(), 0
        while place < len(content):
            colon = content.index(b":", place)
            length = content[place:colon]
            place = colon + 1 + (0 if length == b"-" else int(length))
            words.append(None if length == b"-" else content[colon + 1 : place].decode())
    categories = tuple(sorted({word for word in words if word is not None}))
    codes = {word: code for code, word in enumerate(categories)}
    values = np.array([-1 if word is None else codes[word] for word in words], np.int32)
    return Column(name, "category", values, categories)


def under(state: State, place: int) -> State:
    """What the state holds for one of several, under its own names."""
    start = f"{place}/"
    return {key.removeprefix(start): state[key] for key in state if key.startswith(start)}


def put(state: State, place: int, mine: State) -> None:
    """Put what one of several has found into the state, in place of what was there for it."""
    state |= {f"{place}/{key}": values for key, values in mine.items()}


@dataclass(frozen=True, slots=True)
class Pass:
    """The job that answers several questions in one pass over the rows.

    Without a `split`, all rows are of one kind, `of`.
    """

    tallied: tuple[Tallied, ...]
    statistics: dict[str, Node]
    columns: frozenset[str] | None
    split: AnySplit | None
    of: Of

    def start(self) -> State:
        """The start of each."""
        state: State = {}
        for place, one in enumerate(self.tallied):
            put(state, place, one.start())
        return state

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state with the rows of the chunk too."""
        seen = int(state[SEEN][0]) if SEEN in state else 0
        rows, n_held_out = self._divide(chunk, seen)
        if self.split is not None:
            state[SEEN] = np.array([seen + n_held_out])
        for place, one in enumerate(self.tallied):
            if one.of in rows:
                some, first = rows[one.of]
                put(state, place, one.add(some, first, under(state, place)))
        return state

    def merge(self, first: State, second: State) -> State:
        """Each merged."""
        state: State = {}
        for place, one in enumerate(self.tallied):
            put(state, place, one.merge(under(first, place), under(second, place)))
        return state

    def _divide(self, chunk: Chunk, seen: int) -> tuple[dict[Of, tuple[Rows, int]], int]:
        """The chunk's rows of each kind that is asked about, numbered among their kind.

        And how many are held out; `seen` are those in the chunks of the same part before it.
        """
        if self.split is None:
            return {self.of: (Rows(chunk.table, self.statistics), chunk.first)}, 0
        held_out = self.split.held_out(chunk)
        before = self.split.before(chunk, seen)
        parts: dict[Of, Any] = {
            "train": (~held_out, chunk.first - before),
            "valid": (held_out, before),
        }
        divided: dict[Of, tuple[Rows, int]] = {
            of: (Rows(chunk.table.take(np.flatnonzero(mask)), self.statistics), first)
            for of, (mask, first) in parts.items()
            if any(one.of == of for one in self.tallied)
        }
        return divided, int(np.count_nonzero(held_out))
