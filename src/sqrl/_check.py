"""check(): where data or predictions break rules, and which breaks are beyond chance."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._batch_outcomes import make_batches, measure_batches, soft_heads
from sqrl._chance import (
    benjamini_hochberg,
    class_by_chance,
    counts_by_chance,
    moments_by_chance,
    outside_by_chance,
    worst_piece,
)
from sqrl._data import Table, as_table
from sqrl._evaluate import Floats, Rows
from sqrl._evidence import evidence_of
from sqrl._extract import Extractor
from sqrl._forms import Form
from sqrl._language.tree import Node
from sqrl._outcomes import Outcomes, interval_ends, judge_rows
from sqrl._quantiles import BoundMethod
from sqrl._rules import RuleSet
from sqrl._schema import BoundOptions
from sqrl._stand_in import check_columns, probabilities_of, stand_in
from sqrl._violations import Violations

Ints = NDArray[np.int64]
Track = Callable[[str, int, int], None]
CHUNK_ROWS = 1 << 20


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
    that among those the expected share of false alarms is at most `level`.

    Cost: one pass over each rule's rows; memory for the columns, the broken pairs, and a million
    rows' masks at a time.

    >>> from sqrl._rules import RuleSet
    >>> found = check(RuleSet.from_texts(["kind = a => 0 <= x <= 9"]),
    ...               {"kind": ["a", "a", "b"], "x": [3.0, 12.0, 99.0]})
    >>> found.applicable.tolist(), found.broken.tolist()
    ([2], [1])
    """
    table = as_table(data)
    for extract in extractors:
        table = extract(table)
    table, label = stand_in(rules, table, prediction)
    forms = [rules.form(index) for index in range(len(rules))]
    statistics = rules.statistics()
    check_columns(rules, forms, table, statistics)
    soft = probabilities_of(table, probabilities, label) if probabilities else None
    single = [i for i, form in enumerate(forms) if form.kind in {"sample", "class"}]
    grouped = [i for i, form in enumerate(forms) if form.kind in {"batch", "logic"}]
    outcomes = _judge_in_chunks([forms[i] for i in single], table, statistics, track)
    rows = Rows(table, statistics)
    drawn = {
        size: make_batches(table.n_rows, size, batches, seed=seed, where=table.source)
        for size in sorted({forms[i].over or 0 for i in grouped})
    }
    heads = soft_heads(label, soft) if soft is not None and label is not None else None
    made = Violations.empty(rules, table, prediction=prediction, level=level, batches=drawn)
    _fill_single(made, forms, single, outcomes, rows)
    _fill_grouped(made, forms, grouped, rows, drawn)
    if heads is not None:
        _fill_expected(made, forms, grouped, rows, drawn, heads)
    made.significant[:] = benjamini_hochberg(made.p_value, level)
    return made


def _judge_in_chunks(
    forms: list[Form], table: Table, statistics: Mapping[str, Node], track: Track | None
) -> list[Outcomes]:
    """The outcomes on a million rows at a time, so that masks stay small."""
    outcomes = []
    for first in range(0, max(table.n_rows, 1), CHUNK_ROWS):
        part = table
        if table.n_rows > CHUNK_ROWS:
            part = table.take(np.arange(first, min(first + CHUNK_ROWS, table.n_rows)))
        outcomes.append(judge_rows(forms, Rows(part, statistics)))
        if track:
            track("check", min(first + CHUNK_ROWS, table.n_rows), table.n_rows)
    return outcomes


def _fill_single(
    made: Violations, forms: list[Form], single: list[int], outcomes: list[Outcomes], rows: Rows
) -> None:
    """Counts, broken pairs and p-values of rules about single rows."""
    applicable = np.sum([part.applicable for part in outcomes], axis=0)
    broken = np.sum([part.broken for part in outcomes], axis=0)
    piece_of = outcomes[0].piece_of
    places = np.array(single, np.int64)
    made.applicable[places] = np.bincount(piece_of, applicable, len(single))
    made.broken[places] = np.bincount(piece_of, broken, len(single))
    firsts = np.arange(len(outcomes)) * CHUNK_ROWS
    made.set_pairs(
        np.concatenate([places[part.rule] for part in outcomes]) if single else places,
        np.concatenate([part.row + first for part, first in zip(outcomes, firsts, strict=True)]),
        np.concatenate([part.excess for part in outcomes]),
    )
    expected, p = _sample_chance(made.rules, forms, single, applicable, broken, piece_of)
    made.expected[places] = expected
    made.p_value[places] = p
    for index in single:
        if forms[index].kind == "class":
            _class_chance(made, forms[index], index)
    del rows


