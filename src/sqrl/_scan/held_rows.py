"""Rows in memory that jobs are run over as over a scan's: slice by slice, on threads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from sqrl._data.table import CHUNK_ROWS, Table, take_rows
from sqrl._kernels.dispatch import expect
from sqrl._kernels.threads import available_cores, keep_freed_memory, run
from sqrl._progress import Track, labelled
from sqrl._rows.order_statistics import OrderStatistics
from sqrl._rows.questions import MemoryAnswers, Question
from sqrl._rows.rows import Rows
from sqrl._scan.answers import ScanAnswers
from sqrl._scan.job import Chunk, Job, State
from sqrl._scan.sample import SampledRows, sample_every, sampled_rows

MANY_ROWS = CHUNK_ROWS  # of fewer, sorting is quick enough, and needs no compiled loop
MEMORY = 1 << 30  # that searches may take, beside the rows
RUNS_A_CORE = 4  # of slices that follow one another, with a state each


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """A table in memory, of which jobs read the columns in `names`."""

    table: Table
    names: frozenset[str]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.table.n_rows

    @property
    def sample(self) -> SampledRows:
        """Some of the rows, as a scan draws them."""
        every = sample_every(self.n_rows, len(self.names), MEMORY)
        return SampledRows(
            take_rows(self.table, sampled_rows(0, self.n_rows, every), self.names), None
        )

    def run(
        self, job: Job, label: str, track: Track | None, *, threads: int | None = None
    ) -> State:
        """The state of a job over all rows; with one thread, rows are added in their order.

        Cost: that of the job; memory for what is computed of a slice, and a state, by each thread.
        """
        expect(self.n_rows)
        keep_freed_memory()
        cores = 1 if threads == 1 or self.n_rows <= CHUNK_ROWS else available_cores()
        n_slices = max(1, -(-self.n_rows // CHUNK_ROWS))
        n_runs = 1 if cores == 1 else min(n_slices, cores * RUNS_A_CORE)
        edges = [n_slices * place // n_runs for place in range(n_runs + 1)]
        states: dict[int, State] = {}
        done: list[int] = []  # rows of the slices that are done
        told = labelled(track, label)

        def add_slice(place: int, number: int) -> None:
            first = number * CHUNK_ROWS
            last = min(first + CHUNK_ROWS, self.n_rows)
            rows = take_rows(self.table, slice(first, last), self.names)
            state = states[place] if place in states else job.start()
            states[place] = job.summarise(Chunk(first, rows), state)
            done.append(last - first)

        def add_run(place: int) -> None:
            for number in range(edges[place], edges[place + 1]):
                add_slice(place, number)

        work = [partial(add_run, place) for place in range(n_runs)]
        if n_runs == 1:  # so that progress is told after each slice
            work = [partial(add_slice, 0, number) for number in range(n_slices)]
        watch = None if told is None else lambda *_: told(sum(done), self.n_rows)
        run([work], threads=cores, track=watch)
        return reduce(job.merge, (states[place] for place in range(n_runs)))


class HeldAnswers(MemoryAnswers):
    """Answers of many rows in memory: order statistics, and some others, as a scan finds them.

    Sorting ten million rows for each expression and bucket takes many times as long as looking for
    the few order statistics that are asked for, all at once, in slices that fit the cache.
    """

    def __init__(
        self,
        train: Rows,
        valid: Rows | None,
        names: frozenset[str],
        in_slices: tuple[type[Any], ...],
    ) -> None:
        super().__init__(train, valid)
        self._in_slices: tuple[type[Any], ...] = (OrderStatistics, *in_slices)
        held = (None if rows is None else HeldRows(rows.table, names) for rows in (train, valid))
        first, second = held
        assert first is not None
        statistics = dict(train.statistics)
        self._passes = ScanAnswers(first, second, None, statistics, names, MEMORY)

    def _answers(self, questions: list[Question], track: Track | None) -> list[Any]:
        together = [place for place, q in enumerate(questions) if isinstance(q, self._in_slices)]
        self._passes.track = track
        found = dict(zip(together, self._of_slices(questions, together), strict=True))
        others = [question for place, question in enumerate(questions) if place not in found]
        rest = iter(super()._answers(others, track))
        return [found[at] if at in found else next(rest) for at in range(len(questions))]

    def _of_slices(self, questions: list[Question], places: Sequence[int]) -> list[Any]:
        return self._passes.answers([questions[place] for place in places]) if places else []
