"""Rows that are scanned answer all open questions together, in as few passes as they can."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from sqrl._data.draws import draw_batches
from sqrl._kernels.arrays import Ints
from sqrl._kernels.selection import Selection
from sqrl._kernels.selection_guess import Guess, Guessing
from sqrl._kernels.threads import run
from sqrl._language.tree import Node
from sqrl._progress import Track
from sqrl._rows.order_statistics import Ordered, OrderStatistics
from sqrl._rows.questions import (
    AskedOften,
    Asking,
    Draw,
    DrawUnits,
    FindUnits,
    Of,
    Question,
    together,
)
from sqrl._rows.rows import Rows
from sqrl._rows.unit_batches import UnitBatches
from sqrl._scan.facts import Facts, Scanned
from sqrl._scan.job import Job, State
from sqrl._scan.passes import Fetch, FetchUnits, Pass, Search, Tallied, under
from sqrl._scan.sample import RowSample, SampledRows, begin_searches
from sqrl._scan.split import AnySplit
from sqrl.errors import DataError

LEAST_EACH, MOST_EACH = 1 << 16, 1 << 20  # bytes of a summary: larger ones miss the cache
COLLECTED = 8  # values that guesses collect take at most this part of the memory, all together
T = TypeVar("T")
Fetching = tuple[Fetch, Ints] | tuple[FetchUnits, UnitBatches]


class Passed(Protocol):
    """Rows that a job is run over in one pass: scanned, or in memory."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def sample(self) -> SampledRows | None:
        """Some of the rows, to guess from."""

    def run(self, job: Job, label: str, track: Track | None) -> State:
        """The state of a job over all rows."""


