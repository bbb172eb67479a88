"""What held-out rows say of a rule, in a few numbers: enough to test new rows against them later.

Bounds of a mini-batch rule come from mini-batches that share rows, and the rules kept are those
that looked best on the train rows. Neither says what the null hypothesis expects. Held-out rows do:
they were not learned from. For each rule we keep, of those rows, as its kind
says in `KINDS`,

    counts     [body, head, both, rows]   how many rows are in the body, the head, both, and in all
    moments    [rows, mean, variance, ..] of the subject's values, and what `value_tests.py` adds
    outcomes   [applicable, broken]       how many rows the rule applies to, and how many break it
    cells      [..]                       how many rows are in each cell of the rule's reference

Rules that were not fitted to train rows (the share of a formula that a person names), and those
that are kept only if no train row breaks them (`known(age)`), count the train rows too: that so
many rows break a rule and none of them is a train row is itself what the test is about. So do sets
of values seen; there train rows that alone have their value count as broken.

While rows are added they are all integers, counts and exact sums, so that neither the order of the
rows nor how they are divided into parts changes a bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from sqrl._check.repeated_keys import (
    KEYS,
    TIMES,
    add_keys,
    finish_keys,
    merge_keys,
    start_keys,
)
from sqrl._check.row_outcomes import evaluate_rows
from sqrl._check.value_tests import marks_of, ranks_question, value_test_of
from sqrl._data.arrow_arrays import from_values
from sqrl._kernels.arrays import Floats, Int64s, Words64
from sqrl._kernels.sums import add_moments, finish_moments, merge_moments, start_moments
from sqrl._language.forms import Form
from sqrl._language.kinds import EVIDENCE
from sqrl._language.tree import Units
from sqrl._rows.packed_batches import PackedBatches, count_formula
from sqrl._rows.questions import Asking, FindUnits, Of
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import AxisCodes, count_codes
from sqrl._rules.rule_columns import COLUMNS
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.job import State

NONE: Mapping[int, int] = MappingProxyType({})
MOST_NUMBERS = max(map(len, EVIDENCE.values()))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Asks for the numbers of some rules.

    Shapes of a tally: counts (n_forms, 4), moments (n_forms with moments, ..).

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language.forms import read_form
    >>> from sqrl._language import parse
    >>> texts = ["0 <= mean(x) <= 2 over 2", "x <= 2", "f1(x > 1 => y = 1) <= 0.9 over 2"]
    >>> evidence = Evidence("valid", [read_form(parse(text)) for text in texts])
    >>> evidence.answer(Rows(as_table({"x": [1.0, 2.0, 6.0], "y": [1, 1, None]}), {}))
    [[3.0, 3.0, 4.666666666666667], [3.0, 1.0], [1.0, 2.0, 1.0, 2.0]]
    """

    of: Of
    forms: Sequence[Form]
    marks: Sequence[tuple[float, ...]] = ()  # of each form, as held-out rows fixed them

    def _marks(self, index: int) -> tuple[float, ...]:
        return self.marks[index] if self.marks else ()

    def start(self) -> State:
        """Nothing counted."""
        n_moments = sum(form.evidence == "moments" for form in self.forms)
        return {
            "counts": np.zeros((len(self.forms), MOST_NUMBERS), np.int64),
            "moments": start_moments(n_moments),
            "cells": np.zeros(sum(map(_n_cells, self.forms)), np.int64),
            "squares": start_moments(n_moments if any(self.marks) else 0),
            "beyond": np.zeros((len(self.forms), 2), np.int64),
        }

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too; the given one is changed in place."""
        single = [i for i, form in enumerate(self.forms) if form.evidence == "outcomes"]
        if single:
            found = evaluate_rows([self.forms[i] for i in single], rows)
            for place, counts in enumerate((found.applicable, found.broken)):
                summed = np.bincount(found.piece_of, counts, len(single))
                tally["counts"][single, place] += summed.astype(np.int64)
        place, whole = 0, PackedBatches(rows, 1)
        cell, codes = 0, AxisCodes(rows)
        for index, form in enumerate(self.forms):
            if form.evidence == "counts":
                counted = [int(count[0]) for count in count_formula(form, whole)]
                tally["counts"][index] += np.array(counted)
            elif form.evidence == "moments":
                assert form.subject is not None
                values = rows.numbers(form.subject)
                here = values[rows.all_true(form.given)] if form.given else values
                add_moments(here, 0, tally["moments"][place : place + 1])
                self._add_marked(index, place, here, tally)
                place += 1
            elif form.reference is not None:
                found_cells = count_codes(codes.of(form), _n_cells(form))
                tally["cells"][cell : cell + found_cells.size] += found_cells
                cell += found_cells.size
        return tally

    def _add_marked(self, index: int, place: int, values: Floats, tally: State) -> None:
        """Add what the test of a statistic needs of its values beside their moments."""
        form, marks = self.forms[index], self._marks(index)
        test = value_test_of(form)
        if test is None:
            return
        if test.has_keys:
            found = add_keys(*_keys(tally, index), values)
            tally[f"{KEYS}/{index}"], tally[f"{TIMES}/{index}"] = found
        elif marks and test.ranked is None:
            away = values - marks[0]
            with np.errstate(over="ignore"):
                add_moments(away * away, 0, tally["squares"][place : place + 1])
        elif marks:
            tally["beyond"][index, 0] += np.count_nonzero(values <= marks[0])
            if len(marks) > 1:
                beyond = values > marks[1] if test.ranked == "max" else values < marks[1]
                tally["beyond"][index, 1] += np.count_nonzero(beyond)

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        merged = {
            name: merge_moments(one[name], other[name])
            if name in {"moments", "squares"}
            else one[name] + other[name]
            for name in ("counts", "cells", "moments", "squares", "beyond")
        }
        for keys in {key for key in (*one, *other) if key.startswith(f"{KEYS}/")}:
            times = keys.replace(KEYS, TIMES)
            if keys in one and keys in other:
                found = merge_keys(one[keys], one[times], other[keys], other[times])
                merged[keys], merged[times] = found
            else:
                mine = one if keys in one else other
                merged[keys], merged[times] = mine[keys], mine[times]
        return merged

    def finish(self, tally: State) -> list[list[float]]:
        """The numbers for each rule."""
        moments = iter(self._moments(tally))
        counted = tally["counts"].astype(np.float64).tolist()
        cells = iter(tally["cells"].astype(np.float64).tolist())
        return [
            next(moments)
            if form.evidence == "moments"
            else list(islice(cells, _n_cells(form)))
            if form.reference is not None
            else counts[: len(EVIDENCE[form.evidence])]
            for form, counts in zip(self.forms, counted, strict=True)
        ]

    def _moments(self, tally: State) -> list[list[float]]:
        """The numbers of rules about values: moments, marks, and what was counted by these."""
        found: list[list[float]] = np.stack(finish_moments(tally["moments"]), axis=1).tolist()
        about = [index for index, form in enumerate(self.forms) if form.evidence == "moments"]
        squares = finish_moments(tally["squares"])[2].tolist() if any(self.marks) else []
        for place, index in enumerate(about):
            marks, test = self._marks(index), value_test_of(self.forms[index])
            if test is not None and test.has_keys:
                found[place] += map(float, finish_keys(*_keys(tally, index)))
            elif marks and test is not None:
                counted = tally["beyond"][index, : len(marks)].astype(np.float64).tolist()
                found[place] += [*marks, *(counted if test.ranked else [squares[place]])]
        return found

    def answer(self, rows: Rows) -> list[list[float]]:
        """The numbers for each rule, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


