"""The mini-batches of a check: drawn, fetched as many together as memory holds, and measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqrl._check.probabilities import Probabilities
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.sources import Fetched, Source
from sqrl._data.draws import draw_batches, shuffle_rows, shuffled_batches
from sqrl._data.table import CHUNK_ROWS, Table, take_rows
from sqrl._kernels.arrays import Floats, Int64s, distinct
from sqrl._language.forms import Form
from sqrl._language.kinds import handler
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Node, Over, Units, over_order
from sqrl._progress import Track
from sqrl._rows.packed_batches import PackedBatches, count_formula
from sqrl._rows.questions import FindUnits
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import count_batches
from sqrl._rows.unit_batches import UnitBatches, check_has_unit, disjoint_units, draw_units
from sqrl._rules.needed_columns import columns_of
from sqrl._scan.job import State
from sqrl._scan.passes import Tallied

Window = list[tuple[Over, range]]  # mini-batches of some sizes whose rows are fetched together


class MiniBatches:
    """The mini-batches of each size that a rule asks for: `asked` drawn ones, else disjoint ones.

    Where they are of units, `unit` has the columns that name one, and the units are counted first.
    `values` are the statistics of the rules of a size on mini-batches, `weighted_values` those by
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
        unit: tuple[str, ...] = (),
    ) -> None:
        self._source, self._forms, self._predicted = source, forms, predicted
        self._asked, self._seed, self._keeps_rows = asked, seed, keeps_rows
        self._unit = unit
        sizes = sorted({form.over for form in forms if form.over is not None}, key=over_order)
        self.places = {
            size: [place for place, form in enumerate(forms) if form.over == size] for size in sizes
        }
        self.rows: dict[Over, Int64s] = {}
        self._units: dict[Over, UnitBatches] = {}
        self.n_units = 0  # counted where mini-batches are of units
        self.values = {size: np.empty((len(mine), 0)) for size, mine in self.places.items()}
        self.weighted_values = dict(self.values)
        self.overlapping: set[Over] = set()

    def run(
        self, tallied: Sequence[Tallied], *, once: bool = False, track: Track | None = None
    ) -> list[State]:
        """What one pass counts; it fetches mini-batches too, and if they are many, others do."""
        self._draw_units()
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

    def _draw_units(self) -> None:
        """Draw the units of all mini-batches of such, by a pass that counts the units."""
        sizes = [over for over in self.places if isinstance(over, Units)]
        if not sizes:
            return
        check_has_unit(self._forms, self._unit)
        find, where = FindUnits("train", self._unit), self._source.whole.source
        found = find.finish(self._source.run([find], [])[0][0])
        self.n_units = found.n
        for over in sizes:
            given = found, self._unit, over.n
            if self._asked is None:
                self._units[over] = disjoint_units(*given, seed=self._seed, where=where)
                continue
            drawn = draw_units(*given, self._asked, seed=self._seed, where=where)
            self._units[over] = drawn
            if distinct(drawn.units).size < drawn.units.size:
                self.overlapping.add(over)

    def _total(self, size: Over) -> int:
        if isinstance(size, Units):
            return len(self._units[size].units)
        return self._source.whole.n_rows // size if self._asked is None else self._asked

    def _most_rows(self, size: Over) -> int:
        """How many rows a mini-batch has, at most."""
        return max(self._units[size].width, 1) if isinstance(size, Units) else size

    def _windows(self) -> Iterator[Window]:
        """The mini-batches that memory holds at a time."""
        window: Window = []
        room = self._source.most_rows
        for size in self.places:
            done, n_rows = 0, self._most_rows(size)
            while done < self._total(size):
                fits = room // n_rows if window else max(1, room // n_rows)
                if fits <= 0:
                    yield window
                    window, room = [], self._source.most_rows
                    continue
                until = min(self._total(size), done + fits)
                window.append((size, range(done, until)))
                room -= (until - done) * n_rows
                done = until
        if window:
            yield window

    def _draw(self, size: Over, which: range) -> Int64s | UnitBatches:
        """The rows of some mini-batches; all of a size are kept where they are drawn together."""
        if isinstance(size, Units):
            drawn = self._units[size]
            return replace(drawn, units=drawn.units[which.start : which.stop])
        whole = self._source.whole
        if self._asked is None and len(which) < self._total(size):
            return shuffled_batches(whole.n_rows, size, which, seed=self._seed)
        if size not in self.rows:
            if not self._keeps_rows:
                self.rows.clear()
            given = whole.n_rows, size, self._asked
            self.rows[size] = make_batches(*given, seed=self._seed, where=whole.source)
            if self._asked is not None and distinct(self.rows[size]).size < self.rows[size].size:
                self.overlapping.add(size)
        return self.rows[size][which.start : which.stop]

    def _measure(self, size: Over, fetched: Fetched) -> None:
        """Add the statistics of some mini-batches to the values."""
        if isinstance(size, Units) and self._keeps_rows:
            self.rows[size] = fetched.places
        forms = [self._forms[place] for place in self.places[size]]
        given = forms, fetched.table, self._source.statistics, fetched.places
        found = measure_batches(*given, at_once=CHUNK_ROWS)
        self.values[size] = np.concatenate([self.values[size], found], axis=1)
        if self._predicted is not None:
            found = measure_batches(*given, predicted=self._predicted, at_once=CHUNK_ROWS)
            weighted = self.weighted_values[size]
            self.weighted_values[size] = np.concatenate([weighted, found], axis=1)


