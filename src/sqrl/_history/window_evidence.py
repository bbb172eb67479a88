"""Evidence of one window: e-values of each rule, its rows against all rows of its baseline.

The p-values of a window that are not by an urn are those of check, with the baseline in the place
of held-out rows.
"""

from collections.abc import Sequence

import numpy as np

from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._check.null_tests import as_share, counts_test
from sqrl._check.p_values import MANY_BATCHES
from sqrl._check.unit_tests import Sides, unit_p_value
from sqrl._history.baseline import value_test_named
from sqrl._history.e_values import SHIFTS, either_way, normal_evidence, share_evidence, z_of
from sqrl._history.record import CheckRecord, Numbers
from sqrl._kernels.arrays import Bools, Floats
from sqrl._language.statistics import batch_statistic

N_SHIFTS = len(SHIFTS)
N_KINDS = 2 * N_SHIFTS  # of changes: each size upwards, then each downwards


def window_evidence(record: CheckRecord, baselines: Sequence[Numbers | None]) -> Floats:
    """Log e-values of each rule for each kind of change; 0 where a window says nothing.

    Where many mini-batches were measured and none breaks the rule, no evidence is added, as in
    check: a change that is sure is then too small to matter.

    Shapes: result (n_rules, 2 shifts), upwards first.
    """
    found = np.zeros((len(record.ids), N_KINDS))
    for (layout, statistic), places in _groups(record, baselines).items():
        if layout == "p":
            found[places] = _of_p_values(record.p_value[places])
        elif layout == "units":
            found[places] = _of_p_values(_by_units(record, baselines, places))
        elif layout == "cells":
            cases = [_case(record, baselines, place) for place in places]
            found[places] = _of_p_values(shares_tests(cases))
        else:
            before = np.array([baselines[place] for place in places])
            new = np.array([record.evidence[place] for place in places])
            found[places] = _two_sided(layout, statistic, before, new)
    found[_has_held(record)] = np.minimum(found[_has_held(record)], 0.0)
    return found


def log_weights(sides: Sequence[str]) -> Floats:
    """The log weight of each kind of change in the evidence of each rule.

    >>> np.exp(log_weights(["up"])).round(2).tolist()
    [[0.2, 0.2, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    upwards = np.array([side != "down" for side in sides], np.float64)
    downwards = np.array([side != "up" for side in sides], np.float64)
    weights = np.repeat(np.stack([upwards, downwards], axis=1), N_SHIFTS, axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights / weights.sum(axis=1, keepdims=True)))


def _groups(
    record: CheckRecord, baselines: Sequence[Numbers | None]
) -> dict[tuple[str, str | None], list[int]]:
    """The rules that can be tested, by layout and statistic."""
    groups: dict[tuple[str, str | None], list[int]] = {}
    for place, (layout, statistic) in enumerate(zip(record.layout, record.statistic, strict=True)):
        evidence, before = record.evidence[place], baselines[place]
        is_known = evidence is not None and before is not None and len(evidence) == len(before)
        if is_known or layout == "p":
            groups.setdefault((layout, statistic), []).append(place)
    return groups


def _case(record: CheckRecord, baselines: Sequence[Numbers | None], place: int) -> SharesCase:
    shape = record.shape[place]
    assert shape is not None
    strata, cells, is_ordered, has_other = shape
    reference, new = (
        np.array(numbers).reshape(strata, cells)
        for numbers in (baselines[place], record.evidence[place])
    )
    return SharesCase(reference, new, bool(is_ordered), bool(has_other))


def _by_units(
    record: CheckRecord, baselines: Sequence[Numbers | None], places: Sequence[int]
) -> Floats:
    """The p-value of each rule, its units against those of its baseline."""
    found = []
    for place in places:
        shape = record.shape[place]
        assert shape is not None
        both, moves, hits, scored = shape
        sides = Sides(both=bool(both), moves=bool(moves), hits=bool(hits), scored=scored)
        new, before = record.evidence[place] or (), baselines[place] or ()
        found.append(unit_p_value(before, new, sides))
    return np.array(found, np.float64)


def _of_p_values(p: Floats) -> Floats:
    """Log e-values of p-values that know no direction."""
    return np.tile(either_way(z_of(p, np.ones(p.shape, np.bool_))), 2)


def _two_sided(layout: str, statistic: str | None, before: Floats, new: Floats) -> Floats:
    """Log e-values upwards and downwards."""
    if layout == "outcomes":  # fewer rows that break a rule are no matter
        more = share_evidence(before[:, 0], before[:, 1], new[:, 0], new[:, 1])
        return np.concatenate([more, np.zeros_like(more)], axis=1)
    with np.errstate(all="ignore"):
        if layout == "counts":
            assert statistic is not None
            share, new_share = as_share(statistic, before), as_share(statistic, new)
            if share is not None and new_share is not None:
                return _of_shares(share, new_share)
            value = batch_statistic(statistic)
            p, rises = counts_test(statistic, before, new), value(*new.T) > value(*before.T)
        else:
            test = value_test_named(statistic)
            p, rises = test.test(before, new), test.rises(before, new)
            if test.n_marks > 1:  # of two tests at an end, of which only one has a direction
                return _of_p_values(p)
        z = z_of(p, rises)
    return np.concatenate([normal_evidence(z), normal_evidence(-z)], axis=1)


def _of_shares(before: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> Floats:
    """Log e-values of an urn: more hits, and more misses."""
    (rows, hits), (new_rows, new_hits) = before, new
    more = share_evidence(rows, hits, new_rows, new_hits)
    fewer = share_evidence(rows, rows - hits, new_rows, new_rows - new_hits)
    return np.concatenate([more, fewer], axis=1)


def _has_held(record: CheckRecord) -> Bools:
    """Where many mini-batches kept a rule and none broke it."""
    of_batches = np.array([layout != "outcomes" for layout in record.layout], np.bool_)
    return np.asarray(of_batches & (record.applicable >= MANY_BATCHES) & (record.broken == 0))
