"""Questions that learning asks of rows, and answers of rows in memory.

What is inferred is written once, as generators that yield questions and are sent the answers. In
memory each question is answered at once; rows that are scanned answer all open questions together,
so that a scan of the data serves every template, on train and on held-out rows alike.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from sqrl._data.draws import draw_batches
from sqrl._kernels.arrays import Ints
from sqrl._progress import Track
from sqrl._rows.rows import Rows

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
        self._drawn: dict[Question, Any] = {}  # many templates have mini-batches of one size

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
        if not isinstance(question, Draw):
            return question.answer(rows)
        if question not in self._drawn:
            self._drawn[question] = question.answer(rows)
        return self._drawn[question]


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
