"""train_classifier: AdamW on cross-entropy, stopped where the held-out loss no longer falls."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

Inputs = Sequence[Tensor]
Track = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a classifier is trained."""

    epochs: int = 8
    patience: int = 3  # epochs without a lower loss on the held-out rows
    batch: int = 512
    lr: float = 1e-3  # at first; it falls to zero along a cosine
    weight_decay: float = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """The inputs of rows, a tensor for each argument of the model, and their classes."""

    inputs: Inputs
    labels: Tensor

    def take(self, rows: Tensor) -> "Examples":
        """Only these rows, in this order."""
        return Examples([part[rows] for part in self.inputs], self.labels[rows])


def train_classifier(
    model: nn.Module,
    train: Examples,
    valid: Examples,
    *,
    training: Training | None = None,
    seed: int,
    track: Track | None = None,
) -> list[float]:
    """The loss on the held-out rows after each epoch; `model` ends as it was after the best.

    `track` is told the number of epochs done. The random state of torch is left as it was.
    """
    how = training or Training()
    optimizer = torch.optim.AdamW(_groups(model), lr=how.lr, weight_decay=how.weight_decay)
    n_steps = how.epochs * math.ceil(len(train.labels) / how.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    return keep_best(
        model,
        lambda: _train_epoch(model, train, optimizer, schedule, how.batch),
        lambda: _loss(model, valid),
        epochs=how.epochs,
        patience=how.patience,
        seed=seed,
        track=track,
    )


def keep_best(
    model: nn.Module,
    train_epoch: Callable[[], None],
    error: Callable[[], float],
    *,
    epochs: int,
    patience: int,
    seed: int,
    track: Track | None = None,
) -> list[float]:
    """The error on held-out rows after each epoch; `model` ends as it was after the best.

    Ends after `patience` epochs without a lower error. Torch draws by the seed meanwhile, dropout
    too, and its random state is left as it was.
    """
    errors: list[float] = []
    best = copy.deepcopy(model.state_dict())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for epoch in range(epochs):
            train_epoch()
            errors.append(error())
            if errors[-1] == min(errors):
                best = copy.deepcopy(model.state_dict())
            if track is not None:
                track("training", epoch + 1, epochs)
            if epoch - errors.index(min(errors)) >= patience:
                break
    model.load_state_dict(best)
    model.eval()
    return errors


def predict(model: nn.Module, inputs: Inputs, *, batch: int = 4096) -> Tensor:
    """The model's outputs on all rows, in evaluation mode, without gradients."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        pieces = [torch.split(part, batch) for part in inputs]
        outputs = torch.cat([model(*piece) for piece in zip(*pieces, strict=True)])
    model.train(was_training)
    return outputs


def _train_epoch(
    model: nn.Module,
    train: Examples,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    size: int,
) -> None:
    model.train()
    for rows in torch.split(torch.randperm(len(train.labels)), size):
        batch = train.take(rows)
        optimizer.zero_grad()
        loss = cross_entropy(model(*batch.inputs), batch.labels)
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()


def _loss(model: nn.Module, valid: Examples) -> float:
    return float(cross_entropy(predict(model, valid.inputs), valid.labels))


def _groups(model: nn.Module) -> list[dict[str, object]]:
    """Biases and normalisation layers are not pulled towards zero."""
    free = [p for p in model.parameters() if p.ndim < 2]
    pulled = [p for p in model.parameters() if p.ndim >= 2]
    return [{"params": pulled}, {"params": free, "weight_decay": 0.0}]
