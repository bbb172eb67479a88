"""Where the rows are that are checked: in memory, or scanned. Both run the same tallies."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._check.reading import Reading, make_reading
from sqrl._data.extractors import Extractor
from sqrl._data.table import Table, as_table
from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form
from sqrl._language.tree import Node
from sqrl._progress import Track, labelled
from sqrl._rows.rows import Rows
from sqrl._rows.sequences import columns_behind, is_sequence, with_possible_sequences
from sqrl._rows.unit_batches import UnitBatches
from sqrl._rules.label import label_of, put_prediction, with_prediction
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import RuleSet
from sqrl._rules.sequence_names import row_order_of
from sqrl._scan.facts import Facts, look_at
from sqrl._scan.held_rows import HeldRows
from sqrl._scan.job import Engine, State
from sqrl._scan.look import Look
from sqrl._scan.passes import Fetch, FetchUnits, Pass, Tallied, under
from sqrl._scan.resume import Resuming
from sqrl._scan.scan import Scan, as_scan, needs_memory, refuse_extractors
from sqrl._scan.sequences import add_possible_sequences
from sqrl.errors import SqrlError, UnknownNameError, nearest

COPIES = 8  # of fetched rows in memory at once: as they come, joined, and what is made of them


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """A table that holds the rows of some mini-batches, and where each of them is in it."""

    table: Table
    places: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class MemorySource:
    """The rows of a table, `whole`, which has the prediction in the label's place."""

    whole: Table
    label: str | None
    names: frozenset[str]
    statistics: Mapping[str, Node]
    reading: Reading
    missing: Mapping[str, int]  # of each column, before it was read
    track: Track | None
    most_rows: int = sys.maxsize  # of mini-batches that are fetched together

    def run(
        self,
        tallied: Sequence[Tallied],
        wanted: Sequence[Int64s | UnitBatches],
        *,
        once: bool = False,  # noqa: ARG002  (it always happens now)
    ) -> tuple[list[State], list[Fetched]]:
        """What one pass counts, a chunk of rows at a time so that masks stay small.

        The rows of the mini-batches that are wanted are in the table.
        """
        job = Pass(tuple(tallied), dict(self.statistics), None, None, "train")
        # Sums under probabilities are rounded, so that the order of the rows counts.
        threads = 1 if any(getattr(one, "predicted", None) for one in tallied) else None
        state = HeldRows(self.whole, self.names).run(job, "rows", self.track, threads=threads)
        states = [under(state, place) for place in range(len(tallied))]
        return states, [Fetched(self.whole, _places(rows, self.whole)) for rows in wanted]


@dataclass(frozen=True, slots=True)
class ReadPredicted:
    """Reads chunks with the prediction in the label's place, and every column as rules need it."""

    facts: Facts
    label: str | None
    prediction: str | None
    reading: Reading

    def __call__(self, batch: pa.RecordBatch) -> Table:
        """The rows as a table."""
        return self.reading(put_prediction(self.facts(batch), self.label, self.prediction))


@dataclass(frozen=True, slots=True, eq=False)
class ScanSource:
    """The rows that an engine goes through; `whole` has each value of the columns once."""

    engine: Engine
    firsts: list[int]
    read: ReadPredicted
    whole: Table
    label: str | None
    most_rows: int
    names: frozenset[str]
    statistics: Mapping[str, Node]
    reading: Reading
    missing: Mapping[str, int]
    track: Track | None

    def run(
        self,
        tallied: Sequence[Tallied],
        wanted: Sequence[Int64s | UnitBatches],
        *,
        once: bool = False,
    ) -> tuple[list[State], list[Fetched]]:
        """What one pass counts and fetches.

        A pass that is to happen now, `once`, is not taken from what is remembered of another run.
        """
        too_many = self.read.facts.too_many
        fetches = [
            FetchUnits("train", rows.unit, np.unique(rows.units), self.names, too_many)
            if isinstance(rows, UnitBatches)
            else Fetch("train", np.unique(rows), self.names, too_many)
            for rows in wanted
        ]
        jobs = (*tallied, *fetches)
        known = self.read.facts.whole.names
        columns = (self.names | {self.read.prediction or self.read.label or ""}) & set(known)
        job = Pass(jobs, dict(self.statistics), frozenset(columns), None, "train")
        engine, watch = self.engine, labelled(self.track, "rows")
        if once and isinstance(engine, Resuming):
            engine = engine.engine
        state = engine.run(job, self.firsts, self.read, track=watch)
        states = [under(state, place) for place in range(len(jobs))]
        found = zip(fetches, wanted, states[len(tallied) :], strict=True)
        return states[: len(tallied)], [
            Fetched(table := fetch.finish(mine, self.whole), _places(rows, table, fetch))
            for fetch, rows, mine in found
        ]


