"""Lines: what a rule says of units as shares, a numerator over a denominator for each unit.

Nearly all that rules are tested by is such a share: of rows that break a rule, of rows in the head,
of values beyond a cut, of rows in a cell, or a mean. A rule has one line or several. Of each the
sums of powers over units are kept, from which the test of any other units follows, and which add up
over units: see `unit_tests.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from sqrl._check.null_tests import as_share
from sqrl._check.value_tests import value_test_of
from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.reference import CellAxis

POWERS = tuple((of_a, total - of_a) for total in range(1, 5) for of_a in range(total, -1, -1))
N_NUMBERS = 2 + len(POWERS)  # units, those with a hit, and the sums
MOST_CELL_LINES = 100  # of a rule about shares; beyond that only their order is tested


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One share: trials and hits of each unit that has trials. Shapes: (n_units,) each."""

    trials: Floats
    hits: Floats


def lines_of(form: Form, sums: Int64s) -> list[Line]:
    """The lines of a rule, from the sums of each unit; none where no test uses them.

    >>> from sqrl._language import parse
    >>> from sqrl._language.forms import read_form
    >>> (line,) = lines_of(read_form(parse("x <= 2")), np.array([[3, 1], [0, 0], [2, 2]]))
    >>> line.trials.tolist(), line.hits.tolist()
    ([3.0, 2.0], [1.0, 2.0])
    """
    columns = sums.astype(np.float64).T
    if form.reference is not None:
        pairs = _cell_lines(form, sums)
    elif form.evidence == "outcomes":
        pairs = [(columns[0], columns[1])]
    elif form.evidence == "counts":
        share = as_share(form.statistic or "", columns.T)
        pairs = [] if share is None else [share]
    elif not len(columns):
        pairs = []
    else:
        test = value_test_of(form)
        assert test is not None
        at_end = test.ranked in {"min", "max"}
        pairs = [(columns[0], columns[1])] + ([(columns[0], columns[2])] if at_end else [])
    return [Line(trials[trials > 0], hits[trials > 0]) for trials, hits in pairs]


def _cell_lines(form: Form, sums: Int64s) -> list[tuple[Floats, Floats]]:
    """Of shares: the order of cells, and each cell.

    Ranks come from the reference alone, and are centred in each stratum: how many rows a stratum
    has plays no part.
    """
    assert form.reference is not None
    table, axis = form.reference.table, form.reference.axes[0]
    known = table.sum(axis=1, keepdims=True) > 0
    share = np.divide(table, table.sum(axis=1, keepdims=True), where=known, out=0 * table)
    counts = sums.astype(np.float64).reshape(len(sums), *table.shape)
    counts = np.where(known, counts, 0.0)
    rows = counts.sum(axis=(1, 2))
    pairs = []
    stop = table.shape[1] - axis.has_other
    if _has_order(table, axis):
        ranks = np.cumsum(share, axis=1) - share / 2
        pairs.append((rows, _scored(counts, _centred(ranks, share, stop))))
    if table.size <= MOST_CELL_LINES:
        of_stratum = np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape)
        trials, hits = (one.reshape(len(sums), -1).T for one in (of_stratum, counts))
        pairs += list(zip(trials, hits, strict=True))
    return pairs


def _centred(scores: Floats, share: Floats, stop: int) -> Floats:
    """Scores less their mean in each stratum, 0 for the cells from `stop` on."""
    weight = share.copy()
    weight[:, stop:] = 0.0
    total = weight.sum(axis=1, keepdims=True)
    mean = (weight * scores).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    away: Floats = scores - mean
    away[:, stop:] = 0.0
    return away


def _scored(counts: Floats, scores: Floats) -> Floats:
    return np.asarray((counts * scores).sum(axis=(1, 2)))


def n_scored(form: Form) -> int:
    """How many of a rule's lines add up scores of cells; they come first."""
    if form.reference is None:
        return 0
    return int(_has_order(form.reference.table, form.reference.axes[0]))


def _has_order(table: Floats, axis: CellAxis) -> bool:
    """Whether cells have an order that says more than one of them does."""
    return axis.is_ordered and table.shape[1] - axis.has_other > 2


def powers(line: Line) -> Floats:
    """How many units there are, how many have a hit, and the sums of powers up to the fourth.

    >>> powers(Line(np.array([2.0, 3.0]), np.array([0.0, 1.0])))[:4].tolist()
    [2.0, 1.0, 5.0, 1.0]
    """
    a, b = _to_the_fourth(line.trials), _to_the_fourth(line.hits)
    sums = [(a[of_a] * b[of_b]).sum() for of_a, of_b in POWERS]
    return np.array([line.trials.size, np.count_nonzero(line.hits), *sums], np.float64)


def _to_the_fourth(x: Floats) -> tuple[Floats, ...]:
    """The powers from 0 to 4, by products alone: `**` has other bits on other processors."""
    square = x * x
    return np.ones_like(x), x, square, square * x, square * square


def residual_sums(of_powers: Floats, share: float) -> tuple[float, float, float, float]:
    """Sums over units of (hits - share x trials) to the powers one to four."""
    by = dict(zip(POWERS, of_powers[2:].tolist(), strict=True))
    found = []
    for power in range(1, 5):
        terms = [
            comb(power, of_a) * (-share) ** of_a * by[of_a, power - of_a]
            for of_a in range(power + 1)
        ]
        found.append(sum(terms))
    return found[0], found[1], found[2], found[3]


def evidence_of(form: Form, sums: Sequence[Int64s]) -> list[float]:
    """What units say of a rule: the powers of each of its lines, of some groups of units."""
    by_group = [[powers(line) for line in lines_of(form, one)] for one in sums]
    return [float(x) for lines in zip(*by_group, strict=True) for x in np.sum(lines, axis=0)]