def _keys(tally: State, index: int) -> tuple[Words64, Int64s]:
    """The hashes of a rule's values that were kept so far, and how often each occurs."""
    if f"{KEYS}/{index}" not in tally:
        return start_keys()
    return tally[f"{KEYS}/{index}"], tally[f"{TIMES}/{index}"]


def _n_cells(form: Form) -> int:
    return 0 if form.reference is None else len(form.reference.counts)


def _marks(
    rules: RuleSet, of: Of, forms: Mapping[int, Form], found: list[Any]
) -> Asking[dict[int, tuple[float, ...]]]:
    """What held-out rows fix for the tests of some rules, by the rule's place."""
    made = rules.provenance
    n_rows = 0 if made is None else made.valid_rows or made.train_rows
    tests = {
        index: test for index, form in forms.items() if (test := value_test_of(form)) is not None
    }
    marks: dict[int, tuple[float, ...]] = {
        index: (float(found[index][1]),)  # the mean
        for index, test in tests.items()
        if test.n_marks and not test.ranked and found[index][0]
    }
    n_units = yield from _count_units(rules, of, [forms[index] for index in tests])
    given = {index: (n_rows, n_units, found[index][0]) for index in tests}
    asked = {
        index: question
        for index in tests
        if (question := ranks_question(of, forms[index], *given[index])) is not None
    }
    if asked:
        answers = yield list(asked.values())
        for index, ordered in zip(asked, answers, strict=True):
            marks[index] = marks_of(ordered)
    return marks


def _count_units(rules: RuleSet, of: Of, forms: Sequence[Form]) -> Asking[int]:
    """How many units there are, where a rule is about mini-batches of such; else 0."""
    if rules.schema is None or not any(isinstance(form.over, Units) for form in forms):
        return 0
    (units,) = yield [FindUnits(of, rules.schema.units)]
    return int(units.n)


def with_evidence(rules: RuleSet, of: Of, also_train: Mapping[int, int] = NONE) -> Asking[RuleSet]:
    """The rules with what rows say of each of them; candidates not selected have none.

    Rules whose places are in `also_train` count the train rows, too, of which so many are taken to
    break them: see `_tested_on_all_rows`.
    """
    forms = {place: rules.form(place) for place in selected_places(rules)}
    chosen = [place for place, form in forms.items() if form.reference is None]  # which says it all
    both = [place for place in chosen if place in also_train]
    first, of_train = yield [
        Evidence(of, [forms[place] for place in chosen]),
        Evidence("train", [forms[place] for place in both]),
    ]
    found = spread(chosen, first, len(rules))
    for place, of_rule in zip(both, of_train, strict=True):
        found[place] = [one + other for one, other in zip(found[place], of_rule, strict=True)]
        if forms[place].evidence == "outcomes":
            found[place][1] += also_train[place]
    marks = yield from _marks(rules, of, forms, found)
    if marks:
        (second,) = yield [Evidence(of, [forms[place] for place in marks], list(marks.values()))]
        for place, of_rule in zip(marks, second, strict=True):
            found[place] = of_rule
    return put_column(rules, "evidence", found)


def selected_places(rules: RuleSet) -> list[int]:
    """The rules that are more than candidates."""
    status = rules.table["status"].to_pylist()
    return [place for place in range(len(rules)) if status[place] in {None, "selected"}]


def spread(places: Sequence[int], values: Sequence[Any], size: int) -> list[Any]:
    """A value for each rule, None for those that are not at these places."""
    found: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


def put_column(rules: RuleSet, name: str, values: list[Any]) -> RuleSet:
    """The rules with a value for each of them in a column."""
    field = COLUMNS.field(name)
    column, place = from_values(values, field.type), COLUMNS.get_field_index(name)
    return replace(rules, table=rules.table.set_column(place, field, column))
