"""An additive model that has the rates and means that rules state: no label of any row is needed.

Among all ways to give rows probabilities such that the classes are as frequent within each fact,
and numbers as large within each class, as rules state, that of the highest entropy is a logistic
model in which each fact adds its own number, and each number a multiple of itself:

    minimise over theta   mean over rows of log sum_c exp(z_c) - sum theta . stated
                          + 1/2 theta' V theta + strength/2 |w|^2        z = terms @ theta + b

`stated` is the mean of term x class: for a fact the share of rows in fact and class, for a number
(less its mean, in standard deviations) the share of the class times the mean within it. These are
the equations that the labels of the rows behind the rules would give; a logistic regression on the
terms needs nothing else of them. V is the variance of what is stated (the dual of letting it differ
by its own error), and w is theta seen in a basis in which neighbouring buckets of a number move
together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._kernels.max_entropy import attainable, level_of, match_moments, on_one_thread, softmax
from sqrl._language.tree import (
    Between,
    Compare,
    Known,
    Name,
    Node,
    Not,
    Number,
    is_about_missing,
    walk,
)
from sqrl._rules.needed_columns import names_in
from sqrl._rules.schema import TrainBy
from sqrl._train.stated import Stated

MOST_ROWS = 20_000  # that a model is fitted on
LEAST_SHARE = 1e-4  # of the rows: a rarer fact has no larger unit
MOST_RAISED = 4.0  # times that effects are made larger again for what the strength has taken
FILLED = 0.999  # of the rows: facts that hold on so many, one on each, fill them
SMOOTH, LINEAR, ROUGH = 0.5, 0.5, 0.05  # of the effects of a number's buckets


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """What each term adds to the logits of the classes (of a number: to its mean).

    A term that a row lacks counts as the `usual` one. Shapes: effects (n_terms, n_classes), level
    (n_classes,), usual (n_terms,).
    """

    effects: Floats
    level: Floats
    usual: Floats
    strength: float
    scale: float
    is_number: bool

    def logits(self, terms: Floats) -> Floats:
        """The logits of rows, or the expected numbers: (n_rows, n_classes)."""
        return np.where(np.isnan(terms), self.usual, terms) @ self.effects + self.level

    def predict(self, terms: Floats) -> Floats:
        """Probabilities of the classes: (n_rows, n_classes); expected numbers: (n_rows, 1)."""
        logits = self.logits(terms)
        return logits if self.is_number else softmax(logits)


def fit_additive(
    stated: Stated,
    terms: Floats,
    *,
    codes: Int64s | None = None,
    numbers: Floats | None = None,
    strength: float | None = None,
    by: TrainBy | None = None,
    seed: int = 0,
) -> Additive:
    """The additive model that has the stated rates and means on these rows.

    Without a `strength` it is what did best where the rules were learned (`by`), and its scale is
    taken from there too. Where that is not known it is one over the square root of how many rows
    the rates rest on, told by their spreads; effects that it has made too small together are then
    raised together, so that the stated rates are met as well as they can be.
    `codes` are the classes of rows whose label is known, -1 elsewhere (`numbers` of a number label,
    nan elsewhere): their counts are added to what rules state.

    Shapes: terms (n_rows, n_terms).
    """
    with on_one_thread():
        return _fit(stated, terms, codes, numbers, strength, by, np.random.default_rng(seed))


def _fit(
    stated: Stated,
    terms: Floats,
    codes: Int64s | None,
    numbers: Floats | None,
    strength: float | None,
    by: TrainBy | None,
    rng: np.random.Generator,
) -> Additive:
    tried = by is not None and by.strength is not None and not stated.is_number
    problem = _problem(stated, terms, codes, numbers, rng, tried=tried)
    if tried and strength is None:
        assert by is not None
        assert by.strength is not None
        # With labels beside the rules more rows are behind what is fitted.
        strength = by.strength * math.sqrt(problem.n_stated / problem.n_behind)
        weights, _ = problem.solve(strength)
        scale = by.scale
        weights, level = problem.scaled(weights, scale)
    else:
        strength = strength or 1.0 / math.sqrt(max(problem.n_behind, 1.0))
        weights, level, scale = problem.calibrated(*problem.solve(strength), strength)
    effects = (problem.basis @ weights) / problem.unit[:, None]
    level = level - problem.usual @ effects
    return Additive(effects, level, problem.usual, strength, scale, stated.is_number)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """All that is minimised: terms in the basis, what is stated of them, and how surely.

    `terms` are less their usual value (for a fact its share of the rows, for a number its mean) and
    in units (of a fact 1, of a number its standard deviation). `n_stated` rows are behind the
    rules, `n_behind` with those whose labels are known. Shapes: terms (n_rows, n_terms), usual and
    unit (n_terms,), basis (n_terms, n_terms), stated, error and is_stated (n_terms, n_classes),
    base (n_classes,).
    """

    terms: Floats
    usual: Floats
    unit: Floats
    basis: Floats
    stated: Floats
    error: Floats
    is_stated: Floats
    base: Floats
    n_stated: float
    n_behind: float
    is_number: bool

    def solve(self, strength: float) -> tuple[Floats, Floats]:
        """The weights in the basis and the level of each class at the lowest objective."""
        if self.is_number:
            return self._solve_number(strength)
        # Effects on what nothing is stated of are held at 0 by a strong pull.
        pull = np.where(self.is_stated > 0, strength, 10.0)
        penalty = np.stack(
            [
                (self.basis.T * error**2) @ self.basis + np.diag(held_back)
                for error, held_back in zip(self.error.T, pull.T, strict=True)
            ]
        )
        wanted = self.basis.T @ (self.stated * self.is_stated)
        return match_moments(self.terms @ self.basis, wanted, self.base, penalty)

    def scaled(self, weights: Floats, scale: float) -> tuple[Floats, Floats]:
        """The solution with all effects times a factor, and levels that keep the base."""
        weights = weights * scale
        return weights, level_of(self.terms @ self.basis @ weights, self.base)

    def _solve_number(self, strength: float) -> tuple[Floats, Floats]:
        """The least squares solution, of which everything is known: the facts' own covariances."""
        features = self.terms @ self.basis
        gram = features.T @ features / len(features)
        error = (self.basis.T * self.error[:, 0] ** 2) @ self.basis
        scale = float((self.stated[:, 0] ** 2).sum()) or 1.0  # of the label, so that units drop out
        left = gram + strength * np.eye(len(gram)) + error / scale
        weights = np.linalg.solve(left, self.basis.T @ self.stated)
        return np.asarray(weights, np.float64), self.base

    def calibrated(
        self, weights: Floats, level: Floats, strength: float
    ) -> tuple[Floats, Floats, float]:
        """The solution with all effects raised by the one factor that is likeliest; the factor.

        Effects agree with what they were fitted to better than with the truth, by about the
        effective number of parameters over the rows behind the rules: that much is taken off.
        """
        features = self.terms @ self.basis @ weights
        unsure = float((self.error**2 * (self.basis @ weights) ** 2).sum())
        wanted = float((weights * (self.basis.T @ (self.stated * self.is_stated))).sum())
        if self.is_number:
            square = float((features**2).mean())
            scale = float((self.stated**2).sum()) or 1.0
            factor = wanted / (square + unsure / scale) if square > 0 else 1.0
            factor = float(np.clip(factor, 1.0, MOST_RAISED))
            return weights * factor, level, factor
        from scipy.optimize import minimize

        wanted -= self._n_parameters(features + level, strength) / self.n_behind

        def objective(given: Floats) -> tuple[float, Floats]:
            factor, levels = given[0], given[1:]
            logits = factor * features + levels
            top = logits.max(axis=1, keepdims=True)
            total = np.exp(logits - top).sum(axis=1, keepdims=True)
            probabilities = np.exp(logits - top) / total
            value = (np.log(total) + top).mean() - factor * wanted - levels @ self.base
            value += 0.5 * factor**2 * unsure
            by_factor = (probabilities * features).sum(axis=1).mean() - wanted + factor * unsure
            return float(value), np.append(by_factor, probabilities.mean(axis=0) - self.base)

        limits = [(1.0, MOST_RAISED), *[(None, None)] * len(level)]
        start = np.append(1.0, level)
        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=limits)
        return weights * found.x[0], found.x[1:], float(found.x[0])

    def _n_parameters(self, logits: Floats, strength: float) -> float:
        """The effective number of parameters: those that the strength leaves free."""
        probabilities = softmax(logits)
        inputs = self.terms @ self.basis
        twice = 2.0 if probabilities.shape[1] == 2 else 1.0  # two classes move against each other
        total = 0.0
        for each in probabilities.T:
            inner = (inputs * (each * (1 - each))[:, None]).T @ inputs / len(inputs)
            left = twice * inner + strength * np.eye(len(inner))
            total += float(np.trace(np.linalg.solve(left, inner)))
        return total


