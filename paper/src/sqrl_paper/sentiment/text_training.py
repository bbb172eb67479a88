"""train_texts: fine-tuning of a classifier of texts, with texts of about the same length together.

A mini-batch costs what its longest text costs. Of sentences drawn at random that is nearly twice
the cost of sentences of alike lengths.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sqrl_paper.shared.training import Examples, Track, keep_best, predict

GREATEST_NORM = 1.0  # of a gradient, as BERT is trained
N_ALIKE = 8  # mini-batches whose texts are sorted by length among themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTraining:
    """How a classifier of texts is fine-tuned."""

    epochs: int = 4
    patience: int = 2  # epochs without a lower loss on the held-out texts
    batch: int = 32
    lr: float = 1e-4  # at most; it rises over the first steps and falls to zero after that
    warm_up: float = 0.1  # the share of steps in which it rises
    weight_decay: float = 0.01


def train_texts(
    model: nn.Module,
    train: Examples,
    valid: Examples,
    *,
    training: TextTraining | None = None,
    seed: int,
    track: Track | None = None,
) -> list[float]:
    """The loss on the held-out texts after each epoch; `model` ends as it was after the best.

    The second of the inputs is the mask. Embeddings are left as they are: of thirty thousand pieces
    of words, a few thousand sentences have few. The random state of torch is left as it was.
    """
    how = training or TextTraining()
    with _frozen_embeddings(model):
        learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(_groups(learned), lr=how.lr, weight_decay=how.weight_decay)
        n_steps = how.epochs * math.ceil(len(train.labels) / how.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: rate(step, n_steps, how.warm_up)
        )

        def train_epoch() -> None:
            model.train()
            lengths = train.inputs[1].sum(1)
            for rows in draw_alike(lengths, how.batch):
                batch = train.take(rows)
                optimizer.zero_grad()
                torch.autograd.backward(cross_entropy(model(*batch.inputs), batch.labels))
                nn.utils.clip_grad_norm_(learned, GREATEST_NORM)
                optimizer.step()
                schedule.step()

        return keep_best(
            model,
            train_epoch,
            lambda: _loss(model, valid),
            epochs=how.epochs,
            patience=how.patience,
            seed=seed,
            track=track,
        )


def rate(step: int, n_steps: int, warm_up: float) -> float:
    """The share of the learning rate at a step: up in a line, and down in a line to the end.

    >>> [rate(step, 10, 0.2) for step in (0, 1, 2, 6, 10)]
    [0.5, 1.0, 1.0, 0.5, 0.0]
    """
    n_rising = round(n_steps * warm_up)
    if step < n_rising:
        return (step + 1) / n_rising
    return max(0.0, (n_steps - step) / max(1, n_steps - n_rising))


def draw_alike(lengths: Tensor, size: int) -> Iterator[Tensor]:
    """The rows of each mini-batch: all rows, at random, and of about the same length together.

    Drawn by torch's random state. Some rows are drawn, sorted by length and cut into mini-batches;
    these come in any order.

    >>> sorted(len(rows) for rows in draw_alike(torch.arange(5), 2))
    [1, 2, 2]
    """
    drawn = torch.split(torch.randperm(len(lengths)), size * N_ALIKE)
    alike = [rows for part in drawn for rows in torch.split(part[lengths[part].argsort()], size)]
    for place in torch.randperm(len(alike)):
        yield alike[int(place)]


@contextmanager
def _frozen_embeddings(model: nn.Module) -> Iterator[None]:
    """Meanwhile embeddings have no gradient."""
    frozen = [
        parameter
        for layer in model.modules()
        if isinstance(layer, nn.Embedding)
        for parameter in layer.parameters()
        if parameter.requires_grad
    ]
    try:
        for parameter in frozen:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(True)


def _groups(learned: Sequence[nn.Parameter]) -> list[dict[str, object]]:
    """Biases and normalisation layers are not pulled towards zero."""
    free = [parameter for parameter in learned if parameter.ndim < 2]
    pulled = [parameter for parameter in learned if parameter.ndim >= 2]
    return [{"params": pulled}, {"params": free, "weight_decay": 0.0}]


def _loss(model: nn.Module, valid: Examples) -> float:
    return float(cross_entropy(predict(model, valid.inputs, batch=64), valid.labels))
