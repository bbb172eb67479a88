"""check() of rows that are scanned: the same counts and chances, from any number of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.batch_outcomes import measure_batches, outside_counts
from sqrl._check.broken_rows_folder import WriteRows, check_folder
from sqrl._check.evidence import Evidence
from sqrl._check.notes import idle_notes, label_notes
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.p_values import Background, batch_verdicts, single_verdicts
from sqrl._check.scan_tallies import CountValues, Judge
from sqrl._check.tally import Tally
from sqrl._data.draws import draw_batches, shuffled_batches
from sqrl._data.table import CHUNK_ROWS, Table
from sqrl._data.write_folder import replacing_folder
from sqrl._kernels.sums import finish_moments
from sqrl._language.tree import Name, Node
from sqrl._rows.questions import Track, labelled
from sqrl._rows.rows import Floats
from sqrl._rules.label import label_of, stand_in
from sqrl._rules.needed_columns import check_columns, names_in, parts_of
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.facts import Facts, look_at
from sqrl._scan.fetch import Fetch
from sqrl._scan.job import Engine, State
from sqrl._scan.look import Look
from sqrl._scan.passes import Collect, Pass, Tallied, under
from sqrl._scan.resume import Resuming
from sqrl._scan.scan import Scan, scan_anyway

Ints = NDArray[np.int64]
COPIES = 8  # of fetched rows in memory at once: as they come, joined, and what is made of them


@dataclass(frozen=True, slots=True)
class StandIn:
    """Reads chunks with the prediction in the label's place."""

    facts: Facts
    label: str | None
    prediction: str | None

    def __call__(self, batch: pa.RecordBatch) -> Table:
        """The rows as a table."""
        table = self.facts(batch)
        if self.prediction is None or self.label is None:
            return table
        predicted = replace(table[self.prediction], name=self.label)
        return Table({**table.columns, self.label: predicted}, table.n_rows, table.source)


def check_scan(
    rules: RuleSet,
    scanned: Scan,
    *,
    prediction: str | None = None,
    level: float = 0.05,
    batches: int | None = None,
    seed: int = 0,
    track: Track | None = None,
) -> Tally:
    """How often the rows break each rule, and which rules beyond chance.

    Cost: a pass over the columns that the rules name, one that counts, and for rules about
    mini-batches as many more as it takes to hold all their rows in memory one after the other.
    """
    work = _Work(rules, scanned.engine, prediction, track)
    windows = list(_windows(work, batches, scanned.memory))
    first = windows.pop(0) if windows else []
    tallied: list[Tallied] = [Judge(work.single), Evidence("train", work.grouped)]
    tallied += [CountValues(column) for column in work.label_column()]
    counted = work.fetch(first, tallied, batches, seed)
    for window in windows:
        work.fetch(window, [], batches, seed)
    return work.finish(counted, level)


def write_violations(
    rules: RuleSet,
    data: Any,
    folder: str | Path,
    *,
    prediction: str | None = None,
    track: Track | None = None,
) -> int:
    """How many files were written: which rules each row breaks, a row for every row.

    The folder, which must not exist or be empty, gets Parquet files in the order of the rows, with
    the columns `row`, its number from 1, and `violations`, the numbers of the rules that it breaks,
    from 1. Rules about mini-batches are not of single rows, and left out.

    Cost: a pass over the columns that the rules name, and one that writes.
    """
    check_folder(Path(folder))
    with replacing_folder(Path(folder)) as unfinished:
        engine = scan_anyway(data).engine
        if isinstance(engine, Resuming):
            engine = engine.engine  # what is written is not part of what it remembers
        work = _Work(rules, engine, prediction, track)
        writer = WriteRows(unfinished, work.single, work.places)
        (found,) = work.fetch([], [writer], None, 0)
    return int(found["files"][0])


Window = list[tuple[int, range]]  # mini-batches of some sizes whose rows are fetched together


