"""Bounds of `distance(axis given axis) <= ? over n`: how far shares are from the reference.

The reference comes first: which cells there are is decided on the train rows, and all rows, train
and held-out, are counted in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.printer import to_text
from sqrl._language.reference import MOST_CELLS, CellAxis, Reference
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Bucket, Node
from sqrl._learn.bounds.batch import finished_piece
from sqrl._learn.bounds.measure import Bounds, Sampler, SubjectMeasure, Track
from sqrl._learn.bounds.share_questions import AxisValues, CellTable, Chosen, CountCells, Place
from sqrl._learn.domains import percentiles_of
from sqrl._rows.order_statistics import ForCuts, Ordered, OrderStatistics
from sqrl._rows.quantiles import BoundMethod, grouped_bounds
from sqrl._rows.questions import Asking, Question
from sqrl._rows.share_cells import axis_item, count_batches
from sqrl._rules.schema import Schema
from sqrl.errors import SchemaError

DEFAULT_BUCKETS = 10
MOST_WORDS = 50  # that have cells of their own
OWN_CELL = 1.5  # buckets of rows that one number has, if it gets a cell of its own


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An axis to be divided, on the rows of a place."""

    place: Place
    item: Node
    n_buckets: int

    @property
    def limit(self) -> int:
        """How many numbers have a cell each; more are cut into buckets."""
        return 2 * self.n_buckets


