"""train_saits: SAITS taught to reconstruct what it is given and to impute what is withheld."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sqrl_paper.imputation.saits import Estimates, Saits
from sqrl_paper.shared.training import Track, keep_best


@dataclass(frozen=True, slots=True, kw_only=True)
class SaitsTraining:
    """How the network is trained.

    `withheld` is the share of given values that it has to impute in each step. The authors take a
    fifth; with as many as are hidden in use it made smaller errors on valid patients.

    It is long enough for two cores and not for the smallest error. On valid patients the MSE was
    0.471 after 20 epochs in mini-batches of 64, 0.424 after 40, and 0.406 after 40 of 32.
    """

    epochs: int = 40
    patience: int = 5  # epochs without a lower error on the held-out patients
    batch: int = 32
    lr: float = 2e-3  # at first; it falls to zero along a cosine
    withheld: float = 0.6
    imputation_weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class SaitsExamples:
    """Series to learn from: the values, which of them are given, and which are asked for.

    Shapes: all (n, n_steps, n_features); given and hidden are 1 where they apply, never both.
    """

    values: Tensor
    given: Tensor
    hidden: Tensor


def joint_loss(
    found: Estimates, values: Tensor, given: Tensor, withheld: Tensor, *, weight: float = 1.0
) -> Tensor:
    """The error on what is given, over the three estimates, and that on what was withheld.

    These are the Observed Reconstruction Task and the Masked Imputation Task of the SAITS paper.
    """
    parts = [mean_error(part, values, given) for part in (found.first, found.second, found.mixed)]
    return torch.stack(parts).mean() + weight * mean_error(found.mixed, values, withheld)


def mean_error(estimate: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The mean absolute error where the mask is 1; zero where it is nowhere.

    >>> mean_error(torch.tensor([1.0, 9.0]), torch.tensor([3.0, 0.0]), torch.tensor([1.0, 0.0]))
    tensor(2.)
    """
    distance = (estimate - torch.where(mask > 0, values, 0.0)).abs()
    return (distance * mask).sum() / mask.sum().clamp(min=1)


def withhold(given: Tensor, share: float, *, generator: torch.Generator) -> Tensor:
    """A random share of what is given, each value by itself: 1 where it is withheld.

    >>> withhold(torch.tensor([1.0, 0.0]), 1.0, generator=torch.Generator())
    tensor([1., 0.])
    """
    chances = torch.rand(given.shape, generator=generator, device=given.device)
    return given * (chances < share)


def train_saits(
    network: Saits,
    train: SaitsExamples,
    valid: SaitsExamples,
    *,
    training: SaitsTraining | None = None,
    seed: int,
    track: Track | None = None,
) -> list[float]:
    """The error on hidden values of `valid` after each epoch; the network is as after the best.

    `track` is told the number of epochs done. The random state of torch is left as it was.
    """
    how = training or SaitsTraining()
    optimizer = torch.optim.Adam(network.parameters(), lr=how.lr)
    n_steps = how.epochs * math.ceil(len(train.values) / how.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    generator = torch.Generator().manual_seed(seed)

    def train_epoch() -> None:
        network.train()
        order = torch.randperm(len(train.values), generator=generator)
        for rows in torch.split(order, how.batch):
            _step(network, train, rows, optimizer, how, generator)
            schedule.step()

    return keep_best(
        network,
        train_epoch,
        lambda: valid_error(network, valid),
        epochs=how.epochs,
        patience=how.patience,
        seed=seed,
        track=track,
    )


def valid_error(network: Saits, valid: SaitsExamples, *, batch: int = 256) -> float:
    """The mean absolute error on the hidden values, in evaluation mode."""
    network.eval()
    parts = [torch.split(part, batch) for part in (valid.values, valid.given)]
    with torch.no_grad():
        found = torch.cat([network(*piece) for piece in zip(*parts, strict=True)])
    return float(mean_error(found, valid.values, valid.hidden))


def _step(
    network: Saits,
    train: SaitsExamples,
    rows: Tensor,
    optimizer: torch.optim.Optimizer,
    how: SaitsTraining,
    generator: torch.Generator,
) -> None:
    values, observed = train.values[rows], train.given[rows]
    withheld = withhold(observed, how.withheld, generator=generator)
    given = observed - withheld
    found = network.estimates(values, given)
    optimizer.zero_grad()
    loss = joint_loss(found, values, given, withheld, weight=how.imputation_weight)
    torch.autograd.backward(loss)
    optimizer.step()