@dataclass(slots=True, eq=False)
class ScanAnswers:
    """Answers questions by passes over train and held-out rows, of one source or of two.

    Cost: a pass finds the order statistics of all questions that are open where guesses are right
    and what they collect fits an eighth of the memory; see `Selection` for the rest. What else is
    asked takes one pass, which it shares.
    """

    train: Passed
    valid: Passed | None
    split: AnySplit | None
    statistics: dict[str, Node]
    names: frozenset[str]
    memory: int
    track: Track | None = None
    n_passes: int = 0
    _known: dict[AskedOften, Any] = field(default_factory=dict)
    _samples: dict[Of, RowSample | None] = field(default_factory=dict)

    def ask(self, askings: Sequence[Asking[T]], *, track: Track | None = None) -> list[T]:
        """The results of all, with a pass over the rows for all that is asked at a time."""
        self.track = track or self.track
        asking = together(*askings)
        try:
            questions = next(asking)
            while True:
                questions = asking.send(self.answers(questions))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    def n(self, of: Of) -> int:
        """How many rows there are of a kind."""
        if self.split is not None:
            return self.split.n_train if of == "train" else self.split.n_valid
        scanned = self.train if of == "train" else self.valid
        assert scanned is not None
        return scanned.n_rows

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        """The answer to each question."""
        searches = self._searches(questions)
        fetching, tallied = self._fetched_and_tallied(questions)
        found: dict[int, Any] = {}
        waiting: dict[int, Tallied] = {
            **tallied,
            **{place: fetch for place, (fetch, _) in fetching.items()},
        }
        while waiting or any(not search.is_done for search in searches.values()):
            waiting |= {p: search.round() for p, search in searches.items() if not search.is_done}
            states = self._pass(waiting)
            narrowing = [
                work for p in searches if p in states for work in searches[p].narrow(states[p])
            ]
            run([narrowing], threads=None, track=None)  # each sorts what its search has collected
            for place, state in states.items():
                if place in searches:
                    continue
                if place in fetching:
                    self._keep(questions[place], fetching[place], state)
                elif isinstance(question := questions[place], FindUnits):
                    self._known[question] = question.finish(state)
                else:
                    found[place] = tallied[place].finish(state)
            waiting = {}
        for place, question in enumerate(questions):
            if isinstance(question, AskedOften):
                found[place] = self._known[question]
            elif place in searches:
                found[place] = searches[place].found()
        return [found[place] for place in range(len(questions))]

    def _fetched_and_tallied(
        self, questions: Sequence[Question]
    ) -> tuple[dict[int, Fetching], dict[int, Any]]:
        """What is to be fetched, and what is to be counted, by the place of the question.

        Rules of one size share their mini-batches: each is fetched once, as units are found once.
        """
        fetching, tallied, often = dict[int, Fetching](), dict[int, Any](), set[AskedOften]()
        for place, question in enumerate(questions):
            if isinstance(question, AskedOften):
                if question in often or question in self._known:
                    continue
                often.add(question)
            if isinstance(question, Draw | DrawUnits):
                fetching[place] = self._fetching(question)
            elif not isinstance(question, OrderStatistics):
                tallied[place] = question
        return fetching, tallied

    def _searches(self, questions: Sequence[Question]) -> "dict[int, _Searching]":
        """The search that each question for order statistics begins, by the question's place."""
        asked = {
            place: question
            for place, question in enumerate(questions)
            if isinstance(question, OrderStatistics)
        }
        n_searches = max(1, sum(len(question.subjects) for question in asked.values()))
        most_bytes = min(MOST_EACH, max(LEAST_EACH, self.memory // 16 // n_searches))
        found = {place: self._guesses(question) for place, question in asked.items()}
        self._samples.clear()  # what is computed of them takes more memory than time
        rounds = begin_searches(found, most_bytes, self.memory // COLLECTED)
        return {
            place: _Searching(question, most_bytes, rounds[place])
            for place, question in asked.items()
        }

    def _guesses(self, question: OrderStatistics) -> list[Guess | None]:
        sample = self._sample(question.of)
        return [None] * len(question.subjects) if sample is None else sample.guesses(question)

    def _sample(self, of: Of) -> RowSample | None:
        """The rows of a kind to guess from, if there are any."""
        if of not in self._samples:
            scanned = self.train if self.split is not None or of == "train" else self.valid
            sampled = None if scanned is None else scanned.sample
            made = None
            if sampled is not None:
                is_train = self.split is None or of == "train"
                made = sampled.of_kind(self.statistics, self.n(of), train=is_train)
            self._samples[of] = made
        return self._samples[of]

    def _pass(self, waiting: Mapping[int, Tallied]) -> dict[int, dict[str, Any]]:
        """What one pass finds for each; two where held-out rows are in files of their own."""
        found: dict[int, dict[str, Any]] = {}
        self.n_passes += 1
        for of, scanned in (("train", self.train), ("valid", self.valid)):
            mine = {
                place: one
                for place, one in waiting.items()
                if self.split is not None or one.of == of
            }
            if scanned is None or not mine or (self.split is not None and of == "valid"):
                continue
            job = Pass(tuple(mine.values()), self.statistics, self.names, self.split, of)  # type: ignore[arg-type]
            state = scanned.run(job, f"pass {self.n_passes}", self.track)
            found |= {place: under(state, index) for index, place in enumerate(mine)}
        return found

    def _fetching(self, draw: Draw | DrawUnits) -> Fetching:
        """What to fetch for mini-batches, and the mini-batches by row number or by unit."""
        where, facts = self._facts("train").source, self._facts(draw.of)
        if isinstance(draw, DrawUnits):
            units = draw.drawn(facts.source)
            self._check_memory(draw.n_batches, units.width, where)
            wanted = np.unique(units.units)
            return FetchUnits(draw.of, draw.unit, wanted, self.names, facts.too_many), units
        self._check_memory(draw.n_batches, draw.size, where)
        n_rows = self.n(draw.of)
        batches = draw_batches(n_rows, draw.size, draw.n_batches, seed=draw.seed, where=where)
        return Fetch(draw.of, np.unique(batches), self.names, facts.too_many), batches

    def _check_memory(self, n_batches: int, n_rows: int, where: str) -> None:
        """Raise where mini-batches take more memory than is allowed."""
        n_bytes = 8 * n_rows * n_batches * (2 + len(self.names))
        if n_bytes > self.memory:
            raise DataError(
                f"{n_batches:,} mini-batches of {n_rows:,} rows take {n_bytes:,} bytes, "
                f"more than the {self.memory:,} allowed.",
                where=where,
                fix="allow more memory (--memory), or ask for fewer or smaller mini-batches",
            )

    def _keep(self, draw: Any, fetching: Fetching, state: dict[str, Any]) -> None:
        fetch, batches = fetching
        rows = Rows(fetch.finish(state, self._facts(draw.of).whole), self.statistics)
        if isinstance(batches, UnitBatches):
            self._known[draw] = rows, batches.places(rows)
        else:
            assert isinstance(fetch, Fetch)
            self._known[draw] = rows, np.searchsorted(fetch.numbers, batches)

    def _facts(self, of: Of) -> Facts:
        scanned = self.valid if of == "valid" and self.valid is not None else self.train
        assert isinstance(scanned, Scanned)  # mini-batches of rows in memory are not fetched
        return scanned.facts


class _Searching:
    """The search for the order statistics that one question asks for."""

    def __init__(
        self,
        order: OrderStatistics,
        most_bytes: int,
        guesses: Sequence[Guessing | None],
    ) -> None:
        self._order = order
        self._selections = [
            Selection(order.n_groups, order.wants, most_bytes=most_bytes, guess=guess)
            for guess in guesses
        ]

    @property
    def is_done(self) -> bool:
        return all(selection.is_done for selection in self._selections)

    def round(self) -> Search:
        rounds = (None if one.is_done else one.round for one in self._selections)
        return Search(self._order, tuple(rounds))

    def narrow(self, state: dict[str, Any]) -> list[Callable[[], None]]:
        """What is to be done for the next round, each of which can be done beside the others."""
        return [
            partial(selection.narrow, under(state, place))
            for place, selection in enumerate(self._selections)
            if not selection.is_done
        ]

    def found(self) -> list[Ordered]:
        return [Ordered(one.counts, one.values, one.through) for one in self._selections]