def _places(
    wanted: Int64s | UnitBatches, table: Table, fetch: Fetch | FetchUnits | None = None
) -> Int64s:
    """Where the rows of mini-batches are in a table, which may have been fetched for them."""
    if isinstance(wanted, UnitBatches):
        return wanted.places(Rows(table, {}))
    return np.searchsorted(fetch.numbers, wanted) if isinstance(fetch, Fetch) else wanted


def _with_sequences(
    rules: RuleSet,
    names: frozenset[str],
    scan: Scan,
    prediction: str | None,
    track: Track | None,
) -> tuple[Engine, SqrlError | None]:
    """The engine with the columns of rules that follow from the rows before, and why not all."""
    row_order, statistics = row_order_of(rules.schema), rules.statistics()
    label = label_of(rules) if prediction is not None else None
    for name in sorted(filter(is_sequence, names)):
        if label in columns_behind([name], row_order, statistics):
            what = f"{name} of the prediction needs"
            raise needs_memory(what, scan.name, f"check some of the rows, or call it {label!r}")
    given = scan.engine, names, row_order, statistics
    return add_possible_sequences(*given, memory=scan.memory, track=track)


def _make_reading(
    forms: Sequence[Form],
    whole: Table,
    statistics: Mapping[str, Node],
    made_by: list[str],
    reason: SqrlError | None,
) -> Reading:
    """How to read the data; where nothing is left to check, the reason why, if it is known."""
    try:
        return make_reading(forms, whole, statistics, made_by)
    except SqrlError as error:
        raise reason or error from None


Source = MemorySource | ScanSource


def check_unit(unit: Collection[str], names: Collection[str], source: str) -> None:
    """Raise where there is no column that says which rows belong together."""
    for name in sorted(unit):
        if name not in names:
            raise UnknownNameError(
                f"The rules were learned by the unit {name!r}, and there is no such column.",
                where=source,
                fix=f"{nearest(name, names)}; or learn them again without a unit",
            )


def open_source(
    rules: RuleSet,
    forms: Sequence[Form],
    data: Any,
    *,
    prediction: str | None,
    extractors: Sequence[Extractor],
    track: Track | None,
) -> Source:
    """The rows of any data, with the prediction in the label's place: scanned, or in memory.

    Cost: of scanned rows a pass over the columns that rules name.
    """
    statistics = rules.statistics()
    unit = frozenset(rules.schema.units if rules.schema is not None else ())
    named = columns_of(forms, statistics) | unit
    made_by = rules.provenance.extractors if rules.provenance else []
    scan = as_scan(data)
    if scan is None:
        table = as_table(data, mixed_as_text=True)
        for extract in extractors:
            table = extract(table)
        check_unit(unit, table.names, table.source)
        whole, label = with_prediction(rules, table, prediction)
        row_order = row_order_of(rules.schema)
        whole, reason = with_possible_sequences(whole, named, row_order, statistics)
        reading = _make_reading(forms, whole, statistics, made_by, reason)
        missing = {
            name: int(np.count_nonzero(whole[name].missing())) for name in named if name in whole
        }
        names = named | {label or ""}
        return MemorySource(reading(whole), label, names, statistics, reading, missing, track)
    refuse_extractors(extractors, scan.name)
    check_unit(unit, scan.engine.names, scan.name)
    also = {name for name in (prediction, label_of(rules)) if name is not None}
    engine, reason = _with_sequences(rules, named, scan, prediction, track)
    interest = (named | also) & frozenset(engine.names)
    look = Look(interest, columns=interest, with_fingerprint=False)
    seen = look_at(engine, look, track=track)
    whole, label = with_prediction(rules, seen.facts.whole, prediction)
    reading = _make_reading(forms, whole, statistics, made_by, reason)
    names = named & (interest | {label or ""} | reading.gone)
    facts = seen.facts
    missing = {
        name: facts.n_rows if facts.whole[name].kind == "other" else count
        for name, count in facts.missing.items()
    }
    if label is not None and prediction is not None:
        missing[label] = missing.get(prediction, 0)
    return ScanSource(
        engine=engine,
        firsts=seen.firsts,
        read=ReadPredicted(seen.facts, label, prediction, reading),
        whole=reading(whole, has_rows=False),
        label=label,
        most_rows=max(1, scan.memory // (8 * COPIES * max(1, len(names)))),
        names=names,
        statistics=statistics,
        reading=reading,
        missing=missing,
        track=track,
    )
