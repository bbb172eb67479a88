"""An additive model that has the rates that rules state: no label of any row is needed.

Among all ways to give rows probabilities such that the classes are as frequent within each fact as
rules state, that of the highest entropy is a logistic model in which each fact adds its own number:

    minimise over theta   mean over rows of log sum_c exp(z_c) - sum theta . stated
                          + 1/2 theta' V theta + strength/2 |w|^2        z = facts @ theta + b

`stated` is the share of rows in fact and class. These are the equations that the labels of the rows
behind the rules would give; a logistic regression on the facts needs nothing else of them. V is the
variance of what is stated (the dual of letting it differ by its own error), and w is theta seen in
a basis in which neighbouring buckets of a number move together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.tree import Between, Compare, Node, Number
from sqrl._rules.needed_columns import names_in
from sqrl._train.stated import Stated

MOST_ROWS = 20_000  # that a model is fitted on
MOST_RAISED = 4.0  # times that effects are made larger again for what the strength has taken
FILLED = 0.999  # of the rows: facts that hold on so many, one on each, fill them
MOST_STEPS = 200
SMOOTH, LINEAR, ROUGH = 0.5, 0.5, 0.05  # of the effects of a number's buckets


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """What each fact adds to the logits of the classes (of a number: to its mean).

    Shapes: effects (n_bodies, n_classes), level (n_classes,).
    """

    effects: Floats
    level: Floats
    strength: float
    is_number: bool

    def logits(self, held: Floats) -> Floats:
        """The logits of rows, or the expected numbers: (n_rows, n_classes)."""
        return held @ self.effects + self.level

    def predict(self, held: Floats) -> Floats:
        """Probabilities of the classes: (n_rows, n_classes); expected numbers: (n_rows, 1)."""
        logits = self.logits(held)
        return logits if self.is_number else softmax(logits)


def softmax(logits: Floats) -> Floats:
    """Probabilities from logits, row by row.

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    made = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def fit_additive(
    stated: Stated,
    held: Floats,
    *,
    codes: Int64s | None = None,
    numbers: Floats | None = None,
    strength: float | None = None,
    seed: int = 0,
) -> Additive:
    """The additive model that has the stated rates on these rows.

    Without a `strength` it is one over the square root of how many rows the rates rest on, told by
    their spreads. Effects that it has made too small together are then raised together, so that
    the stated rates are met as well as they can be: probabilities are calibrated without a label.
    `codes` are the classes of rows whose label is known, -1 elsewhere (`numbers` of a number label,
    nan elsewhere): their counts are added to what rules state.

    Shapes: held (n_rows, n_bodies).
    """
    rng = np.random.default_rng(seed)
    problem = _problem(stated, held, codes, numbers, rng)
    if strength is None:
        strength = 1.0 / np.sqrt(max(problem.n_behind, 1.0))
    weights, level = problem.calibrated(*problem.solve(strength), strength)
    effects = problem.basis @ weights
    return Additive(effects, level - problem.share @ effects, strength, stated.is_number)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """All that is minimised: facts in the basis, what is stated of them, and how surely.

    Shapes: share (n_bodies,), facts (n_rows, n_bodies) less their share, basis (n_bodies,
    n_bodies), stated, error and is_stated (n_bodies, n_classes), base (n_classes,).
    """

    facts: Floats
    share: Floats
    basis: Floats
    stated: Floats
    error: Floats
    is_stated: Floats
    base: Floats
    n_behind: float
    is_number: bool

    def solve(self, strength: float) -> tuple[Floats, Floats]:
        """The weights in the basis and the level of each class at the lowest objective."""
        if self.is_number:
            return self._solve_number(strength)
        from scipy.optimize import minimize

        shape = self.stated.shape
        features = self.facts @ self.basis
        wanted = self.basis.T @ (self.stated * self.is_stated)
        variance = self.error**2

        def objective(flat: Floats) -> tuple[float, Floats]:
            weights, level = flat[: -shape[1]].reshape(shape), flat[-shape[1] :]
            value, by_weights, by_level = _likelihood(features, weights, level, wanted, self.base)
            effects = self.basis @ weights
            by_effects = variance * effects
            # Effects on what nothing is stated of are held at 0 by a strong pull.
            pull = np.where(self.is_stated > 0, strength, 10.0)
            value += 0.5 * float((by_effects * effects).sum() + (pull * weights**2).sum())
            by_weights = by_weights + self.basis.T @ by_effects + pull * weights
            return value, np.append(by_weights.ravel(), by_level)

        found = minimize(
            objective,
            np.append(np.zeros(shape).ravel(), np.log(self.base)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MOST_STEPS, "ftol": 1e-9, "gtol": 1e-5},
        )
        return found.x[: -shape[1]].reshape(shape), found.x[-shape[1] :]

    def _solve_number(self, strength: float) -> tuple[Floats, Floats]:
        """The least squares solution, of which everything is known: the facts' own covariances."""
        features = self.facts @ self.basis
        gram = features.T @ features / len(features)
        error = (self.basis.T * self.error[:, 0] ** 2) @ self.basis
        scale = float((self.stated[:, 0] ** 2).sum()) or 1.0  # of the label, so that units drop out
        left = gram + strength * np.eye(len(gram)) + error / scale
        weights = np.linalg.solve(left, self.basis.T @ self.stated)
        return np.asarray(weights, np.float64), self.base

    def calibrated(self, weights: Floats, level: Floats, strength: float) -> tuple[Floats, Floats]:
        """The solution with all effects raised by the one factor that is likeliest.

        Effects agree with what they were fitted to better than with the truth, by about the
        effective number of parameters over the rows behind the rules: that much is taken off.
        """
        features = self.facts @ self.basis @ weights
        unsure = float((self.error**2 * (self.basis @ weights) ** 2).sum())
        wanted = float((weights * (self.basis.T @ (self.stated * self.is_stated))).sum())
        if self.is_number:
            square = float((features**2).mean())
            scale = float((self.stated**2).sum()) or 1.0
            factor = wanted / (square + unsure / scale) if square > 0 else 1.0
            factor = float(np.clip(factor, 1.0, MOST_RAISED))
            return weights * factor, level
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
        return weights * found.x[0], found.x[1:]

    def _n_parameters(self, logits: Floats, strength: float) -> float:
        """The effective number of parameters: those that the strength leaves free."""
        probabilities = softmax(logits)
        inputs = self.facts @ self.basis
        twice = 2.0 if probabilities.shape[1] == 2 else 1.0  # two classes move against each other
        total = 0.0
        for each in probabilities.T:
            inner = (inputs * (each * (1 - each))[:, None]).T @ inputs / len(inputs)
            left = twice * inner + strength * np.eye(len(inner))
            total += float(np.trace(np.linalg.solve(left, inner)))
        return total


