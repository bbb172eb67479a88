"""How well a model would do that is trained by rules, tried out where the labels are.

The rows are divided in two: rules state what one half says, a model is fitted to the terms of the
other as if that had no labels, and its labels judge it; then the other way round. So the strength
that holds effects back, the scale that calibrates them and what is worth stating are chosen by rows
that the model did not learn from, and no row of the place where it will be trained is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._kernels.max_entropy import (
    attainable,
    best_scale,
    match_moments,
    on_one_thread,
    softmax,
)

STRENGTHS = (
    0.01,
    0.03,
    0.1,
    0.3,
    1.0,
    3.0,
    10.0,
    30.0,
)  # over the square root of the number of rows
MOST_ROWS = 10_000  # of both halves
FEW_ROWS = 1_000  # with fewer, they are divided several times
REPEATS = 3
MOST_SCALED = 8.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The best strength (over the root of the rows) and scale; `cost` is minus the likelihood."""

    cost: float
    strength: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class TermsOfRows:
    """Terms of rows: facts, 1 or 0, then numbers, nan where a row lacks one.

    Shapes: values (n_rows, n_terms), is_missing (n_terms,): whether it is that a value is missing.
    """

    values: Floats
    n_facts: int
    is_missing: Bools


def try_training(
    terms_of: Callable[[Int64s], TermsOfRows],
    codes: Int64s,
    n_classes: int,
    *,
    near: float = 1.0,
    seed: int = 0,
) -> Trial:
    """What a model trained by rules of half of the rows says of the other half, at its best.

    `terms_of` gives the terms of all rows, chosen by the labels of the rows that it is given.
    `codes` are the classes. Strengths are tried from `near` on, in the direction that does better.
    """
    with on_one_thread():
        return _try_strengths(_halves(terms_of, codes, n_classes, seed), near)


def _try_strengths(halves: "list[_Half]", near: float) -> Trial:
    """The best of the strengths from `near` on, in the direction that does better."""
    if not halves:
        return Trial(np.inf, near, 1.0)
    place = STRENGTHS.index(near)
    tried = {place: _tried(halves, near)}
    for step in (1, -1):
        at = place
        while 0 <= at + step < len(STRENGTHS):
            tried.setdefault(at + step, _tried(halves, STRENGTHS[at + step]))
            if tried[at + step].cost >= tried[at].cost:
                break
            at += step
        if at != place:
            break
    return min(tried.values(), key=lambda one: one.cost)


@dataclass(frozen=True, slots=True, eq=False)
class _Half:
    """What rules of one half state, the terms of the other, and its classes."""

    inputs: Floats
    wanted: Floats
    base: Floats
    codes: Int64s
    n_behind: int


def _halves(
    terms_of: Callable[[Int64s], TermsOfRows], codes: Int64s, n_classes: int, seed: int
) -> list[_Half]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(1 if len(codes) > FEW_ROWS else REPEATS):
        order = rng.permutation(len(codes))[:MOST_ROWS]
        middle = len(order) // 2
        for one, other in ((order[:middle], order[middle:]), (order[middle:], order[:middle])):
            terms = terms_of(np.sort(one))
            if terms.values.shape[1]:
                base, wanted = stated_by(terms, one, other, codes, n_classes)
                inputs = standard(terms, other)
                wanted = attainable(inputs, wanted)
                made.append(_Half(inputs, wanted, base, codes[other], len(one)))
    return made


def _tried(halves: list[_Half], strength: float) -> Trial:
    """How well models do with a strength, and with the scale that is best for it."""
    parts = []
    for half in halves:
        pull = strength / np.sqrt(half.n_behind) * np.eye(half.inputs.shape[1])
        penalty = np.repeat(pull[None], len(half.base), axis=0)
        weights, _ = match_moments(half.inputs, half.wanted, half.base, penalty)
        parts.append((half.inputs @ weights, half.base, half.codes))
    scale, cost = best_scale(parts)
    return Trial(cost, strength, min(scale, MOST_SCALED))


def residuals_of(
    terms: TermsOfRows, rows: Int64s, codes: Int64s, n_classes: int, strength: float
) -> tuple[Floats, Floats]:
    """The residuals of a model fitted to some of the rows, and the variance that it expects.

    Shapes: results (n_rows, n_classes).
    """
    with on_one_thread():
        base, wanted = stated_by(terms, rows, rows, codes, n_classes)
        inputs = standard(terms, rows)
        pull = strength / np.sqrt(len(rows)) * np.eye(inputs.shape[1])
        penalty = np.repeat(pull[None], n_classes, axis=0)
        weights, level = match_moments(inputs, attainable(inputs, wanted), base, penalty)
        expected = softmax(inputs @ weights + level)
    return np.eye(n_classes)[codes[rows]] - expected, expected * (1 - expected)


def standard(terms: TermsOfRows, rows: Int64s) -> Floats:
    """The terms of rows less their mean, in standard deviations; 0 where there is none."""
    values = terms.values[rows]
    return np.asarray(_centred(values) / units_of(values, terms.is_missing))


def units_of(values: Floats, is_missing: Bools) -> Floats:
    """What each term is measured in: its standard deviation, of a missing value 1.

    So effects of missing values are held back more: that one is missing seldom tells much.
    """
    return np.where(is_missing, 1.0, _deviation(values))


def _centred(values: Floats) -> Floats:
    """Values less the mean of their column, 0 where there is none."""
    known = ~np.isnan(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values - mean, 0.0)


def _deviation(values: Floats) -> Floats:
    """The standard deviation of each column's known values; 1 where that is 0."""
    n_known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    unit = np.sqrt((_centred(values) ** 2).sum(axis=0) / n_known)
    return np.where(unit > 0, unit, 1.0)


def stated_by(
    terms: TermsOfRows, behind: Int64s, here: Int64s, codes: Int64s, n_classes: int
) -> tuple[Floats, Floats]:
    """The base, and the mean of term x class, that rules of some rows state of others.

    Shapes: base (n_classes,), wanted (n_terms, n_classes).
    """
    labels = np.eye(n_classes)[codes[behind]]
    base = np.maximum(labels.mean(axis=0), 1e-4)
    base /= base.sum()
    values, others = terms.values[behind], terms.values[here]
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    count = known.T.astype(np.float64) @ labels  # rows of the class that have the term
    sums = filled.T @ labels
    n_facts = terms.n_facts
    # A fact: its rate within, times its share of the rows here, less what chance would give.
    rate = sums[:n_facts] / np.maximum(sums[:n_facts].sum(axis=1, keepdims=True), 1.0)
    share = others[:, :n_facts].mean(axis=0)[:, None]
    of_facts = share * (rate - base)
    # A number: the share of the class times how far its mean is from that of all, in units here.
    count, sums = count[n_facts:], sums[n_facts:]
    mean = sums.sum(axis=1, keepdims=True) / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    of_numbers = (sums - count * mean) / len(behind)
    return base, np.vstack([of_facts, of_numbers]) / units_of(others, terms.is_missing)[:, None]
