"""SecondOpinion: what the rules themselves say of each row, to see a ranking that got worse.

Rules of rates can be met by a model that ranks rows worse than before. But rates within many
conditions also say which rows are likelier than others: of all predictions that have those rates
the one of the largest entropy is an additive logistic model of the conditions, which is fitted
without a label. By it, as if it were the truth, two models' rankings can be compared.

This opinion ignores what the source knows beyond the conditions. So a result is also compared by
the predictions *nearest to the source's* that have those rates: on real tables they rank rows
better than either.
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
WEIGHT = 0.25  # what a condition may be expected to add to a logit: a standard deviation
MOST_FITTED = 20_000  # rows
LEAST = 1e-9  # probability of a class: a source that is certain may be wrong


@dataclass(frozen=True, slots=True, eq=False)
class SecondOpinion:
    """An additive logistic model of conditions, and the rates that it was fitted to."""

    conditions: Conditions
    rates: "Rates"
    weights: Tensor
    bias: Tensor
    has_moved: bool = False  # whether the class balance has; the model's inputs may be right then

    @property
    def names(self) -> frozenset[str]:
        """The columns that it goes by."""
        return self.conditions.columns

    def probabilities(self, rows: TensorRows) -> Tensor:
        """The probability of each class on each row."""
        return self.of_truths(self.conditions.truths(rows))

    def of_truths(self, truths: Bools) -> Tensor:
        """The same, from where conditions hold."""
        return (_held(truths) @ self.weights + self.bias).softmax(-1)

    def nearest_to(self, source: Tensor, truths: Bools) -> Tensor:
        """The predictions nearest to a source's, by their divergence, that have the same rates.

        Shapes: source and result (rows, classes), probabilities; truths (conditions, rows).
        """
        logits = source.clamp(min=LEAST).log()
        step = -(-len(logits) // MOST_FITTED)  # of more rows every so-many-th is looked at
        weights, bias = _fit(_held(truths[:, ::step]), self.rates, logits[::step])
        parts = zip(torch.split(logits, MOST_FITTED), _cut(truths, MOST_FITTED), strict=True)
        return torch.cat([(own + _held(some) @ weights + bias).softmax(-1) for own, some in parts])


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """The mean of condition x class that is remembered, its variance, and the balance of now.

    The variance has in it what is believed of weights beforehand.

    Shapes: wanted, variance (conditions, classes), infinite where nothing is known; now (classes,).
    """

    wanted: Floats
    variance: Floats
    now: Floats


def form_opinion(
    conditions: Conditions,
    truths: Bools,
    now: Floats,
    *,
    has_moved: bool = False,
) -> SecondOpinion | None:
    """The model of the largest entropy that has the rates remembered, at the balance of now.

    A rate known from few rows is held to less: its variance is the weight's penalty. So is what is
    believed of weights beforehand, for hundreds of conditions that overlap fit the chance in some
    thousand rows: without it the model was certain of rows, and wrong. None where nothing is known
    by class. Shapes: truths (conditions, rows).
    """
    truths = truths[:, :MOST_FITTED]
    n_conditions, n_classes = len(conditions), conditions.n_classes
    wanted = np.zeros((n_conditions, n_classes))
    variance = np.full((n_conditions, n_classes), np.inf)
    share = truths.mean(1) if truths.shape[1] else np.zeros(n_conditions)
    for place, one in enumerate(conditions.remembered):
        for at, (both, in_class, body, n) in one.by_class.items():
            if body < 1 or not share[place]:
                continue
            # By the balance of the very rows that were counted, so that what a condition and the
            # rest say of a class agree.
            before = in_class / n
            others = (1 - now[at]) / max(1 - before, 1e-9)
            inside, outside = both * now[at] / max(before, 1e-9), (body - both) * others
            rate = inside / max(inside + outside, 1e-9)
            wanted[place, at] = rate * share[place]
            smooth = (both + 1) / (body + 2)
            variance[place, at] = share[place] ** 2 * smooth * (1 - smooth) / body
            variance[place, at] += (1 / truths.shape[1] + 1 / n) / WEIGHT**2
    if not np.isfinite(variance).any():
        return None
    rates = Rates(wanted, variance, now)
    level = np.broadcast_to(np.log(np.maximum(now, 1e-6)), (1, n_classes))
    weights, bias = _fit(_held(truths), rates, torch.tensor(level))
    bias = bias + torch.tensor(level[0])
    return SecondOpinion(conditions, rates, weights, bias, has_moved)


def _fit(held: Tensor, rates: Rates, start: Tensor) -> tuple[Tensor, Tensor]:
    """What each condition adds to logits, and each class, so that predictions have the rates.

    Shapes: held (rows, conditions), start (rows or 1, classes).
    """
    target, is_known = torch.from_numpy(rates.wanted), torch.from_numpy(np.isfinite(rates.variance))
    penalty = torch.from_numpy(np.where(np.isfinite(rates.variance), rates.variance, 0.0))
    shares = torch.from_numpy(rates.now)
    middle = held.mean(0)  # taken off, so that weights and bias do not pull at each other
    held, target = held - middle, target - middle[:, None] * shares
    weights = torch.zeros_like(target, requires_grad=True)
    bias = torch.zeros_like(shares, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weights, bias], max_iter=MOST_STEPS, line_search_fn="strong_wolfe", tolerance_grad=1e-5
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        used = torch.where(is_known, weights, 0.0)
        # The convex dual of the least divergence from the start under the rates, each with its
        # variance; from a start that is the same for all rows, of the largest entropy.
        value = (
            (start + held @ used + bias).logsumexp(1).mean()
            - (used * target).sum()
            - (bias * shares).sum()
            + 0.5 * (penalty * used.square()).sum()
        )
        value.backward()  # type: ignore[no-untyped-call]
        return value

    with torch.enable_grad():
        optimiser.step(loss)  # type: ignore[no-untyped-call]
    found = torch.where(is_known, weights, 0.0).detach()
    return found, bias.detach() - middle @ found


def _held(truths: Bools) -> Tensor:
    """Where conditions hold, as numbers: (rows, conditions)."""
    return torch.from_numpy(truths.T.astype(np.float64))


def _cut(truths: Bools, size: int) -> list[Bools]:
    """The truths of so many rows at a time."""
    return [truths[:, at : at + size] for at in range(0, truths.shape[1], size)]