def _likelihood(
    features: Floats, weights: Floats, level: Floats, wanted: Floats, base: Floats
) -> tuple[float, Floats, Floats]:
    """Minus the log-likelihood of a row with these rates, and its gradients."""
    logits = features @ weights + level
    top = logits.max(axis=1, keepdims=True)
    raised = np.exp(logits - top)
    total = raised.sum(axis=1, keepdims=True)
    probabilities = raised / total
    value = float((np.log(total) + top).mean() - (weights * wanted).sum() - level @ base)
    gradient = features.T @ probabilities / len(features) - wanted
    return value, gradient, probabilities.mean(axis=0) - base


def _problem(
    stated: Stated,
    held: Floats,
    codes: Int64s | None,
    numbers: Floats | None,
    rng: np.random.Generator,
) -> Problem:
    """What rules state, and labels where there are any, of these rows."""
    share = held.mean(axis=0)
    joint, error = stated.joint(share)
    base = _base_here(stated, held)
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
    else:
        target[there] -= (share[:, None] * base)[there]
        if n_classes == 2:  # what one class has, the other lacks
            for one, other in ((0, 1), (1, 0)):
                lacking = there[:, one] & ~there[:, other]
                target[lacking, other] = -target[lacking, one]
                spread[lacking, other] = spread[lacking, one]
            there = np.repeat(there.any(axis=1, keepdims=True), 2, axis=1)
    n_behind = _rows_behind(stated, share, spread, there)
    if codes is not None or numbers is not None:
        given = _known_labels(stated, codes, numbers)
        target, spread, base, there = _with_labels(
            held, share, (target, spread, base, there), n_behind, given
        )
        n_behind += int((~np.isnan(given[:, 0])).sum())
    rows = np.arange(len(held))
    if len(rows) > MOST_ROWS:
        rows = rng.choice(len(rows), MOST_ROWS, replace=False)
    facts = held[rows] - share
    return Problem(
        facts=facts,
        share=share,
        basis=_basis(stated.bodies),
        stated=_attainable(facts, target),
        error=spread,
        is_stated=there.astype(np.float64),
        base=base,
        n_behind=n_behind,
        is_number=stated.is_number,
    )


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


def _attainable(facts: Floats, target: Floats) -> Floats:
    """What is stated, without what no probabilities of these rows could have.

    The buckets of a number fill all rows: shares that add up to more or less than the class has,
    since those rows are not the rows behind the rules, say nothing of any effect.
    """
    values, vectors = np.linalg.eigh(facts.T @ facts / len(facts))
    free = vectors[:, values > 1e-9 * max(float(values.max()), 1e-12)]
    return np.asarray(free @ (free.T @ target))


def _known_labels(stated: Stated, codes: Int64s | None, numbers: Floats | None) -> Floats:
    """The labels that are known, a column for each class; nan where a row has none."""
    if numbers is not None:
        return numbers[:, None].astype(np.float64)
    assert codes is not None
    known = codes >= 0
    return np.where(known[:, None], np.eye(len(stated.classes))[np.maximum(codes, 0)], np.nan)


Pooled = tuple[Floats, Floats, Floats, Bools]  # what is stated, its error, the base, where there is


def _with_labels(
    held: Floats, share: Floats, said: Pooled, n_behind: float, labels: Floats
) -> Pooled:
    """What rules and known labels state together, each by how many rows are behind it."""
    target, spread, base, there = said
    known = ~np.isnan(labels[:, 0])
    n_known = int(known.sum())
    if not n_known:
        return said
    part = n_known / (n_known + n_behind)
    base = (1 - part) * base + part * labels[known].mean(axis=0)
    seen = (held[known] - share).T @ (labels[known] - base) / n_known
    chance = np.sqrt(share[:, None] * np.maximum(labels[known].var(axis=0), 1e-9) / n_known)
    made = np.where(there, (1 - part) * target + part * seen, seen)
    error = np.where(there, np.hypot((1 - part) * spread, part * chance), chance)
    return made, error, base, np.ones_like(there)


def _rows_behind(stated: Stated, share: Floats, spread: Floats, there: Bools) -> float:
    """About how many rows the rates rest on, by how sure they are.

    Of a number the variance within facts is not stated: that between them stands for it.
    """
    if stated.is_number:
        chance = share[:, None] * max(float(np.var(stated.value)), 1e-12)
    else:
        chance = share[:, None] * stated.base * (1 - stated.base)
    return float(np.median((chance / np.maximum(spread, 1e-9) ** 2)[there]))


def _basis(bodies: Sequence[tuple[Node, ...]]) -> Floats:
    """Directions in which effects are likely: neighbouring buckets of a number move together."""
    made = np.eye(len(bodies))
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