def _problem(
    stated: Stated,
    terms: Floats,
    codes: Int64s | None,
    numbers: Floats | None,
    rng: np.random.Generator,
    *,
    tried: bool,
) -> Problem:
    """What rules state, and labels where there are any, of these rows.

    Where a strength was tried out, facts are in standard deviations, as they were then.
    """
    n_bodies = len(stated.bodies)
    held, values = terms[:, :n_bodies], terms[:, n_bodies:]
    share = held.mean(axis=0)
    base = _base_here(stated, held)
    target, spread, there = _rates(stated, share, base)
    about = _numbers_here(values)
    if values.shape[1]:
        more = _means(stated, about, base, _missing(stated, share, about.known, target, base))
        target, spread = np.vstack([target, more[0]]), np.vstack([spread, more[1]])
        there = np.vstack([there, more[2]])
    of_facts = _units(stated, share) if tried else np.ones(n_bodies)
    usual, unit = np.append(share, about.mean), np.append(of_facts, about.deviation)
    size = np.append(share / of_facts**2, about.known)
    target[:n_bodies] /= of_facts[:, None]
    spread[:n_bodies] /= of_facts[:, None]
    n_stated = _rows_behind(stated, size, spread, there)
    n_behind = n_stated
    if codes is not None or numbers is not None:
        given = _known_labels(stated, codes, numbers)
        known = ~np.isnan(given[:, 0])
        target, spread, base, there = _with_labels(
            _centred(terms[known], usual, unit),
            size,
            (target, spread, base, there),
            n_stated,
            given[known],
        )
        n_behind += int(known.sum())
    rows = np.arange(len(terms))
    if len(rows) > MOST_ROWS:
        rows = rng.choice(len(rows), MOST_ROWS, replace=False)
    features = _centred(terms[rows], usual, unit)
    return Problem(
        terms=features,
        usual=usual,
        unit=unit,
        basis=np.eye(stated.n_terms) if tried else _basis(stated.bodies, stated.n_terms),
        stated=attainable(features, target),
        error=spread,
        is_stated=there.astype(np.float64),
        base=base,
        n_stated=n_stated,
        n_behind=n_behind,
        is_number=stated.is_number,
    )


