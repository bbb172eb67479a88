"""The mini-batches of a check: drawn, fetched as many together as memory holds, and measured."""

from collections.abc import Iterator, Sequence

import numpy as np

from sqrl._check.batch_outcomes import make_batches, measure_batches
from sqrl._check.probabilities import Probabilities
from sqrl._check.sources import Fetched, Source
from sqrl._data.draws import shuffled_batches
from sqrl._data.table import CHUNK_ROWS
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._progress import Track
from sqrl._scan.job import State
from sqrl._scan.passes import Tallied

Window = list[tuple[int, range]]  # mini-batches of some sizes whose rows are fetched together


class MiniBatches:
    """The mini-batches of each size that a rule asks for: `asked` drawn ones, else disjoint ones.

    `values` are the statistics of the rules of a size on each mini-batch, `weighted_values` those under
    predicted probabilities. `rows` are the mini-batches' own, of all sizes where these are kept;
    `overlapping` are the sizes of which mini-batches share rows.
    """

    def __init__(
        self,
        source: Source,
        forms: Sequence[Form],
        *,
        asked: int | None,
        seed: int,
        predicted: Probabilities | None,
        keeps_rows: bool,
    ) -> None:
        self._source, self._forms, self._predicted = source, forms, predicted
        self._asked, self._seed, self._keeps_rows = asked, seed, keeps_rows
        sizes = sorted({form.over for form in forms if form.over is not None})
        self.places = {
            size: [place for place, form in enumerate(forms) if form.over == size] for size in sizes
        }
        self.rows: dict[int, Int64s] = {}
        self.values = {size: np.empty((len(mine), 0)) for size, mine in self.places.items()}
        self.weighted_values = dict(self.values)
        self.overlapping: set[int] = set()

    def run(
        self, tallied: Sequence[Tallied], *, once: bool = False, track: Track | None = None
    ) -> list[State]:
        """What one pass counts; it fetches mini-batches too, and if they are many, others do."""
        windows = list(self._windows()) or [[]]
        n_done, total = 0, sum(map(len, windows))
        counted: list[State] = []
        for window in windows:
            is_first = window is windows[0]
            drawn = [self._draw(size, which) for size, which in window]
            states, fetched = self._source.run(
                tallied if is_first else (), drawn, once=once and is_first
            )
            counted += states
            for (size, _), rows in zip(window, fetched, strict=True):
                self._measure(size, rows)
                n_done += 1
                if track:
                    track("mini-batches", n_done, total)
        return counted

    def by_rule(self) -> dict[int, Floats]:
        """The values of each rule about mini-batches, by its place."""
        return {
            place: line
            for size, mine in self.places.items()
            for place, line in zip(mine, self.values[size], strict=True)
        }

    def _total(self, size: int) -> int:
        return self._source.whole.n_rows // size if self._asked is None else self._asked

    def _windows(self) -> Iterator[Window]:
        """The mini-batches that memory holds at a time."""
        window: Window = []
        room = self._source.most_rows
        for size in self.places:
            done = 0
            while done < self._total(size):
                fits = room // size if window else max(1, room // size)
                if fits <= 0:
                    yield window
                    window, room = [], self._source.most_rows
                    continue
                until = min(self._total(size), done + fits)
                window.append((size, range(done, until)))
                room -= (until - done) * size
                done = until
        if window:
            yield window

    def _draw(self, size: int, which: range) -> Int64s:
        """The rows of some mini-batches; all of a size are kept where they are drawn together."""
        whole = self._source.whole
        if self._asked is None and len(which) < self._total(size):
            return shuffled_batches(whole.n_rows, size, which, seed=self._seed)
        if size not in self.rows:
            if not self._keeps_rows:
                self.rows.clear()
            given = whole.n_rows, size, self._asked
            self.rows[size] = make_batches(*given, seed=self._seed, where=whole.source)
            if self._asked is not None and np.unique(self.rows[size]).size < self.rows[size].size:
                self.overlapping.add(size)
        return self.rows[size][which.start : which.stop]

    def _measure(self, size: int, fetched: Fetched) -> None:
        """Add the statistics of some mini-batches to the values."""
        forms = [self._forms[place] for place in self.places[size]]
        given = forms, fetched.table, self._source.statistics, fetched.places
        for values, predicted in (
            (self.values, None),
            (self.weighted_values, self._predicted),
        ):
            if values is self.values or predicted is not None:
                found = measure_batches(*given, predicted=predicted, at_once=CHUNK_ROWS)
                values[size] = np.concatenate([values[size], found], axis=1)
