"""check(): where data or predictions break rules, and which breaks are beyond chance."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from sqrl._check.broken_rows import RowsFolder, check_folder, write_pairs
from sqrl._check.columns_now import CountColumns, known_values
from sqrl._check.decided import decision_notes, waive_rules
from sqrl._check.evidence import Evidence
from sqrl._check.mini_batches import MiniBatches, outside_counts
from sqrl._check.notes import few_units_notes, idle_notes, label_notes, unseen_notes, untested_notes
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.p_values import Background, batch_tests, row_tests
from sqrl._check.probabilities import Probabilities, make_probabilities
from sqrl._check.sources import MemorySource, Source, open_source
from sqrl._check.tallies import CountRows
from sqrl._check.unit_evidence import count_units, n_units_of
from sqrl._check.unit_hint import unit_hint
from sqrl._check.unit_sums import CountUnits
from sqrl._check.value_tests import value_test_of
from sqrl._check.violations import CheckedRows, Violations
from sqrl._data.draws import check_seed
from sqrl._data.extractors import Extractor
from sqrl._data.formats import check_table_suffix, table_suffixes
from sqrl._data.given_path import given_path
from sqrl._data.write_file import check_writable, replacing_folder
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._kernels.sums import finish_moments
from sqrl._language.tree import Over, Units
from sqrl._progress import Track
from sqrl._rules.decisions import as_day
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.job import State
from sqrl._scan.passes import Tallied
from sqrl._scan.scan import as_scan, needs_memory
from sqrl.errors import DataError, OutputError


def check(  # noqa: PLR0913  (each is a choice of its own)
    rules: RuleSet,
    data: Any,
    *,
    prediction: str | None = None,
    probabilities: Mapping[Any, str] | None = None,
    level: float = 0.01,
    batches: int | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
    violations: str | Path | None = None,
    today: str | date | None = None,
    track: Track | None = None,
) -> Violations:
    """Which rules the rows of `data` break, where, and which of them beyond chance.

    `prediction` names the column that holds what a model said; it takes the label's place.
    `probabilities` maps classes to columns with their predicted probabilities: rules are then also
    counted under the predicted distribution. Mini-batch rules are checked on disjoint mini-batches
    of shuffled rows, or on `batches` drawn ones, as in the paper. Rules are called significant so
    that among those the expected share of false alarms is at most `level`; that takes rows that
    are independent of one another and of those that the rules were learned from.

    Data that is larger than memory is scanned (see `scan`) and gives the same counts and p-values,
    but no rows: what needs these then raises an error that says so.

    `violations` also writes the rows that break rules, while they are counted: to a folder (see
    `write_violations`), or where rows are in memory to a .csv or .parquet file, with a line for
    each row and rule that it breaks.

    Rules that somebody rejected are left out; those that are waived `today`, or on the day that
    is given, are counted, but are never significant and make no finding (see `RuleSet.waive`).

    Cost: one pass over each rule's rows; memory for the columns, the broken pairs, and what is
    computed of a quarter of a million rows at a time. Of scanned rows a pass over the columns that
    the rules name, one that counts, and for rules about mini-batches as many more as it takes to
    hold all their rows in memory one after the other.

    >>> from sqrl import RuleSet
    >>> found = check(RuleSet.from_texts(["kind = a => 0 <= x <= 9"]),
    ...               {"kind": ["a", "a", "b"], "x": [3.0, 12.0, 99.0]})
    >>> found.applicable.tolist(), found.broken.tolist()
    ([2], [1])
    """
    if not 0 < level < 1:
        raise DataError(f"The level is {level}.", fix="give a share between 0 and 1, such as 0.01")
    check_seed(seed)
    if batches is not None and batches < 1:
        raise DataError(f"batches={batches!r} draws nothing.", fix="give 1 or more")
    if not isinstance(prediction, str | None):
        raise DataError(f"prediction={prediction!r} is no name.", fix="name a column")
    scan, day = as_scan(data), as_day(today)
    given, rules = rules, rules.in_force()
    pairs, folder = check_output(violations, is_scanned=scan is not None)
    if scan is not None and probabilities:
        what = "Counting by probabilities needs"
        raise needs_memory(what, scan.name, "check some of the rows")
    with nullcontext() if folder is None else replacing_folder(folder) as unfinished:
        work = _Check(rules, data if scan is None else scan, prediction, extractors, track)
        if probabilities:
            work.predicted = make_probabilities(
                rules, work.source.whole, probabilities, work.source.label
            )
        work.day, work.notes = day, decision_notes(given, rules, day)
        found = work.check(batches, seed, level, unfinished)
    if pairs is not None:
        write_pairs(found, pairs)
    return found


def check_output(path: str | Path | None, *, is_scanned: bool) -> tuple[Path | None, Path | None]:
    """The file of pairs, or the folder, that broken rows go to; raises where they could not."""
    if path is None:
        return None, None
    output = given_path(path, OutputError)
    if output.suffix in table_suffixes() or (output.suffix and not is_scanned):
        check_table_suffix(output, "Violations are")
        if is_scanned:
            raise OutputError(
                f"A {output.suffix} file lists broken rows that are in memory, and these are"
                " scanned.",
                where=str(output),
                fix=f"name a folder, such as {output.stem}",
            )
        check_writable(output)
        return output, None
    check_folder(output)
    return None, output


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
    from 1. Rules about mini-batches are not of single rows, and left out. `check` writes the same
    while it counts, with `violations=`.

    Cost: a pass over the columns that the rules name, and one that writes.
    """
    check_folder(Path(folder))
    with replacing_folder(Path(folder)) as unfinished:
        work = _Check(rules.in_force(), data, prediction, (), track)
        written = CountRows(work.single, folder=RowsFolder(unfinished, work.places))
        (found,), _ = work.source.run([written], [], once=True)
    return int(found["files"][0])