def make_batches(n_rows: int, size: int, n_batches: int | None, *, seed: int, where: str) -> Int64s:
    """Rows of each mini-batch: disjoint ones from shuffled rows, or as many drawn as are asked for.

    Disjoint mini-batches share no row, so that each speaks for itself; rows that do not fill one
    are left out.

    >>> make_batches(7, 3, None, seed=0, where="rows").shape
    (2, 3)
    """
    if n_batches is not None:
        return draw_batches(n_rows, size, n_batches, seed=seed, where=where)
    fit = n_rows // size
    return shuffle_rows(n_rows, seed=seed)[: fit * size].reshape(fit, size)


def measure_batches(
    forms: Sequence[Form],
    table: Table,
    statistics: Mapping[str, Node],
    batches: Int64s,
    *,
    predicted: Probabilities | None = None,
    at_once: int,
) -> Floats:
    """The statistic of each `batch` or `logic` rule on each mini-batch; nan where undefined.

    With `predicted`, a head counts by its probability: the expected statistic under the predicted
    distribution; nan where a rule speaks of the label elsewhere.

    Shapes: batches (k, size), -1 for no row, result (n_forms, k). Cost: one pass over the rows of
    the mini-batches for each rule; memory for `at_once` rows, or those of one mini-batch.
    """
    n_batches, size = batches.shape
    values = np.full((len(forms), n_batches), np.nan)
    step = max(1, at_once // max(1, size))
    is_row = None if (batches >= 0).all() else batches >= 0
    names = columns_of(forms, statistics)
    for first in range(0, n_batches, step):
        chosen = batches[first : first + step].ravel()
        rows = Rows(take_rows(table, chosen, names), statistics)
        here = None if predicted is None else predicted.take(chosen)
        counts = None if is_row is None else is_row[first : first + step].ravel()
        part = PackedBatches(rows, len(batches[first : first + step]), counts)
        for index, form in enumerate(forms):
            values[index, first : first + step] = _measure(form, part, here)
    return values


def _measure(form: Form, batches: PackedBatches, predicted: Probabilities | None) -> Floats:
    """The statistic of each mini-batch."""
    assert form.statistic is not None
    rows = batches.rows
    if predicted is not None and not predicted.can_weigh(form, rows.statistics):
        return np.full(batches.n, np.nan)
    given = handler(GIVEN_TO_STATISTIC, form.kind, "batches")(form, batches, predicted)
    return batch_statistic(form.statistic)(*given)


def _values(
    form: Form,
    batches: PackedBatches,
    predicted: Probabilities | None,  # noqa: ARG001
) -> tuple[Floats, ...]:
    """The values that an expression takes on the rows of each mini-batch."""
    assert form.subject is not None
    rows = batches.rows
    here = batches.counts(rows.all_true(form.given))
    return (np.where(here, rows.numbers(form.subject), np.nan).reshape(batches.n, -1),)


def _counts(
    form: Form, batches: PackedBatches, predicted: Probabilities | None
) -> tuple[Floats, ...]:
    """How many rows of each mini-batch are in the body, the head, both and in all."""
    head = () if form.head is None else (form.head,)
    if predicted is not None and predicted.names(head, batches.rows.statistics):
        return tuple(_weighted_counts(form, batches, predicted.of(head)))
    return count_formula(form, batches)


def _cells(
    form: Form,
    batches: PackedBatches,
    predicted: Probabilities | None,  # noqa: ARG001
) -> tuple[Floats, ...]:
    """How many rows of each mini-batch are in each cell, and how many of the reference."""
    assert form.reference is not None
    reference = form.reference.table
    codes = batches.codes.of(form)
    if batches.is_row is not None:
        codes = np.where(batches.is_row, codes, np.int32(-1))
    counts = count_batches(codes.reshape(batches.n, -1), reference.size).astype(np.float64)
    return counts.reshape(batches.n, *reference.shape), reference


GIVEN_TO_STATISTIC: Mapping[
    str, Callable[[Form, PackedBatches, Probabilities | None], tuple[Floats, ...]]
] = {"batch": _values, "logic": _counts, "shares": _cells}


def _weighted_counts(form: Form, batches: PackedBatches, head: Floats) -> Iterator[Floats]:
    """The four counts of each mini-batch with the head counted by its probability."""
    here = batches.counts(batches.rows.all_true(form.given) & ~np.isnan(head))
    body = here & batches.rows.all_true(form.body)
    heads = np.where(here, head, 0.0), np.where(body, head, 0.0)
    for weight in (body.astype(np.float64), *heads, here.astype(np.float64)):
        yield np.asarray(weight.reshape(batches.n, -1).sum(axis=1))


def outside_counts(forms: Sequence[Form], values: Floats) -> tuple[Int64s, Int64s]:
    """On how many mini-batches each statistic is defined, and on how many outside its bounds."""
    ends = np.array([interval_ends(form) for form in forms])
    outside = (values < ends[:, 0]) | (values > ends[:, 1])
    return np.count_nonzero(~np.isnan(values), axis=1), np.count_nonzero(outside, axis=1)
