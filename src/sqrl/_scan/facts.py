"""Facts: what a pass over all rows found of each column, and chunks made to agree with it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqrl._data.column import LARGEST_EXACT, Column
from sqrl._data.table import Table, fingerprint_of
from sqrl._kernels.arrays import Bools
from sqrl._progress import Track, labelled
from sqrl._scan.job import Engine, Job, State
from sqrl._scan.look import KINDS, SAMPLED, Look, ReadAsIs, is_many, read_columns
from sqrl._scan.sample import SampledRows, sampled_column


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Rows in all, and of each column its kind, categories, distinct values and what is amiss.

    `whole` and `train` are tables that hold each distinct value once, of many numbers the least:
    what schemas and domains want to know of columns. Reading a batch makes a chunk with these kinds
    and categories.
    """

    n_rows: int
    whole: Table
    train: Table
    missing: Mapping[str, int]
    known: Mapping[str, bool]  # whether each derived statistic is, on any row
    infinite: Mapping[str, tuple[int, int]]  # how many, and the first row
    too_many: frozenset[str]  # columns of more words than are kept: each chunk has its own
    fingerprint: str

    @property
    def source(self) -> str:
        """What messages call the data."""
        return self.whole.source

    def no_rows(self) -> Table:
        """The columns without a row: what cannot be computed at all fails on these too."""
        return self.whole.take(np.empty(0, np.int64))

    def __call__(self, batch: pa.RecordBatch) -> Table:
        """A chunk with the kinds and categories of the whole."""
        columns = {column.name: self._conform(column) for column in read_columns(batch)}
        return Table(columns, batch.num_rows, self.source)

    def _conform(self, column: Column) -> Column:
        whole = self.whole[column.name]
        if whole.kind == column.kind and (whole.kind != "category" or column.name in self.too_many):
            return column
        if whole.kind != "category" or column.kind != "category":
            return Column(column.name, whole.kind, np.full(column.values.size, np.nan))
        known = {word: code for code, word in enumerate(whole.categories)}
        codes = np.array([known.get(word, -1) for word in column.categories] + [-1], np.int32)
        return Column(column.name, "category", codes[column.values], whole.categories)


def make_facts(
    source: str,
    n_rows: int,
    names: tuple[str, ...],
    state: State,
    computed: frozenset[str] = frozenset(),
) -> Facts:
    """The facts that a look found, for columns in this order.

    The fingerprint is of the data alone, without columns that were `computed`.
    """
    by_name: dict[str, State] = {name: {} for name in names}
    known: dict[str, bool] = {}
    for key, values in state.items():
        name, _, fact = key.rpartition("/")
        if fact == "known":
            known[name] = bool(values[0])
        else:
            by_name[name][fact] = values
    whole, train = {}, {}
    sums: dict[str, tuple[str, int]] = {}
    for name, here in by_name.items():
        whole[name] = _column(name, here, None)
        train[name] = _column(name, here, whole[name]) if "train_values" in here else whole[name]
        is_summed = whole[name].kind != "other" and "sum" in here
        if name not in computed:
            sums[name] = whole[name].kind, int(here["sum"][0]) if is_summed else 0
    return Facts(
        n_rows=n_rows,
        whole=Table(whole, n_rows, source),
        train=Table(train, n_rows, source),
        known=known,
        missing={name: int(here["missing"][0]) for name, here in by_name.items() if here},
        infinite={
            name: (int(here["infinite"][0]), int(here["first_infinite"][0]))
            for name, here in by_name.items()
            if "infinite" in here and here["infinite"][0]
        },
        too_many=frozenset(
            name
            for name, here in by_name.items()
            if "values" in here and here["values"].dtype.kind == "U" and is_many(here["values"])
        ),
        fingerprint=fingerprint_of(n_rows, sums),
    )


def _column(name: str, here: State, whole: Column | None) -> Column:
    """A column that holds each distinct value once; of train rows where the whole is given."""
    if not here:  # of no rows
        return Column(name, "number", np.empty(0))
    mask = int(here["kind"][0])
    kind = next(one for place, one in reversed(list(enumerate(KINDS))) if mask >> place & 1)
    values = here.get("values" if whole is None else "train_values", np.empty(0))
    if whole is not None and whole.kind == "other":
        return whole
    if kind == "category":
        if is_many(values if whole is None else here["values"]):
            return Column(name, kind, np.full(1, -1, np.int32))
        words = sorted(word[:-1] for word in values.tolist())
        categories = tuple(words) if whole is None else whole.categories
        codes = np.searchsorted(np.array(categories, object), np.array(words, object))
        return Column(name, kind, codes.astype(np.int32), categories)
    if kind == "other":
        return Column(name, kind, np.full(1, np.nan))
    is_whole = kind == "number" and not here["fraction"][0]
    is_whole = is_whole and -np.inf < here["largest"][0] <= LARGEST_EXACT
    return Column(name, kind, values, is_integer=bool(is_whole))


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """Data that an engine runs jobs over, with the facts and the sample that a first look found."""

    engine: Engine
    firsts: list[int]
    facts: Facts
    sample: SampledRows | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.facts.n_rows

    def run(self, job: Job, label: str, track: Track | None) -> State:
        """The state of a job over all rows."""
        return self.engine.run(job, self.firsts, self.facts, track=labelled(track, label))


def look_at(
    engine: Engine,
    look: Look,
    *,
    computed: frozenset[str] = frozenset(),
    track: Track | None = None,
) -> Scanned:
    """The data with its facts: one pass over the columns that are looked at.

    `computed` are columns that the data did not have by itself.
    """
    counts = engine.counts()
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist() if counts else []
    watch = labelled(track, "columns")
    state = engine.run(look, firsts, ReadAsIs(engine.name), track=watch)
    sampled = {name: state.pop(name) for name in [*state] if name.endswith(f"/{SAMPLED}")}
    facts = make_facts(engine.name, sum(counts), tuple(engine.names), state, computed)
    return Scanned(engine, firsts, facts, _sample(sampled, facts) if sampled else None)


def _sample(sampled: State, facts: Facts) -> SampledRows:
    """The sample, with the kinds and categories of the whole."""
    is_train: Bools = sampled.pop(f"/{SAMPLED}").astype(np.bool_)
    columns = {}
    for key, values in sampled.items():
        name = key.removesuffix(f"/{SAMPLED}")
        columns[name] = sampled_column(values, facts.whole[name])
    return SampledRows(Table(columns, is_train.size, facts.source), is_train)
