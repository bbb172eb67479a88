"""Questions that learning asks of rows, and answers of rows in memory.

What is inferred is written once, as generators that yield questions and are sent the answers. In
memory each question is answered at once; rows that are scanned answer all open questions together,
so that a scan of the data serves every template, on train and on held-out rows alike.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from sqrl._data.draws import draw_batches
from sqrl._kernels.arrays import Ints
from sqrl._progress import Track
from sqrl._rows.rows import Rows
from sqrl._rows.unit_batches import UnitBatches, UnitSizes, draw_units
from sqrl._rows.units import unit_keys
from sqrl.errors import LimitError

MOST_UNITS = 1 << 24  # whose keys and rows are held at once: 256 MiB
Of = Literal["train", "valid"]
T = TypeVar("T")


class Question(Protocol):
    """A question about the train rows or the held-out rows."""

    @property
    def of(self) -> Of:
        """Which rows it is about."""

    def answer(self, rows: Rows) -> Any:
        """The answer, where all rows are in memory."""


Asking = Generator[list[Question], list[Any], T]


def together(*askings: Asking[T]) -> Asking[list[T]]:
    """The results of all, asking at once what each of them asks at the time.

    >>> def ask(n):
    ...     answers = yield [n] * n
    ...     return sum(answers)
    >>> both = together(ask(1), ask(2))
    >>> next(both)
    [1, 2, 2]
    >>> try:
    ...     both.send([10, 20, 30])
    ... except StopIteration as done:
    ...     done.value
    [10, 50]
    """
    results: dict[int, T] = {}
    waiting: dict[int, list[Question]] = {}
    replies: dict[int, list[Any] | None] = dict.fromkeys(range(len(askings)))
    while True:
        for index, reply in replies.items():
            try:
                waiting[index] = (
                    next(askings[index]) if reply is None else askings[index].send(reply)
                )
            except StopIteration as done:
                results[index] = done.value
        if not waiting:
            return [results[index] for index in range(len(askings))]
        answers = iter((yield [question for asked in waiting.values() for question in asked]))
        replies = {index: [next(answers) for _ in asked] for index, asked in waiting.items()}
        waiting = {}


class Answers(Protocol):
    """Answers the questions, wherever the rows are."""

    def ask(self, askings: Sequence[Asking[T]], *, track: Track | None = None) -> list[T]:
        """The results of all."""


class MemoryAnswers:
    """Answers of rows in memory, question by question."""

    def __init__(self, train: Rows, valid: Rows | None) -> None:
        self._rows = {"train": train, "valid": valid}
        self._known: dict[Question, Any] = {}  # many templates have mini-batches of one size

    def ask(self, askings: Sequence[Asking[T]], *, track: Track | None = None) -> list[T]:
        """The results, one after the other, so that memory holds the work of one at a time."""
        return [self._ask(asking, track) for asking in askings]

    def _ask(self, asking: Asking[T], track: Track | None) -> T:
        try:
            questions = next(asking)
            while True:
                questions = asking.send(self._answers(questions, track))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    def _answers(self, questions: list[Question], track: Track | None) -> list[Any]:
        answers = []
        for place, question in enumerate(questions):
            rows = self._rows[question.of]
            assert rows is not None
            answers.append(self._answer(question, rows))
            if track:
                track("rows", place + 1, len(questions))
        return answers

    def _answer(self, question: Question, rows: Rows) -> Any:
        if not isinstance(question, AskedOften):
            return question.answer(rows)
        if question not in self._known:
            self._known[question] = question.answer(rows)
        return self._known[question]


@dataclass(frozen=True, slots=True)
class Draw:
    """Asks for mini-batches: rows that hold them all, and which of these are in each."""

    of: Of
    size: int
    n_batches: int
    seed: int

    def answer(self, rows: Rows) -> tuple[Rows, Ints]:
        """All the rows, and those of each mini-batch. Shapes: (n_batches, size)."""
        where = rows.table.source
        return rows, draw_batches(rows.n, self.size, self.n_batches, seed=self.seed, where=where)


@dataclass(frozen=True, slots=True)
class FindUnits:
    """Asks which units there are, and how many rows each has."""

    of: Of
    unit: tuple[str, ...]

    def start(self) -> dict[str, Any]:
        """No unit."""
        return {"keys": np.empty(0, np.int64), "n_rows": np.empty(0, np.int64)}

    def add(self, rows: Rows, first: int, tally: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """The tally with these rows too."""
        keys, n_rows = np.unique(unit_keys(rows, self.unit), return_counts=True)
        return self.merge(tally, {"keys": keys, "n_rows": n_rows})

    def merge(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        """The units of both."""
        joined = np.concatenate([one["keys"], other["keys"]])
        keys, place = np.unique(joined, return_inverse=True)
        if keys.size > MOST_UNITS:
            raise LimitError(
                f"There are more than {MOST_UNITS:,} units of {' and '.join(self.unit)}.",
                fix="write 'over 256', which is over rows, in place of 'over .. units'",
            )
        n_rows = np.bincount(place, np.concatenate([one["n_rows"], other["n_rows"]]), keys.size)
        return {"keys": keys, "n_rows": n_rows.astype(np.int64)}

    def finish(self, tally: dict[str, Any]) -> UnitSizes:
        """The units and their rows."""
        return UnitSizes(tally["keys"], tally["n_rows"])

    def answer(self, rows: Rows) -> UnitSizes:
        """The units and their rows, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


@dataclass(frozen=True, slots=True)
class DrawUnits:
    """Asks for mini-batches of units: rows that hold them all, and which of these are in each.

    `sizes` are the answer to `FindUnits`.
    """

    of: Of
    unit: tuple[str, ...]
    size: int
    n_batches: int
    seed: int
    sizes: UnitSizes = field(compare=False)

    def drawn(self, where: str) -> UnitBatches:
        """The units of each mini-batch."""
        given = self.sizes, self.unit, self.size, self.n_batches
        return draw_units(*given, seed=self.seed, where=where)

    def answer(self, rows: Rows) -> tuple[Rows, Ints]:
        """All the rows, and those of each mini-batch, -1 where it has no more."""
        return rows, self.drawn(rows.table.source).places(rows)


AskedOften = Draw | DrawUnits | FindUnits  # which are answered once