def _windows(work: "_Work", n_batches: int | None, memory: int) -> Iterator[Window]:
    """The mini-batches that memory holds at a time."""
    most_rows = max(1, memory // (8 * COPIES * max(1, len(work.names))))
    window: Window = []
    room = most_rows
    for size, total in work.n_batches(n_batches).items():
        done = 0
        while done < total:
            fits = room // size if window else max(1, room // size)
            if fits <= 0:
                yield window
                window, room = [], most_rows
                continue
            until = min(total, done + fits)
            window.append((size, range(done, until)))
            room -= (until - done) * size
            done = until
    if window:
        yield window


class _Work:
    """What is checked, and what has been found of it."""

    def __init__(
        self, rules: RuleSet, engine: Engine, prediction: str | None, track: Track | None
    ) -> None:
        self.rules, self.prediction, self.track = rules, prediction, track
        self.forms = [rules.form(index) for index in range(len(rules))]
        self.statistics: Mapping[str, Node] = rules.statistics()
        self.background = Background.of(rules)
        label = label_of(rules)
        nodes = [node for form in self.forms for part in parts_of(form) for node in part]
        nodes += [Name(name) for name in (prediction, label) if name in engine.names]
        named = names_in(nodes, self.statistics)
        interest = frozenset(named) & frozenset(engine.names)
        look = Look(interest, columns=interest, with_fingerprint=False)
        self.scanned = look_at(engine, look, track=track)
        facts = self.scanned.facts
        self.whole, self.label = stand_in(rules, facts.whole, prediction)
        made_by = rules.provenance.extractors if rules.provenance else []
        check_columns(self.forms, self.whole, self.statistics, made_by)
        self.names = frozenset(named) & (interest | {self.label or ""})
        self.read = StandIn(facts, self.label, prediction)
        self.places = np.array(
            [i for i, form in enumerate(self.forms) if form.kind in {"sample", "class"}], np.int64
        )
        self.single = [self.forms[place] for place in self.places]
        self.grouped = [form for form in self.forms if form.over is not None]
        self._drawn: dict[int, Ints] = {}
        self.values = {
            size: np.empty((sum(form.over == size for form in self.forms), 0))
            for size in sorted({form.over for form in self.grouped if form.over is not None})
        }

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.scanned.facts.n_rows

    def n_batches(self, asked: int | None) -> dict[int, int]:
        """How many mini-batches of each size are checked."""
        return {size: self.n_rows // size if asked is None else asked for size in self.values}

    def label_column(self) -> list[Any]:
        """The label's column, where there is one."""
        return (
            [self.whole[self.label]] if self.label is not None and self.label in self.whole else []
        )

    def fetch(
        self, window: Window, tallied: Sequence[Tallied], n_batches: int | None, seed: int
    ) -> list[State]:
        """What one pass counts; it also measures the mini-batches of the window."""
        drawn = [(size, self._draw(size, which, n_batches, seed)) for size, which in window]
        fetches = [Fetch("train", np.unique(rows), self.names) for _, rows in drawn]
        jobs = (*tallied, *map(Collect, fetches))
        if not jobs:
            return []
        read = frozenset(self.scanned.facts.whole.names) & (
            self.names | {self.prediction or self.label or ""}
        )
        job = Pass(jobs, dict(self.statistics), read, None, "train")
        watch = labelled(self.track, "rows")
        state = self.scanned.engine.run(job, self.scanned.firsts, self.read, track=watch)
        states = [under(state, place) for place in range(len(jobs))]
        for (size, rows), fetch, found in zip(drawn, fetches, states[len(tallied) :], strict=True):
            table = fetch.finish(found, self.whole)
            forms = [form for form in self.forms if form.over == size]
            places = np.searchsorted(fetch.numbers, rows)
            measured = measure_batches(forms, table, self.statistics, places, at_once=CHUNK_ROWS)
            self.values[size] = np.concatenate([self.values[size], measured], axis=1)
        return states[: len(tallied)]

    def _draw(self, size: int, which: range, n_batches: int | None, seed: int) -> Ints:
        if n_batches is None:
            return shuffled_batches(self.n_rows, size, which, seed=seed)
        if size not in self._drawn:
            where = self.scanned.facts.source
            drawn = draw_batches(self.n_rows, size, n_batches, seed=seed, where=where)
            self._drawn = {size: drawn}
        return self._drawn[size][which.start : which.stop]

    def finish(self, counted: list[State], level: float) -> Tally:
        """The counts, with what chance would do."""
        n_rules = len(self.forms)
        applicable, broken = np.zeros(n_rules, np.int64), np.zeros(n_rules, np.int64)
        expected, p = np.full(n_rules, np.nan), np.full(n_rules, np.nan)
        effect = np.full(n_rules, np.nan)
        judged, evidence = counted[0], Evidence("train", self.grouped).finish(counted[1])
        piece_of = Judge(self.single).piece_of
        places = self.places
        applicable[places] = np.bincount(piece_of, judged["applicable"], places.size)
        broken[places] = np.bincount(piece_of, judged["broken"], places.size)
        count, mean, _ = finish_moments(judged["excess"])
        effect[places] = np.where((count > 0) & np.isfinite(mean), mean, np.nan)
        expected[places], p[places] = single_verdicts(
            self.single, places, self.background, judged["applicable"], judged["broken"], piece_of
        )
        values: dict[int, Floats] = {}
        of_form = dict(
            zip([i for i, f in enumerate(self.forms) if f.over is not None], evidence, strict=True)
        )
        for size, measured in self.values.items():
            mine = [index for index, form in enumerate(self.forms) if form.over == size]
            forms = [self.forms[index] for index in mine]
            values |= zip(mine, measured, strict=True)
            applicable[mine], broken[mine] = outside_counts(forms, measured)
            counts = np.stack([applicable[mine], broken[mine]], axis=1)
            expected[mine], p[mine] = batch_verdicts(
                forms, mine, self.background, counts, [of_form[i] for i in mine], self.n_rows
            )
        return Tally(
            rules=self.rules,
            source=self.scanned.facts.source,
            n_rows=self.n_rows,
            label=self.label,
            prediction=self.prediction,
            level=level,
            n_batches={size: measured.shape[1] for size, measured in self.values.items()},
            applicable=applicable,
            broken=broken,
            expected=expected,
            p_value=p,
            significant=benjamini_hochberg(p, level),
            row_effect=effect,
            batch_values=values,
            notes=(*self._label_notes(counted), *idle_notes(self.forms, self.n_rows, applicable)),
        )

    def _label_notes(self, counted: list[State]) -> list[str]:
        columns = self.label_column()
        if not columns or self.label is None:
            return []
        name = self.prediction or self.label
        counts = counted[2]["counts"]
        return label_notes(
            self.rules,
            self.whole,
            self.label,
            self.prediction,
            counts=counts,
            missing=self.scanned.facts.missing.get(name, 0),
        )
