"""Probabilities of the highest entropy that have wanted moments: a logistic model, without labels.

    minimise over w, b   mean over rows of log sum_c exp(z_c) - sum w . wanted - b . base
                         + 1/2 sum_c w_c' penalty_c w_c                     z = features @ w + b

At the minimum, without penalty, the mean of feature x probability of class is what is wanted and
the mean probability of a class is its base: what labels would give, were there any.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s

MOST_STEPS = 200
LEAST = 1e-12
SCALES = (0.25, 8.0)  # between which the factor of all effects is sought


def on_one_thread() -> AbstractContextManager[Any]:
    """A context in which matrices are multiplied on one thread.

    The products here are small: threads would wait for one another, and where other processes keep
    the cores busy thirty times as long as the work takes.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def softmax(logits: Floats) -> Floats:
    """Probabilities from logits, row by row.

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    return np.ascontiguousarray(_probabilities(np.ascontiguousarray(logits.T))[0].T)


def _probabilities(logits: Floats) -> tuple[Floats, Floats]:
    """The softmax over classes, and its logarithmic normaliser.

    Shapes: logits and the first result (n_classes, n_rows), the second (n_rows,). A class is a
    line: numpy is several times as quick at few long lines as at many short ones.
    """
    top = logits.max(axis=0)
    raised = np.exp(logits - top)
    total = raised.sum(axis=0)
    raised /= total
    return raised, np.log(total) + top


def match_moments(
    features: Floats, wanted: Floats, base: Floats, penalty: Floats
) -> tuple[Floats, Floats]:
    """The weights (n_features, n_classes) and the levels (n_classes,) at the minimum.

    Shapes: features (n_rows, n_features), with mean 0; wanted (n_features, n_classes); base
    (n_classes,); penalty (n_classes, n_features, n_features).
    Cost: some 10 to 200 steps, each two products of features and classes.

    >>> x = np.array([[-1.0], [1.0]])
    >>> weights, level = match_moments(
    ...     x, np.array([[-0.3], [0.3]]).T, np.full(2, 0.5), np.zeros((2, 1, 1)))
    >>> softmax(x @ weights + level).round(3).tolist()  # of each class, times x: 0.3 on average
    [[0.8, 0.2], [0.2, 0.8]]
    """
    from scipy.optimize import minimize

    n_classes, shape = len(base), wanted.shape
    # In a basis in which the objective is about as steep in all directions few steps are enough.
    usual = float((base * (1 - base)).mean())
    steep = usual * (features.T @ features) / len(features) + penalty.mean(axis=0)
    values, vectors = np.linalg.eigh(steep)
    basis = vectors / np.sqrt(np.maximum(values, max(LEAST, LEAST * float(values.max()))))
    inputs, aim = np.ascontiguousarray((features @ basis).T), basis.T @ wanted
    pull = basis.T @ penalty @ basis

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights, level = flat[:-n_classes].reshape(shape), flat[-n_classes:]
        raised, total = _probabilities(weights.T @ inputs + level[:, None])
        pulled = (pull @ weights.T[:, :, None])[:, :, 0].T
        value = total.mean() - (weights * aim).sum() - level @ base
        value += 0.5 * (weights * pulled).sum()
        slope = inputs @ raised.T / len(total) - aim + pulled
        return float(value), np.append(slope.ravel(), raised.mean(axis=1) - base)

    found = minimize(
        objective,
        np.append(np.zeros(aim.size), np.log(np.maximum(base, LEAST))),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "ftol": 1e-9, "gtol": 1e-5},
    )
    weights = found.x[:-n_classes].reshape(shape)
    return np.asarray(basis @ weights), np.asarray(found.x[-n_classes:])


def attainable(features: Floats, wanted: Floats) -> Floats:
    """What is wanted, without what no probabilities of these rows could have.

    The values of a category fill all rows: shares that add up to more or less than the class has,
    since those rows are not the rows behind the rules, say nothing of any weight.

    >>> x = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> attainable(x, np.array([[0.3], [-0.1]])).round(3).tolist()
    [[0.2], [-0.2]]
    """
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    free = vectors[:, values > 1e-9 * max(float(values.max()), LEAST)]
    return np.asarray(free @ (free.T @ wanted))


def level_of(logits: Floats, base: Floats) -> Floats:
    """The levels with which the mean probability of each class is its base.

    Cost: some 5 steps of Newton's method, each a softmax and a product of classes by classes. Where
    such a step is too long, a step of iterative scaling, which never is, takes its place.

    >>> level = level_of(np.zeros((3, 2)), np.array([0.25, 0.75]))
    >>> softmax(level[None]).round(3).tolist()
    [[0.25, 0.75]]
    """
    lines = np.ascontiguousarray(logits.T)
    base = np.maximum(base, LEAST)
    base = base / base.sum()

    def look(level: Floats) -> tuple[float, Floats]:
        raised, total = _probabilities(lines + level[:, None])
        return float(total.mean() - level @ base), raised

    made = np.log(base)
    cost, raised = look(made)
    for _ in range(100):
        rates = raised.mean(axis=1)
        if np.abs(rates - base).max() < 1e-7:
            break
        step = _newton_step(raised, rates, base)
        now, then = look(made + step)
        if not now < cost:
            step = np.log(base / np.maximum(rates, LEAST))
            now, then = look(made + step)
        made, cost, raised = made + step, now, then
    return np.asarray(made - made.mean())


def _newton_step(raised: Floats, rates: Floats, base: Floats) -> Floats:
    """The step to the minimum of the parabola that the objective looks like here.

    The level of the first class stays: adding the same to all of them changes nothing.
    """
    steep = np.diag(rates) - raised @ raised.T / raised.shape[1]
    steep = steep[1:, 1:] + LEAST * np.eye(len(base) - 1)
    return np.append(0.0, np.linalg.solve(steep, (base - rates)[1:]))


def best_scale(parts: Sequence[tuple[Floats, Floats, Int64s]]) -> tuple[float, float]:
    """The factor of logits with which known classes are likeliest, and minus that likelihood.

    Each part has logits, the base that its levels follow from, and the classes of its rows.

    >>> x, sick = np.array([[0.0, -2.0]] * 4 + [[0.0, 2.0]] * 4), np.array([0, 0, 0, 1, 1, 1, 1, 0])
    >>> round(best_scale([(x, np.array([0.5, 0.5]), sick)])[0], 2)  # log 3 / 2
    0.55
    """
    from scipy.optimize import minimize_scalar

    def cost(log_scale: float) -> float:
        costs = []
        for logits, base, codes in parts:
            scaled = np.exp(log_scale) * logits
            found = softmax(scaled + level_of(scaled, base))
            costs.append(-np.log(np.maximum(found[np.arange(len(codes)), codes], 1e-9)))
        return float(np.concatenate(costs).mean())

    limits = tuple(np.log(SCALES))
    found = minimize_scalar(cost, bounds=limits, method="bounded", options={"xatol": 1e-2})
    return float(np.exp(found.x)), float(found.fun)