class _Check:
    """Rules and rows that fit each other."""

    def __init__(
        self,
        rules: RuleSet,
        data: Any,
        prediction: str | None,
        extractors: Sequence[Extractor],
        track: Track | None,
    ) -> None:
        self.rules, self.prediction, self.track = rules, prediction, track
        self.forms = rules.forms()
        self.source: Source = open_source(
            rules, self.forms, data, prediction=prediction, extractors=extractors, track=track
        )
        self.places = np.array([i for i, f in enumerate(self.forms) if f.is_single], np.int64)
        self.single = [self.forms[place] for place in self.places]
        label = self.source.label if prediction is not None else None
        self.background = Background.of(rules, predicted_label=label)
        self.predicted: Probabilities | None = None
        self.unit = rules.schema.units if rules.schema is not None else ()
        self.n_units = 0
        self.unit_evidence: dict[int, list[float]] = {}
        self.day, self.notes = as_day(None), list[str]()

    def check(
        self, n_batches: int | None, seed: int, level: float, folder: Path | None
    ) -> Violations:
        """The counts and their tests; broken rows go to the folder, if there is one."""
        whole, label = self.source.whole, self.source.label
        in_memory = isinstance(self.source, MemorySource)
        writer = None if folder is None else RowsFolder(folder, self.places)
        by_row = CountRows(self.single, in_memory, writer, self.predicted)
        evidence, units = self._evidence(), self._units()
        known = known_values(self.forms)
        columns = CountColumns.of_table(self.source.names, whole, known)
        noted = label_notes(self.rules, whole, label, self.prediction)
        batches = MiniBatches(
            *(self.source, self.forms),
            asked=n_batches,
            seed=seed,
            predicted=self.predicted,
            keeps_rows=in_memory,
            unit=self.unit,
        )
        tallied: list[Tallied] = [by_row, evidence, columns, *noted, *units]
        states = batches.run(tallied, once=folder is not None, track=self.track)
        counts = _Counts(len(self.forms), is_weighted=self.predicted is not None)
        by_unit = self._by_unit(units, states)
        self._count_single(by_row, states[0], counts, by_unit)
        grouped = [place for place, form in enumerate(self.forms) if not form.is_single]
        of_rule = dict(zip(grouped, evidence.finish(states[1]), strict=True))
        self._count_grouped(batches, of_rule, counts, by_unit)
        notes = [note for one in noted for note in one.sentences(whole.n_rows, states[3])]
        now = columns.finish(
            states[2], whole.n_rows, self.source.reading, self.source.missing, known
        )
        notes += unseen_notes(now, whole.n_rows, label, self.prediction)
        notes += idle_notes(
            self.forms, whole.n_rows, batches.n_units, counts.applicable, counts.p_value
        )
        notes += untested_notes(self.background, label)
        notes += self._unit_notes(in_memory=in_memory)
        notes += self.notes
        checked = self._checked_rows(by_row, states[0], batches) if in_memory else None
        waived = waive_rules(self.rules, self.day, counts.p_value)
        return Violations(
            rules=self.rules,
            source=whole.source,
            n_rows=whole.n_rows,
            label=label,
            prediction=self.prediction,
            level=level,
            n_batches={size: found.shape[1] for size, found in batches.values.items()},
            overlapping=frozenset(batches.overlapping),
            significant=benjamini_hochberg(counts.p_value, level),
            batch_values=batches.by_rule(),
            evidence=of_rule,
            notes=tuple(notes),
            columns=now,
            checked=checked,
            unit=self.unit,
            n_units=self.n_units,
            unit_evidence=self.unit_evidence,
            day=self.day,
            waived=waived,
            **vars(counts),
        )

    def _evidence(self) -> Evidence:
        """What is to be counted of all rows for rules about mini-batches."""
        grouped = {at: form for at, form in enumerate(self.forms) if not form.is_single}
        tests = {at: value_test_of(form) for at, form in grouped.items()}
        held_out = self.background.evidence
        marks = [() if (test := tests[at]) is None else test.marks(held_out[at]) for at in grouped]
        return Evidence("train", list(grouped.values()), marks)

    def _unit_notes(self, *, in_memory: bool) -> list[str]:
        """What a reader should know of rows that belong together, or seem to in memory."""
        if not self.unit:
            if not in_memory or not self.rules.schema:
                return []
            hint = unit_hint(self.source.whole, skip={self.source.label or ""})
            return [] if hint is None else [hint]
        assert self.background.units is not None
        return few_units_notes(n_units_of(self.background.units.evidence), self.n_units, self.unit)

    def _units(self) -> list[CountUnits]:
        """What is to be counted of units, where rows belong to such."""
        if self.background.units is None:
            return []
        places = list(range(len(self.forms)))
        return [count_units(self.rules, "train", places, self.background.evidence)]

    def _by_unit(self, units: list[CountUnits], states: list[State]) -> dict[int, float] | None:
        """The p-values that units give, by the rule's place; None where rows are by themselves."""
        if not units or self.background.units is None:
            return None
        sums, forms = units[0].finish(states[-1]), dict(enumerate(self.forms))
        self.n_units = sums.keys.size
        self.unit_evidence = self.background.units.new_evidence(forms, sums)
        return self.background.units.p_values(forms, self.unit_evidence)

    def _count_single(
        self,
        by_row: CountRows,
        found: State,
        counts: "_Counts",
        by_unit: dict[int, float] | None,
    ) -> None:
        """Count the rules about single rows."""
        mine, piece_of = self.places, by_row.piece_of
        counts.applicable[mine] = np.bincount(piece_of, found["applicable"], mine.size)
        counts.broken[mine] = np.bincount(piece_of, found["broken"], mine.size)
        count, mean, _ = finish_moments(found["excess"])
        counts.row_effect[mine] = np.where((count > 0) & np.isfinite(mean), mean, np.nan)
        counts.expected[mine], counts.p_value[mine] = row_tests(
            *(self.single, mine, self.background, found["applicable"], found["broken"]),
            *(piece_of, by_unit),
        )
        counts.put_weighted(mine, *found["weighted"].T)

    def _count_grouped(
        self,
        batches: MiniBatches,
        of_rule: dict[int, list[float]],
        counts: "_Counts",
        by_unit: dict[int, float] | None,
    ) -> None:
        """Count the rules about mini-batches."""
        for size, mine in batches.places.items():
            forms = [self.forms[place] for place in mine]
            found = np.stack(outside_counts(forms, batches.values[size]), axis=1)
            counts.applicable[mine], counts.broken[mine] = found.T
            counts.expected[mine], counts.p_value[mine] = batch_tests(
                *(forms, mine, self.background, found),
                *([of_rule[place] for place in mine], self.source.whole.n_rows),
                *(batches.n_units, by_unit),
            )
            if self.predicted is not None:
                weighted = outside_counts(forms, batches.weighted_values[size])
                is_known = [
                    self.predicted.can_weigh(form, self.source.statistics) for form in forms
                ]
                counts.put_weighted(mine, *(np.where(is_known, one, np.nan) for one in weighted))

    def _checked_rows(self, by_row: CountRows, state: State, batches: MiniBatches) -> CheckedRows:
        """The rows, and which of them break which rules."""
        rule, row, excess = by_row.pairs(state)
        rule = self.places.astype(np.int32)[rule]
        none: dict[Over, Int64s] = {
            over: np.empty((0, 0 if isinstance(over, Units) else over), np.int64)
            for over in batches.places
        }
        return CheckedRows(self.source.whole, none | batches.rows, rule, row, excess)


class _Counts:
    """What is counted of each rule, as columns over rules: fields of `Violations`."""

    def __init__(self, n_rules: int, *, is_weighted: bool) -> None:
        self.applicable = np.zeros(n_rules, np.int64)
        self.broken = np.zeros(n_rules, np.int64)
        self.expected = np.full(n_rules, np.nan)
        self.p_value = np.full(n_rules, np.nan)
        self.row_effect = np.full(n_rules, np.nan)
        self.weighted_applicable = np.full(n_rules, np.nan) if is_weighted else None
        self.weighted_broken = np.full(n_rules, np.nan) if is_weighted else None

    def put_weighted(self, places: Any, applicable: Floats, broken: Floats) -> None:
        """Put in the counts under predicted probabilities, where these are given."""
        if self.weighted_applicable is not None and self.weighted_broken is not None:
            self.weighted_applicable[places], self.weighted_broken[places] = applicable, broken