def _class_chance(made: Violations, form: Form, index: int) -> None:
    del form
    seen = made.rules[index].evidence
    if seen:
        new = float(made.applicable[index]), float(made.broken[index])
        made.expected[index], made.p_value[index] = class_by_chance((seen[0], seen[1]), new)


def _sample_chance(
    rules: RuleSet,
    forms: list[Form],
    single: list[int],
    applicable: Ints,
    broken: Ints,
    piece_of: Ints,
) -> tuple[Floats, Floats]:
    """Expected counts and p-values by the beta-binomial, for all pieces of all rules at once."""
    support = np.zeros(piece_of.size, np.int64)
    sides = np.zeros((piece_of.size, 2), np.bool_)
    delta = np.full(piece_of.size, np.nan)
    for place, index in enumerate(single):
        form, rule = forms[index], rules[index]
        mine = piece_of == place
        if form.kind != "sample" or rule.coverage is None or rule.support is None:
            continue
        supports = rule.supports or [rule.support]
        if len(supports) != mine.sum():
            continue
        lower, upper = interval_ends(form)
        support[mine] = supports
        sides[mine] = np.stack([np.isfinite(lower), np.isfinite(upper)], axis=1)
        delta[mine] = round(1.0 - rule.coverage, 12)
    options = rules.schema.bounds if rules.schema else BoundOptions()
    expected, p = np.full(piece_of.size, np.nan), np.full(piece_of.size, np.nan)
    for has_lower, has_upper, one_delta in {
        (bool(a), bool(b), float(d)) for (a, b), d in zip(sides, delta, strict=True) if d == d
    }:
        mine = (sides[:, 0] == has_lower) & (sides[:, 1] == has_upper) & (delta == one_delta)
        method = BoundMethod(one_delta, has_lower, has_upper, options)
        expected[mine], p[mine] = outside_by_chance(
            broken[mine], applicable[mine], support[mine], method
        )
    totals = np.bincount(piece_of, expected, len(single))
    return totals, worst_piece(p, piece_of, len(single))


def _fill_grouped(
    made: Violations, forms: list[Form], grouped: list[int], rows: Rows, drawn: dict[int, Ints]
) -> None:
    """Values, counts and p-values of mini-batch rules."""
    values = measure_batches([forms[i] for i in grouped], rows, drawn)
    for index, measured in zip(grouped, values, strict=True):
        form, rule = forms[index], made.rules[index]
        (lower,), (upper,) = interval_ends(form)
        known = ~np.isnan(measured)
        made.batch_values[index] = measured
        made.applicable[index] = np.count_nonzero(known)
        made.broken[index] = np.count_nonzero(known & ((measured < lower) | (measured > upper)))
        if rule.coverage is not None:
            made.expected[index] = made.applicable[index] * (1.0 - rule.coverage)
        if not rule.evidence:
            continue
        new = evidence_of(form, rows)
        assert new is not None
        if form.kind == "logic":
            p = counts_by_chance(form.statistic or "", rule.evidence, new)
        elif form.statistic == "mean":
            p = moments_by_chance(rule.evidence, new)
        else:
            p = float("nan")
        # A rule whose mini-batches all hold is not broken, however surely its mean has moved.
        made.p_value[index] = p if made.broken[index] else max(p, 1.0)


def _fill_expected(
    made: Violations,
    forms: list[Form],
    grouped: list[int],
    rows: Rows,
    drawn: dict[int, Ints],
    heads: Mapping[Node, Floats],
) -> None:
    """How many mini-batches break each rule under the predicted distribution."""
    values = measure_batches([forms[i] for i in grouped], rows, drawn, heads)
    made.soft_broken = np.full(len(forms), -1, np.int64)
    for index, measured in zip(grouped, values, strict=True):
        (lower,), (upper,) = interval_ends(forms[index])
        known = ~np.isnan(measured)
        outside = known & ((measured < lower) | (measured > upper))
        made.soft_broken[index] = np.count_nonzero(outside)
