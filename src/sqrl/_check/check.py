"""check(): where data or predictions break rules, and which breaks are beyond chance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._check.batch_outcomes import (
    gather_evidence,
    make_batches,
    measure_batches,
    outside_counts,
    take_rows,
)
from sqrl._check.notes import idle_notes, label_notes
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.p_values import Background, batch_verdicts, single_verdicts
from sqrl._check.passes import check_scan
from sqrl._check.probabilities import Soft, count_softly, make_soft
from sqrl._check.row_outcomes import Outcomes, judge_rows
from sqrl._check.violations import Violations
from sqrl._data.extractors import Extractor
from sqrl._data.table import CHUNK_ROWS, Table, as_table
from sqrl._kernels.sums import add_moments, finish_moments, start_moments
from sqrl._language.tree import Node
from sqrl._rows.rows import Floats, Rows
from sqrl._rules.label import stand_in
from sqrl._rules.needed_columns import check_columns
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.scan import as_scan, refuse_extractors
from sqrl.errors import DataError

Ints = NDArray[np.int64]
Track = Callable[[str, int, int], None]


def check(
    rules: RuleSet,
    data: Any,
    *,
    prediction: str | None = None,
    probabilities: Mapping[Any, str] | None = None,
    level: float = 0.05,
    batches: int | None = None,
    seed: int = 0,
    extractors: Sequence[Extractor] = (),
    track: Track | None = None,
) -> Violations:
    """Which rules the rows of `data` break, where, and which of them beyond chance.

    `prediction` names the column that holds what a model said; it stands in for the rules' label.
    `probabilities` maps classes to columns with their predicted probabilities: rules are then also
    counted under the predicted distribution. Mini-batch rules are checked on disjoint mini-batches
    of shuffled rows, or on `batches` drawn ones, as in the paper. Rules are called significant so
    that among those the expected share of false alarms is at most `level`; that takes rows that
    are independent of one another and of those that the rules were learned from.

    Data that is larger than memory is scanned (see `scan`) and gives a `Tally`: the same counts and
    chances, without the rows; `write_violations` writes which rows break which rules.

    Cost: one pass over each rule's rows; memory for the columns, the broken pairs, and what is
    computed of a quarter of a million rows at a time.

    >>> from sqrl._rules.ruleset import RuleSet
    >>> found = check(RuleSet.from_texts(["kind = a => 0 <= x <= 9"]),
    ...               {"kind": ["a", "a", "b"], "x": [3.0, 12.0, 99.0]})
    >>> found.applicable.tolist(), found.broken.tolist()
    ([2], [1])
    """
    if not 0 < level < 1:
        raise DataError(f"The level is {level}.", fix="give a share between 0 and 1, such as 0.05")
    scanned = as_scan(data)
    if scanned is not None:
        refuse_extractors(extractors, scanned.name)
        _refuse_probabilities(probabilities, scanned.name)
        options: dict[str, Any] = {"prediction": prediction, "level": level, "batches": batches}
        # A tally has no rows to ask for; nearly all who check have them, and want their type.
        return check_scan(rules, scanned, seed=seed, track=track, **options)  # type: ignore[return-value]
    table = as_table(data)
    for extract in extractors:
        table = extract(table)
    table, label = stand_in(rules, table, prediction)
    work = _Work(rules, table, label, track)
    made_by = rules.provenance.extractors if rules.provenance else []
    check_columns(work.forms, table, work.statistics, made_by)
    if probabilities:
        work.soft = make_soft(rules, table, probabilities, label)
    pairs = _judge_single(work)
    drawn = _draw(work, batches, seed)
    values = _judge_grouped(work, drawn)
    idle = idle_notes(work.forms, table.n_rows, work.applicable)
    notes = (*label_notes(rules, table, label, prediction), *idle)
    return work.result(pairs, drawn, values, prediction=prediction, level=level, notes=notes)


def _refuse_probabilities(probabilities: Mapping[Any, str] | None, source: str) -> None:
    if probabilities:
        raise DataError(
            "Counting by probabilities needs all rows in memory, and these are scanned.",
            where=source,
            fix="check some of the rows",
        )


class _Work:
    """What is checked, and the counts as they come in."""

    def __init__(
        self, rules: RuleSet, table: Table, label: str | None, track: Track | None
    ) -> None:
        self.rules, self.table, self.label, self.track = rules, table, label, track
        self.forms = [rules.form(index) for index in range(len(rules))]
        self.statistics: Mapping[str, Node] = rules.statistics()
        self.background = Background.of(rules)
        self.soft: Soft | None = None
        self.applicable = np.zeros(len(rules), np.int64)
        self.broken = np.zeros(len(rules), np.int64)
        self.expected = np.full(len(rules), np.nan)
        self.p_value = np.full(len(rules), np.nan)
        self.soft_applicable = np.full(len(rules), np.nan)
        self.soft_broken = np.full(len(rules), np.nan)

    def report(self, label: str, done: int, total: int) -> None:
        """Tell whoever watches how far the work is."""
        if self.track:
            self.track(label, done, total)

    def result(
        self,
        pairs: "_Pairs",
        drawn: Mapping[int, Ints],
        values: Mapping[int, Floats],
        *,
        prediction: str | None,
        level: float,
        notes: tuple[str, ...],
    ) -> Violations:
        """The counts, finished."""
        return Violations(
            rules=self.rules,
            table=self.table,
            source=self.table.source,
            n_rows=self.table.n_rows,
            label=self.label,
            prediction=prediction,
            level=level,
            batches=drawn,
            n_batches={size: len(rows) for size, rows in drawn.items()},
            row_effect=pairs.effect(len(self.rules)),
            applicable=self.applicable,
            broken=self.broken,
            expected=self.expected,
            p_value=self.p_value,
            significant=benjamini_hochberg(self.p_value, level),
            pair_rule=pairs.rule,
            pair_row=pairs.row,
            pair_excess=pairs.excess,
            batch_values=values,
            soft_applicable=self.soft_applicable if self.soft else None,
            soft_broken=self.soft_broken if self.soft else None,
            notes=notes,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    rule: NDArray[np.int32]
    row: NDArray[np.int32]
    excess: NDArray[np.float32]

    def effect(self, n_rules: int) -> Floats:
        """The mean excess of each rule's broken rows; nan where there are none, or no width.

        Of exact sums, so that rows which are scanned in parts give the same.
        """
        state = start_moments(n_rules)
        add_moments(self.excess.astype(np.float64), self.rule.astype(np.int64), state)
        count, mean, _ = finish_moments(state)
        return np.where((count > 0) & np.isfinite(mean), mean, np.nan)


def _judge_single(work: _Work) -> _Pairs:
    """Count rules about single rows, a chunk of rows at a time, so that masks stay small."""
    places = np.array(
        [i for i, form in enumerate(work.forms) if form.kind in {"sample", "class"}], np.int64
    )
    forms = [work.forms[index] for index in places]
    parts: list[Outcomes] = []
    soft = np.zeros((len(forms), 2))
    n_rows = work.table.n_rows if forms else 0
    for first in range(0, max(n_rows, 1), CHUNK_ROWS):
        chosen = slice(first, min(first + CHUNK_ROWS, n_rows))
        rows = Rows(take_rows(work.table, chosen, forms, work.statistics), work.statistics)
        parts.append(judge_rows(forms, rows))
        if work.soft is not None:
            here = work.soft.take(chosen)
            soft += np.array([count_softly(form, rows, here) for form in forms]).reshape(-1, 2)
        work.report("rows", chosen.stop, n_rows)
    piece_of = parts[0].piece_of
    applicable = np.sum([part.applicable for part in parts], axis=0)
    broken = np.sum([part.broken for part in parts], axis=0)
    work.applicable[places] = np.bincount(piece_of, applicable, places.size)
    work.broken[places] = np.bincount(piece_of, broken, places.size)
    work.soft_applicable[places], work.soft_broken[places] = soft.T
    work.expected[places], work.p_value[places] = single_verdicts(
        forms, places, work.background, applicable, broken, piece_of
    )
    return _join_pairs(parts, places)


def _join_pairs(parts: list[Outcomes], places: Ints) -> _Pairs:
    """The broken pairs of all chunks, by rule and then by row."""
    rule = np.concatenate([part.rule for part in parts])
    row = np.concatenate(
        [part.row + np.int32(place * CHUNK_ROWS) for place, part in enumerate(parts)]
    )
    excess = np.concatenate([part.excess for part in parts])
    if len(parts) > 1:
        order = np.argsort(rule, kind="stable")
        rule, row, excess = rule[order], row[order], excess[order]
    return _Pairs(places.astype(np.int32)[rule], row, excess)


def _draw(work: _Work, n_batches: int | None, seed: int) -> dict[int, Ints]:
    """The mini-batches of each size that a rule asks for."""
    sizes = sorted({form.over for form in work.forms if form.over is not None})
    n_rows, where = work.table.n_rows, work.table.source
    return {size: make_batches(n_rows, size, n_batches, seed=seed, where=where) for size in sizes}


def _judge_grouped(work: _Work, drawn: Mapping[int, Ints]) -> dict[int, Floats]:
    """Count mini-batch rules, and give the statistic of each on each mini-batch."""
    values: dict[int, Floats] = {}
    for done, (size, batches) in enumerate(drawn.items(), start=1):
        places = [index for index, form in enumerate(work.forms) if form.over == size]
        forms = [work.forms[index] for index in places]
        given = work.table, work.statistics
        measured = measure_batches(forms, *given, batches, at_once=CHUNK_ROWS)
        values |= zip(places, measured, strict=True)
        if work.soft is not None:
            softly = measure_batches(forms, *given, batches, soft=work.soft, at_once=CHUNK_ROWS)
            known, outside = outside_counts(forms, softly)
            is_known = [work.soft.can_weigh(form, work.statistics) for form in forms]
            work.soft_applicable[places] = np.where(is_known, known, np.nan)
            work.soft_broken[places] = np.where(is_known, outside, np.nan)
        work.applicable[places], work.broken[places] = outside_counts(forms, measured)
        evidence = gather_evidence(forms, *given, at_once=CHUNK_ROWS)
        counts = np.stack([work.applicable[places], work.broken[places]], axis=1)
        work.expected[places], work.p_value[places] = batch_verdicts(
            forms, places, work.background, counts, evidence, work.table.n_rows
        )
        work.report("mini-batches", done, len(drawn))
    return values