def _units(stated: Stated, share: Floats) -> Floats:
    """What facts are measured in where a strength was tried out: see `try_training`."""
    made = np.sqrt(np.maximum(share * (1 - share), LEAST_SHARE))
    missing = [len(body) == 1 and is_about_missing(body[0]) for body in stated.bodies]
    return np.where(missing, 1.0, made)


def _centred(terms: Floats, usual: Floats, unit: Floats) -> Floats:
    """Terms less what is usual, in units; 0 where a row lacks one."""
    return np.where(np.isnan(terms), 0.0, (terms - usual) / unit)


def _rates(stated: Stated, share: Floats, base: Floats) -> tuple[Floats, Floats, Bools]:
    """The mean of (body - its share) x class that rates state, its error, and where there is one.

    Shapes: results (n_bodies, n_classes).
    """
    joint, error = stated.joint(share)
    n_classes = max(1, len(stated.classes))
    target = np.zeros((len(share), n_classes))
    spread, weight = np.zeros_like(target), np.zeros_like(target)
    for body, which, value, one in zip(
        stated.body, stated.which_class, joint, error, strict=True
    ):  # several statistics of the same body and class: the surer one counts more
        sure = 1.0 / max(one, 1e-9) ** 2
        target[body, which] += sure * value
        weight[body, which] += sure
    there = weight > 0
    target[there] /= weight[there]
    spread[there] = 1.0 / np.sqrt(weight[there])
    if stated.is_number:
        target[there] -= (share[:, None] * (base - stated.base))[there]
        return target, spread, there
    target[there] -= (share[:, None] * base)[there]
    return _of_two(target, spread, there)


