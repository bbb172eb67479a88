"""What the rows of each unit say of each rule: sums that add up, wherever the rows are.

Of more units than are kept, those with the smallest keys are: a sample that depends neither on the
order of the rows nor on how they are divided into parts. Every sum is of whole numbers, so that not
a bit depends on that either: values are counted in millionths of their standard deviation.

    outcomes   [applicable, broken]       rows that a rule applies to, and those that break it
    counts     [body, head, both, rows]   rows in the body, the head, both, and in all
    moments    [rows, sum, ..]            values, and what the test of their statistic adds up
    cells      [..]                       rows in each cell of the rule's reference
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._check.row_outcomes import row_outcome
from sqrl._check.value_tests import MOMENTS, value_test_of
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.kinds import EVIDENCE
from sqrl._language.tree import conjunction
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import AxisCodes
from sqrl._rows.units import is_among, unit_keys
from sqrl._scan.job import State

MOST_SUMS = 1 << 24  # of all units: 128 MiB
MOST_UNITS, FEWEST_KEPT = 1 << 16, 64
FINEST = float(1 << 20)  # parts of a standard deviation
FARTHEST = 1_000.0  # standard deviations: so far off, how far says nothing more
Marks = tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class UnitSums:
    """The units that were kept, and what each adds up to.

    Shapes: keys (n_units,) ascending, sums (n_units, n_columns); `columns` has the first column of
    each rule, and their number last.
    """

    keys: Int64s
    sums: Int64s
    columns: Int64s

    def of_rule(self, place: int) -> Int64s:
        """The sums of one rule. Shape: (n_units, its columns)."""
        return self.sums[:, self.columns[place] : self.columns[place + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class CountUnits:
    """Asks for the sums of some rules over the rows of each unit.

    `marks` are what held-out rows have fixed for each rule: see `unit_marks`.

    Cost: for each rule about as much as a check of single rows; memory for `most_units` units.

    >>> from sqrl._data.table import as_table
    >>> from sqrl._language import parse
    >>> from sqrl._language.forms import read_form
    >>> asked = CountUnits("valid", ("image",), [read_form(parse("x <= 2"))], [()])
    >>> rows = Rows(as_table({"image": [1, 1, 2], "x": [1.0, 5.0, None]}), {})
    >>> sorted(asked.answer(rows).sums.tolist())
    [[0, 0], [2, 1]]
    """

    of: Of
    unit: tuple[str, ...]
    forms: Sequence[Form]
    marks: Sequence[Marks]

    @property
    def columns(self) -> Int64s:
        """The first column of each rule, and how many there are in all."""
        widths = [
            n_columns(form, marks) for form, marks in zip(self.forms, self.marks, strict=True)
        ]
        return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)

    @property
    def most_units(self) -> int:
        """How many units are kept: fewer where there are many rules, for memory."""
        fits = MOST_SUMS // max(int(self.columns[-1]), 1)
        return min(max(fits, FEWEST_KEPT), MOST_UNITS)

    def start(self) -> State:
        """No unit."""
        return {"keys": np.empty(0, np.int64), "sums": np.empty((0, self.columns[-1]), np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows too."""
        keys = unit_keys(rows, self.unit)
        units = np.unique(keys)
        if units.size > self.most_units:  # then nobody needs the rows of the others
            units = units[: self.most_units]
            chosen = np.flatnonzero(is_among(keys, units))
            rows, keys = Rows(rows.table.take(chosen), rows.statistics), keys[chosen]
        code = np.searchsorted(units, keys)
        sums, codes = np.zeros((units.size, self.columns[-1]), np.int64), AxisCodes(rows)
        for place, begin in enumerate(self.columns[:-1].tolist()):
            given = self.forms[place], self.marks[place], rows, codes
            for offset, values in enumerate(_ADDED[self.forms[place].evidence](*given)):
                if values is not None:
                    added = np.bincount(code, values, units.size)
                    sums[:, begin + offset] = np.rint(added).astype(np.int64)
            if self.forms[place].reference is not None:
                sums[:, begin : self.columns[place + 1]] = _cells(
                    code, units.size, codes, self.forms[place]
                )
        return self.merge(tally, {"keys": units, "sums": sums})

    def merge(self, one: State, other: State) -> State:
        """The units of both, those of both added up; the ones with the smallest keys are kept."""
        if not one["keys"].size:
            return other
        keys = np.union1d(one["keys"], other["keys"])[: self.most_units]
        sums = np.zeros((keys.size, self.columns[-1]), np.int64)
        for each in (one, other):
            kept = is_among(each["keys"], keys)
            sums[np.searchsorted(keys, each["keys"][kept])] += each["sums"][kept]
        return {"keys": keys, "sums": sums}

    def finish(self, tally: State) -> UnitSums:
        """The units and their sums."""
        return UnitSums(tally["keys"], tally["sums"], self.columns)

    def answer(self, rows: Rows) -> UnitSums:
        """The units and their sums, of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


def unit_marks(form: Form, evidence: Sequence[float] | None) -> Marks:
    """What the sums of a rule need of its evidence: centre and scale of values, or cuts."""
    test = value_test_of(form)
    if test is None or test.has_keys or not evidence:
        return ()
    if test.ranked is None:
        centre, variance = evidence[1], evidence[2]
        return centre, float(np.sqrt(variance)) if variance > 0 else 1.0
    return tuple(evidence[MOMENTS : MOMENTS + test.n_marks])


def n_columns(form: Form, marks: Marks) -> int:
    """How many sums a unit has for a rule; none where no test uses them."""
    if form.reference is not None:
        return len(form.reference.counts)
    if form.evidence != "moments":
        return len(EVIDENCE[form.evidence])
    test = value_test_of(form)
    if not marks or test is None:
        return 0
    return 1 + (len(marks) if test.ranked else 1)


Added = Sequence[Floats | Bools | None]  # a weight for each row; None where it is not a sum


def _outcomes(form: Form, _marks: Marks, rows: Rows, _codes: AxisCodes) -> Added:
    found = row_outcome(form, rows)
    return np.logical_or.reduce(found.applies), found.is_broken


def _counts(form: Form, _marks: Marks, rows: Rows, _codes: AxisCodes) -> Added:
    here = rows.all_true(form.given)
    if form.head is None:
        formula = conjunction(form.body)
        assert formula is not None
        truths = rows.truths(formula)
        inside = here & truths.true
        return inside, inside, inside, here & (truths.true | truths.false)
    head = rows.truths(form.head)
    here = here & (head.true | head.false)
    body, heads = here & rows.all_true(form.body), here & head.true
    return body, heads, body & heads, here


def _values(form: Form, marks: Marks, rows: Rows, _codes: AxisCodes) -> Added:
    test = value_test_of(form)
    if not marks or test is None:
        return ()
    assert form.subject is not None
    values = rows.numbers(form.subject)
    here = rows.all_true(form.given) & ~np.isnan(values)
    if test.ranked is None:
        far = np.clip((values - marks[0]) / marks[1], -FARTHEST, FARTHEST)
        far = far * far if test.n_more else far
        return here, np.where(here, np.rint(far * FINEST), 0.0)
    below = here & (values <= marks[0])
    if len(marks) == 1:
        return here, below
    beyond = values > marks[1] if test.ranked == "max" else values < marks[1]
    return here, below, here & beyond


def _none(_form: Form, _marks: Marks, _rows: Rows, _codes: AxisCodes) -> Added:
    return ()


_ADDED: Mapping[str, Callable[[Form, Marks, Rows, AxisCodes], Added]] = {
    "outcomes": _outcomes,
    "counts": _counts,
    "moments": _values,
    "cells": _none,
}


def _cells(code: Int64s, n_units: int, codes: AxisCodes, form: Form) -> Int64s:
    """How many rows of each unit are in each cell. Shape: (n_units, cells)."""
    assert form.reference is not None
    n_cells, cell = len(form.reference.counts), codes.of(form)
    known = cell >= 0
    place = code[known] * n_cells + cell[known]
    return np.bincount(place, minlength=n_units * n_cells).reshape(n_units, n_cells)
