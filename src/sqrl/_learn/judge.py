"""What becomes of each candidate: empty, unsupported, unstable, redundant, valid or selected."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._learn.bounds import Bounds, Measure
from sqrl._learn.bounds.measure import Description
from sqrl._learn.candidates import Candidates
from sqrl._learn.selection import (
    EMPTY,
    REDUNDANT,
    SELECTED,
    STATUSES,
    UNSTABLE,
    UNSUPPORTED,
    VALID,
    Ranking,
    find_redundant,
    select_top,
)
from sqrl._rules.schema import Schema

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What became of the candidates of one template: columns with an entry for each."""

    candidates: Candidates
    measure: Measure
    bounds: Bounds
    jaccard: Floats
    status: NDArray[np.int8]  # an index into STATUSES
    selected: Ints  # best first, where there was a choice
    rows: Ints | None


def judge(
    candidates: Candidates,
    measure: Measure,
    bounds: Bounds,
    agreement: Floats,
    agrees: Bools,
    described: Description | None,
    schema: Schema,
) -> Learned:
    """The status of every candidate, decided step by step."""
    n_rows = described[0] if described else np.maximum(bounds.support, 0).sum(axis=1)
    status = np.full(candidates.n, STATUSES.index(VALID), np.int8)
    status[~agrees] = STATUSES.index(UNSTABLE)
    status[_unsupported(bounds)] = STATUSES.index(UNSUPPORTED)
    status[_empty(bounds, n_rows, measure.method.min_support)] = STATUSES.index(EMPTY)
    keep = status == STATUSES.index(VALID)
    length = candidates.lengths()
    if described:
        redundant = find_redundant(keep, described[1], described[2], length)
        status[redundant] = STATUSES.index(REDUNDANT)
        keep &= ~redundant
    if candidates.template.families:  # rules that compete; others each say a thing of their own
        ranking = Ranking(
            _reduced(np.fmin, bounds.lower),
            _reduced(np.fmax, bounds.upper),
            n_rows,
            agreement,
            length,
        )
        group = candidates.columns.get(schema.select.per or "")
        if group is None:
            group = np.zeros(candidates.n, np.int32)
        selected = select_top(keep, group, ranking, schema.select)
    else:
        selected = np.flatnonzero(keep)
    status[selected] = STATUSES.index(SELECTED)
    n_described = n_rows if described else None
    return Learned(candidates, measure, bounds, agreement, status, selected, n_described)


def _unsupported(bounds: Bounds) -> Bools:
    """Where a piece that is there has too few samples for bounds."""
    missing: Bools = np.isnan(bounds.lower) & (bounds.support >= 0)
    return np.asarray(missing.any(axis=1))


def _empty(bounds: Bounds, n_rows: Ints, min_support: int) -> Bools:
    """Where there is nothing to speak of: no piece, no row, or no interval of the class's own."""
    empty: Bools = (bounds.support < 0).all(axis=1) | (n_rows <= 0)
    if bounds.strict_lower is not None:
        enough = bounds.support[:, 0] >= min_support
        empty |= enough & np.isnan(bounds.lower).all(axis=1)
    return empty


def _reduced(ufunc: np.ufunc, values: Floats) -> Floats:
    """One bound a candidate: the least lower, the greatest upper; nan where there is none."""
    return values[:, 0] if values.shape[1] == 1 else np.asarray(ufunc.reduce(values, axis=1))