def _of_two(target: Floats, spread: Floats, there: Bools) -> tuple[Floats, Floats, Bools]:
    """What is stated, with the other of two classes, which lacks what the one has."""
    if target.shape[1] == 2:
        for one, other in ((0, 1), (1, 0)):
            lacking = there[:, one] & ~there[:, other]
            target[lacking, other] = -target[lacking, one]
            spread[lacking, other] = spread[lacking, one]
        there = np.repeat(there.any(axis=1, keepdims=True), 2, axis=1)
    return target, spread, there


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers in rows: the share that is known, their mean and their standard deviation."""

    known: Floats
    mean: Floats
    deviation: Floats


def _numbers_here(values: Floats) -> Numbers:
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, values, 0.0).sum(axis=0) / count
    squares = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0) / count
    deviation = np.sqrt(squares)
    return Numbers(there.mean(axis=0), mean, np.where(deviation > 0, deviation, 1.0))


def _means(
    stated: Stated, here: Numbers, base: Floats, missing: Floats
) -> tuple[Floats, Floats, Bools]:
    """The mean of number x class that means within classes state, its error, where there is one.

    A number is less its mean and in standard deviations. The mean is that of the rows behind the
    rules where all classes are stated, so that rows which all have larger numbers here say nothing
    of classes. `missing` is the share of rows of each class that lack the number.
    Shapes: results and missing (n_expressions, n_classes).
    """
    n_classes = len(stated.classes)
    value = stated.means.by_class(stated.means.value, n_classes)
    error = stated.means.by_class(stated.means.spread, n_classes)
    there = ~np.isnan(value)
    share = np.maximum(base - missing, 0.0)  # of rows of the class that have the number
    behind = (share * np.where(there, value, 0.0)).sum(axis=1) / np.maximum(share.sum(axis=1), 1e-9)
    middle = np.where(there.all(axis=1), behind, here.mean)[:, None]
    unit = here.deviation[:, None]
    target = np.where(there, share * (value - middle) / unit, 0.0)
    spread = np.where(there, share * np.maximum(error, 1e-9) / unit, 0.0)
    return _of_two(target, spread, there)


def _missing(stated: Stated, share: Floats, known: Floats, target: Floats, base: Floats) -> Floats:
    """The share of rows that lack each number and are of each class.

    Where a fact `not known(x)` is stated its rates say so; else classes lack it equally often.

    Shapes: share (n_bodies,), known (n_expressions,), target as of `_rates`, result (n_expressions,
    n_classes).
    """
    made = (1 - known)[:, None] * base
    lacking = {body[0]: place for place, body in enumerate(stated.bodies) if len(body) == 1}
    for place, expression in enumerate(stated.means.expressions):
        names = {one for one in walk(expression) if isinstance(one, Name)}
        for name in names if len(names) == 1 else ():
            body = lacking.get(Not(Known(name)))
            if body is not None:
                made[place] = np.clip(target[body] + share[body] * base, 0.0, base)
    return made


def _base_here(stated: Stated, held: Floats) -> Floats:
    """How frequent the classes are in these rows, by the rates of facts that fill them.

    Where older people are more than behind the rules, the sick are too: the rates within buckets of
    age say by how much. Columns are averaged; without any whose facts fill the rows it is the
    rate that rules state of all rows.
    """
    columns: dict[frozenset[str], list[int]] = {}
    for place, body in enumerate(stated.bodies):
        columns.setdefault(frozenset(names_in(body, {})), []).append(place)
    value = np.full((len(stated.bodies), len(stated.base)), np.nan)
    for body, which, one, name in zip(
        stated.body, stated.which_class, stated.value, stated.statistic, strict=True
    ):
        if name in {"precision", "mean"}:
            value[body, which] = one
    if value.shape[1] == 2:  # what one class has, the other lacks
        value = np.where(np.isnan(value), 1 - value[:, ::-1], value)
    found = []
    for places in columns.values():
        fills = held[:, places].sum(axis=1) == 1
        if fills.mean() > FILLED and not np.isnan(value[places]).any():
            found.append(held[fills][:, places].mean(axis=0) @ value[places])
    if not found:
        return stated.base
    made = np.mean(found, axis=0)
    return np.asarray(made if stated.is_number else made / made.sum())


def _known_labels(stated: Stated, codes: Int64s | None, numbers: Floats | None) -> Floats:
    """The labels that are known, a column for each class; nan where a row has none."""
    if numbers is not None:
        return numbers[:, None].astype(np.float64)
    assert codes is not None
    known = codes >= 0
    return np.where(known[:, None], np.eye(len(stated.classes))[np.maximum(codes, 0)], np.nan)


Pooled = tuple[Floats, Floats, Floats, Bools]  # what is stated, its error, the base, where there is


def _with_labels(
    terms: Floats, size: Floats, said: Pooled, n_behind: float, labels: Floats
) -> Pooled:
    """What rules and known labels state together, each by how many rows are behind it.

    Shapes: terms (n_known, n_terms) of the rows with labels, centred; size (n_terms,), their mean
    square; labels (n_known, n_classes).
    """
    target, spread, base, there = said
    n_known = len(labels)
    if not n_known:
        return said
    part = n_known / (n_known + n_behind)
    base = (1 - part) * base + part * labels.mean(axis=0)
    seen = terms.T @ (labels - base) / n_known
    chance = np.sqrt(size[:, None] * np.maximum(labels.var(axis=0), 1e-9) / n_known)
    made = np.where(there, (1 - part) * target + part * seen, seen)
    error = np.where(there, np.hypot((1 - part) * spread, part * chance), chance)
    return made, error, base, np.ones_like(there)


def _rows_behind(stated: Stated, size: Floats, spread: Floats, there: Bools) -> float:
    """About how many rows the rates and means rest on, by how sure they are.

    Of a number the variance within facts is not stated: that between them stands for it.
    """
    if stated.is_number:
        chance = size[:, None] * max(float(np.var(stated.value)), 1e-12)
    else:
        chance = size[:, None] * stated.base * (1 - stated.base)
    return float(np.median((chance / np.maximum(spread, 1e-9) ** 2)[there]))


def _basis(bodies: Sequence[tuple[Node, ...]], n_terms: int) -> Floats:
    """Directions in which effects are likely: neighbouring buckets of a number move together."""
    made = np.eye(n_terms)
    buckets: dict[Node, list[tuple[float, int]]] = {}
    for place, body in enumerate(bodies):
        found = _bucket(body)
        if found is not None:
            buckets.setdefault(found[0], []).append((found[1], place))
    for ends in buckets.values():
        if len(ends) < 3:
            continue
        places = np.array([place for _, place in sorted(ends)])
        at = np.arange(len(places), dtype=np.float64)
        at = (at - at.mean()) / at.std()
        near = SMOOTH * np.exp(-0.5 * (at[:, None] - at[None]) ** 2) + LINEAR * np.outer(at, at)
        values, vectors = np.linalg.eigh(near + ROUGH * np.eye(len(places)))
        made[np.ix_(places, places)] = vectors * np.sqrt(np.maximum(values, 0.0))
    return made


def _bucket(body: tuple[Node, ...]) -> tuple[Node, float] | None:
    """The expression that a body has in an interval, and where that lies among others."""
    match body:
        case (Compare(subject, "<=" | "<", Number()),):
            return subject, -np.inf
        case (Compare(subject, ">" | ">=" | "=", Number(low)),):
            return subject, low
        case (Between(Number(low), _, subject, _, _),):
            return subject, low
    return None
