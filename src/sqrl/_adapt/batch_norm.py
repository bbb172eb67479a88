"""Where BatchNorm layers get their mean and variance from: training, each batch, or all of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    """The BatchNorm layers that keep running statistics; the others always use the batch's."""
    return [
        layer
        for layer in model.modules()
        if isinstance(layer, _BatchNorm) and layer.running_mean is not None
    ]


@contextmanager
def following(model: nn.Module, is_on: bool = True) -> Iterator[None]:
    """Meanwhile BatchNorm layers use each batch's statistics, and their running ones follow."""
    layers = batch_norms(model) if is_on else []
    modes = [layer.training for layer in layers]
    try:
        for layer in layers:
            layer.train()
        yield
    finally:
        for layer, mode in zip(layers, modes, strict=True):
            layer.train(mode)


class Pooled:
    """The mean and variance of what enters each BatchNorm layer, over all rows of all batches.

    Exact whatever the sizes of the batches: counts, means and sums of squares are merged. Within
    a batch, layers see their predecessors normalised by that batch's statistics.

    >>> layer = nn.BatchNorm1d(1)
    >>> pooled = Pooled(layer)
    >>> for batch in torch.tensor([[[0.0], [2.0]], [[4.0], [6.0]]]):
    ...     pooled.add(layer, batch)
    >>> pooled.apply()
    >>> layer.running_mean.item(), round(layer.running_var.item(), 4)  # 20 / 3
    (3.0, 6.6667)
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._sums: dict[_BatchNorm, tuple[int, Tensor, Tensor]] = {}

    def add(self, run: Callable[[Any], Any], batch: Any) -> None:
        """Take in a batch, which `run` sends through the model."""
        layers = batch_norms(self._model)
        hooks = [layer.register_forward_pre_hook(self._take_in) for layer in layers]
        tracking = [layer.track_running_stats for layer in layers]
        try:
            with torch.no_grad(), following(self._model):
                for layer in layers:
                    layer.track_running_stats = False  # leaves the running ones alone meanwhile
                run(batch)
        finally:
            for layer, hook, flag in zip(layers, hooks, tracking, strict=True):
                hook.remove()
                layer.track_running_stats = flag

    def _take_in(self, layer: nn.Module, arguments: tuple[Any, ...]) -> None:
        assert isinstance(layer, _BatchNorm)
        values = arguments[0].detach()
        values = values if values.dtype == torch.float64 else values.float()
        double = torch.float32 if values.device.type == "mps" else torch.float64
        n, each = values[:, 0].numel(), (-1, *[1] * (values.ndim - 2))
        # Sums over a row in its own precision, over rows in double: all of it takes ten times as
        # long for large images.
        mean = _row_sums(values).to(double).sum(0) / n
        off = values - mean.to(values.dtype).reshape(each)
        drift = _row_sums(off).to(double).sum(0) / n
        squares = _row_sums(off.square_()).to(double).sum(0) - n * drift.square()
        mean = mean + drift
        if layer in self._sums:
            n_before, mean_before, squares_before = self._sums[layer]
            step = mean - mean_before
            mean = mean_before + step * (n / (n + n_before))
            squares = squares + squares_before + step.square() * (n * n_before / (n + n_before))
            n += n_before
        self._sums[layer] = (n, mean, squares)

    @torch.no_grad()
    def apply(self) -> None:
        """Make the pooled mean and (unbiased) variance the running statistics of each layer."""
        for layer, (n, mean, squares) in self._sums.items():
            if n > 1 and layer.running_mean is not None and layer.running_var is not None:
                layer.running_mean.copy_(mean)
                layer.running_var.copy_(squares / (n - 1))


def _row_sums(values: Tensor) -> Tensor:
    """The sum over the places of each row and channel. Shapes: (n, c, ...), result (n, c)."""
    return values.sum(tuple(range(2, values.ndim))) if values.ndim > 2 else values
