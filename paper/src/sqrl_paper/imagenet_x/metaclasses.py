"""Metaclasses: a classifier of many classes, asked for the few groups that they form."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from sqrl.errors import DataError

NONE = -1


class Metaclasses(nn.Module):
    """A model's logits for groups of its classes, such that probabilities add up within a group.

    `groups` says for each class of `model` to which group it belongs, numbered from 0. A class that
    belongs to none (-1) is left out: what is given are the probabilities of groups where it is
    none of those.

    Rows go through the model in pieces of `piece`, and with gradients each piece is computed again
    on the way back: mini-batches of 256 images would else take ten times the memory. Where a
    BatchNorm layer uses the mini-batch's own statistics, rows are not cut up.

    Shapes: the model's logits (rows, classes), result (rows, groups).

    >>> model = Metaclasses(nn.Identity(), [0, 0, 1])
    >>> model(torch.tensor([[0.1, 0.2, 0.7]]).log()).exp()
    tensor([[0.3000, 0.7000]])
    """

    order: Tensor

    def __init__(self, model: nn.Module, groups: Sequence[int], *, piece: int = 32) -> None:
        super().__init__()
        self.model, self.piece = model, piece
        self.sizes = _sizes(groups)
        order = sorted(
            (i for i, group in enumerate(groups) if group != NONE), key=groups.__getitem__
        )
        self.n_classes = len(groups)
        self.register_buffer("order", torch.tensor(order), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of the groups."""
        logits = self._logits(images)
        if logits.shape[-1] != self.n_classes:
            raise DataError(
                f"The model has {logits.shape[-1]:,} classes, and {self.n_classes:,} have a group.",
                fix="say for each of the model's classes to which group it belongs",
            )
        parts = torch.split(logits[:, self.order], self.sizes, dim=1)
        return torch.stack([part.logsumexp(1) for part in parts], dim=1)

    def _logits(self, images: Tensor) -> Tensor:
        if self._uses_batch_statistics() or len(images) <= self.piece:
            whole: Tensor = self.model(images)
            return whole
        pieces = torch.split(images, self.piece)
        if not torch.is_grad_enabled():
            return torch.cat([self.model(piece) for piece in pieces])
        return torch.cat([checkpoint(self.model, piece, use_reentrant=False) for piece in pieces])

    def _uses_batch_statistics(self) -> bool:
        layers = [layer for layer in self.model.modules() if isinstance(layer, _BatchNorm)]
        return any(layer.training or layer.running_mean is None for layer in layers)


def _sizes(groups: Sequence[int]) -> list[int]:
    """How many classes each group has."""
    n_groups = max(groups, default=NONE) + 1
    sizes = [0] * n_groups
    for group in groups:
        if group < NONE:
            raise DataError(
                f"A class has the group {group}.", fix="number groups from 0; -1 is none"
            )
        if group != NONE:
            sizes[group] += 1
    if not sizes or 0 in sizes:
        empty = sizes.index(0) if sizes else 0
        raise DataError(f"No class has the group {empty}.", fix="number groups without a gap")
    return sizes