@dataclass(slots=True, eq=False)
class SharesMeasure(SubjectMeasure):
    """Bounds of a distance of shares from those of the reference.

    Cost: codes of cells once for each axis, then one count over all mini-batches for each
    candidate.
    """

    table: Table
    choices: list[tuple[Node, ...]] = field(init=False)
    tables: list[CellTable] = field(init=False)
    counts: list[Int64s] = field(init=False)
    which_table: Int64s = field(init=False)

    def __post_init__(self) -> None:
        form = self.candidates.template.form
        choices, self.which_subject = self.candidates.distinct(*form.axes)
        template = self.candidates.template
        self.choices = [
            tuple(template.fill(axis, choice) for axis in form.axes) for choice in choices
        ]
        self.subjects, self.n_pieces = [], 1
        self.cell = np.zeros(self.candidates.n, np.int64)
        for index, each in enumerate(template.cells):
            self.cell = self.cell * each.n_buckets + self.candidates.columns[f"bucket {index + 1}"]

    def look(self, schema: Schema) -> Asking[None]:
        """Decide on the cells and count the rows of the reference in them."""
        keys = np.stack([self.grid.which, self.cell, self.which_subject], axis=1)
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        self.which_table = which.ravel().astype(np.int64)
        wanted = [
            [
                _Wanted(Place(condition, cell), axis_item(axis), _n_buckets(axis))
                for axis in self.choices[choice]
            ]
            for condition, cell, choice in distinct.tolist()
        ]
        lines = list(dict.fromkeys(one for line in wanted for one in line))
        axes = yield from self._divide(lines, schema)
        drafts = [
            CellTable(
                line[0].place,
                tuple(one.item for one in line),
                tuple(axes[one].fine for one in line),
            )
            for line in wanted
        ]
        for draft in drafts:
            _check_size(draft)
        asked: list[Question] = [CountCells("train", self.grid, tuple(drafts))]
        if schema.validate:
            asked.append(CountCells("valid", self.grid, tuple(drafts)))
        train, *others = yield asked
        self.tables, self.counts = [], []
        for place, (line, draft) in enumerate(zip(wanted, drafts, strict=True)):
            found = [of[place].reshape(draft.shape) for of in (train, *others)]
            total = np.sum(found, axis=0)
            chosen = []
            for number, one in enumerate(line):
                along = len(line) - 1 - number  # the strata come first
                mass = found[0].sum(axis=1 - along) if len(line) > 1 else found[0]
                axis, starts = axes[one].chosen(mass, one.n_buckets)
                total = np.add.reduceat(total, starts, axis=along)
                chosen.append(axis)
            self.tables.append(CellTable(draft.place, draft.items, tuple(chosen)))
            self.counts.append(total.ravel())

    def _divide(self, lines: Sequence[_Wanted], schema: Schema) -> "Asking[dict[_Wanted, _Draft]]":
        """The cells that each axis may have; numbers that are many are cut at train quantiles."""
        asked = AxisValues(
            "train", self.grid, tuple((one.place, one.item, one.limit) for one in lines)
        )
        (values,) = yield [asked]
        made: dict[_Wanted, _Draft] = {}
        many: dict[tuple[tuple[float, ...], Node], list[_Wanted]] = {}
        for one, found in zip(lines, values, strict=True):
            if found.dtype.kind == "i":
                words = self.table[one.item.name].categories  # type: ignore[attr-defined]
                made[one] = _Draft(CellAxis(words=_most_frequent(words, found)))
            elif found.size <= one.limit:
                made[one] = _Draft(CellAxis(numbers=tuple(found.tolist())))
            else:
                percentiles = tuple(percentiles_of(one.n_buckets, schema))
                many.setdefault((percentiles, one.item), []).append(one)
        together: dict[tuple[tuple[float, ...], tuple[int, ...]], list[Node]] = {}
        for (percentiles, item), mine in many.items():
            conditions = tuple(sorted({one.place.condition for one in mine}))
            together.setdefault((percentiles, conditions), []).append(item)
        answers = yield [
            OrderStatistics("train", self.grid, conditions, tuple(items), ForCuts(percentiles))
            for (percentiles, conditions), items in together.items()
        ]
        for ((percentiles, conditions), items), found in zip(
            together.items(), answers, strict=True
        ):
            for item, ordered in zip(items, found, strict=True):
                cuts = ForCuts(percentiles).cuts(ordered)
                for one in many[percentiles, item]:
                    group = conditions.index(one.place.condition) * self.grid.n_cells
                    group += one.place.cell
                    made[one] = _cut(ordered, cuts[group], group, one.n_buckets)
        return made

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bounds of every candidate on mini-batches of the sampler."""
        form = self.candidates.template.form
        assert form.over is not None
        assert form.statistic is not None
        statistic = batch_statistic(form.statistic)
        rows, batches = yield from sampler.draw(form.over)
        chosen = Chosen(rows, self.grid)
        measured = np.full((len(self.tables), len(batches)), np.nan)
        for number, (table, counts) in enumerate(zip(self.tables, self.counts, strict=True)):
            codes, here = chosen.codes(table), chosen.rows(table.place)
            some = slice(rows.n) if here is None else here
            here_only = np.full(rows.n + 1, -1, np.int32)  # the last for -1, no row
            here_only[some] = codes[some]
            in_batches = count_batches(here_only[batches], table.n_cells)
            shape = (-1, table.axes[0].n_cells)
            measured[number] = statistic(
                in_batches.reshape(len(batches), *shape).astype(np.float64),
                counts.reshape(shape).astype(np.float64),
            )
            if track:
                track(number + 1, len(self.tables))
        group = np.repeat(np.arange(len(self.tables)), len(batches))
        lower, upper, support = grouped_bounds(measured.ravel(), group, len(self.tables), method)
        which = self.which_table
        exists = self.grid.exists()[self.grid.which, self.cell]
        exists &= np.array([counts.sum() > 0 for counts in self.counts])[which]
        support = np.where(exists, support[which], -1)
        return Bounds(lower[which, None], upper[which, None], support[:, None])

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        form = self.candidates.template.form
        number = int(self.which_table[candidate])
        return Form(
            kind="shares",
            given=self.given(candidate),
            statistic=form.statistic,
            axes=self.choices[int(self.which_subject[candidate])],
            reference=Reference(
                axes=self.tables[number].axes, counts=tuple(self.counts[number].tolist())
            ),
            pieces=(finished_piece(bounds, candidate, self.method),),
            over=form.over,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """The cells that rows are first counted in; of numbers in buckets perhaps more than are kept.

    `cuts` are those of buckets, `often` the numbers that may have a cell of their own.
    """

    fine: CellAxis
    cuts: Floats | None = None
    often: Floats | None = None

    def chosen(self, counts: Int64s, n_buckets: int) -> tuple[CellAxis, Int64s]:
        """The axis, once train rows are counted, and where its cells begin among those here."""
        starts = np.arange(self.fine.n_cells)
        if self.cuts is None or self.often is None or self.fine.cuts is None:
            return self.fine, starts
        fine = np.array(self.fine.cuts)
        ends = np.searchsorted(fine, self.often)  # the cell that has each of these alone
        own = self.often[counts[ends] > OWN_CELL * counts.sum() / n_buckets]
        kept = np.unique(np.concatenate([self.cuts, own, np.nextafter(own, -np.inf)]))
        begin = np.concatenate([[0], np.searchsorted(fine, kept) + 1])
        return CellAxis(cuts=tuple(kept.tolist())), begin


def _cut(ordered: Ordered, cuts: Floats, group: int, n_buckets: int) -> _Draft:
    """The cells between the cuts of one group, and those of numbers that may be frequent."""
    cuts = cuts[~np.isnan(cuts)] + 0.0
    values, through = ordered.values[group], ordered.through[group]
    values, places = np.unique(values[~np.isnan(values)] + 0.0, return_index=True)
    at_most = np.diff(through[~np.isnan(ordered.values[group])][places], prepend=0)
    often = values[at_most > OWN_CELL * ordered.counts[group] / n_buckets]
    fine = np.unique(np.concatenate([cuts, often, np.nextafter(often, -np.inf)]))
    return _Draft(CellAxis(cuts=tuple(fine.tolist())), cuts, often)


def _check_size(table: CellTable) -> None:
    if table.n_cells > MOST_CELLS:
        raise SchemaError(
            f"The shares are of {table.n_cells:,} cells; at most {MOST_CELLS:,} are counted.",
            where=" given ".join(map(to_text, table.items)),
            fix="use fewer buckets",
        )


def _n_buckets(axis: Node) -> int:
    return axis.n_buckets if isinstance(axis, Bucket) else DEFAULT_BUCKETS


def _most_frequent(words: tuple[str, ...], counts: Int64s) -> tuple[str, ...]:
    """The words with most rows, in their order."""
    often = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    return tuple(words[place] for place in np.sort(often).tolist() if counts[place])
