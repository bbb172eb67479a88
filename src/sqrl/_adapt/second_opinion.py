"""SecondOpinion: what the rules themselves say of each row, to see a ranking that got worse.

Rules of rates can be met by a model that ranks rows worse than before. But rates within many
conditions also say which rows are likelier than others: of all predictions that have those rates
the one of the largest entropy is an additive logistic model of the conditions, which is fitted
without a label. By it, as if it were the truth, two models' rankings can be compared.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl._adapt.conditions import Conditions
from sqrl._adapt.rule_loss.tensor_rows import TensorRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MOST_STEPS = 60
MOST_FITTED = 20_000  # rows
LESS = 0.002  # of an accuracy or an AUC: a lesser fall does not matter


@dataclass(frozen=True, slots=True, eq=False)
class SecondOpinion:
    """An additive logistic model of conditions. Shapes: weights (conditions, classes)."""

    conditions: Conditions
    weights: Tensor
    bias: Tensor

    @property
    def names(self) -> frozenset[str]:
        """The columns that it goes by."""
        return self.conditions.columns

    def probabilities(self, rows: TensorRows) -> Tensor:
        """The probability of each class on each row."""
        return self.of_truths(self.conditions.truths(rows))

    def of_truths(self, truths: Bools) -> Tensor:
        """The same, from where conditions hold."""
        held = torch.from_numpy(truths.T.astype(np.float64))
        return (held @ self.weights + self.bias).softmax(-1)


def form_opinion(
    conditions: Conditions, truths: Bools, balance: Floats, now: Floats
) -> SecondOpinion | None:
    """The model of the largest entropy that has the rates remembered, at the balance of now.

    A rate known from few rows is held to less: its variance is the weight's penalty. None where
    nothing is known by class. Shapes: truths (conditions, rows).
    """
    truths = truths[:, :MOST_FITTED]
    n_conditions, n_classes = len(conditions), conditions.n_classes
    wanted = np.zeros((n_conditions, n_classes))
    variance = np.full((n_conditions, n_classes), np.inf)
    share = truths.mean(1) if truths.shape[1] else np.zeros(n_conditions)
    ratio = now / balance
    for place, one in enumerate(conditions.remembered):
        for at, (both, _, body, _) in one.by_class.items():
            if body < 1 or not share[place]:
                continue
            others = (1 - now[at]) / max(1 - balance[at], 1e-9)
            inside, outside = both * ratio[at], (body - both) * others
            rate = inside / max(inside + outside, 1e-9)
            wanted[place, at] = rate * share[place]
            smooth = (both + 1) / (body + 2)
            variance[place, at] = share[place] ** 2 * smooth * (1 - smooth) / body
    if not np.isfinite(variance).any():
        return None
    return _fitted(conditions, truths, wanted, variance, now)


def _fitted(
    conditions: Conditions, truths: Bools, wanted: Floats, variance: Floats, now: Floats
) -> SecondOpinion:
    held = torch.from_numpy(truths.T.astype(np.float64))
    target, is_known = torch.from_numpy(wanted), torch.from_numpy(np.isfinite(variance))
    penalty = torch.from_numpy(np.where(np.isfinite(variance), variance, 0.0))
    shares = torch.from_numpy(now)
    weights = torch.zeros_like(target, requires_grad=True)
    bias = shares.clamp(min=1e-6).log().clone().requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weights, bias], max_iter=MOST_STEPS, line_search_fn="strong_wolfe", tolerance_grad=1e-5
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        used = torch.where(is_known, weights, 0.0)
        # The convex dual of the largest entropy under the rates, each with its variance.
        value = (
            (held @ used + bias).logsumexp(1).mean()
            - (used * target).sum()
            - (bias * shares).sum()
            + 0.5 * (penalty * used.square()).sum()
        )
        value.backward()  # type: ignore[no-untyped-call]
        return value

    with torch.enable_grad():
        optimiser.step(loss)  # type: ignore[no-untyped-call]
    return SecondOpinion(conditions, torch.where(is_known, weights, 0.0).detach(), bias.detach())


@dataclass(frozen=True, slots=True)
class Expected:
    """How good predictions are if labels are drawn by an opinion: log loss, accuracy, AUC."""

    loss: float
    accuracy: float
    ranking: float

    @classmethod
    def of(cls, probabilities: Tensor, truth: Tensor) -> "Expected":
        """Of predicted probabilities and those of the opinion. Shapes: both (rows, classes).

        >>> half = torch.full((1, 2), 0.5)
        >>> round(Expected.of(half, half).loss, 4)
        0.6931
        """
        logs = probabilities.clamp(min=1e-12).log()
        likeliest = probabilities.argmax(1, keepdim=True)
        return cls(
            float(-(truth * logs).sum(1).mean()),
            float(truth.gather(1, likeliest).mean()),
            expected_auc(probabilities, truth),
        )

    def is_worse_than(self, other: "Expected") -> bool:
        """Whether the log loss has risen, or accuracy or ranking have fallen so that it matters."""
        return (
            self.loss >= other.loss
            or self.accuracy < other.accuracy - LESS
            or self.ranking < other.ranking - LESS
        )


def expected_auc(scores: Tensor, truth: Tensor) -> float:
    """The AUC that scores would have if labels were drawn by `truth`, averaged over classes.

    Shapes: both (rows, classes). Equal scores count half.

    >>> truth = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> expected_auc(torch.tensor([[0.9, 0.1], [0.2, 0.8]]), truth)
    1.0
    """
    n_classes = truth.shape[1]
    chosen = [1] if n_classes == 2 else list(range(n_classes))
    found = [_auc(scores[:, one].double(), truth[:, one].double()) for one in chosen]
    return float(np.mean(found))


def _auc(score: Tensor, positive: Tensor) -> float:
    values, place = torch.unique(score, return_inverse=True)
    inside = torch.zeros(len(values), dtype=torch.float64).index_add(0, place, positive)
    outside = torch.zeros(len(values), dtype=torch.float64).index_add(0, place, 1 - positive)
    below = outside.cumsum(0) - outside
    total = inside.sum() * outside.sum()
    return float((inside * (below + outside / 2)).sum() / total) if total > 0 else 0.5
