"""Small models and objectives to adapt in tests."""

from dataclasses import dataclass

import torch
from torch import nn

from sqrl._adapt.objective import Objective


def with_batch_norm():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def with_layer_norm():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Dropout(0.5), nn.Linear(4, 2))


def with_neither():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def some_batches(n=6, rows=16, *, seed=0, shift=1.0):
    chance = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 3, generator=chance) + shift for _ in range(n)]


def bits(model):
    """Everything about a model that adaptation must leave alone."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return (
        {name: value.detach().numpy().tobytes() for name, value in tensors.items()},
        [layer.training for layer in model.modules()],
        [(value.requires_grad, value.grad is None) for value in model.parameters()],
    )


@dataclass
class Measured:
    share: float
    mean_excess: float


class Size(Objective):
    """Outputs should be small; nothing to measure rules by."""

    def forward(self, _batch, out, _context=None):
        return out.square().mean()


class Within(Objective):
    """Outputs should lie in [-bound, bound]; the excess is by how much they do not."""

    def __init__(self, bound=0.2):
        super().__init__()
        self.bound = bound

    def forward(self, _batch, out, _context=None):
        return (out.abs() - self.bound).clamp(min=0).mean()

    def measure(self, _batch, out):
        outside = (out.abs() - self.bound).clamp(min=0)
        return Measured(float((outside > 0).float().mean()), float(outside.mean()))


def excess(model, batches, bound=0.2):
    """What Within measures, over all batches, for a model in evaluation mode."""
    was = model.training
    model.eval()
    with torch.no_grad():
        outside = [(model(batch).abs() - bound).clamp(min=0).mean() for batch in batches]
    model.train(was)
    return float(torch.stack(outside).mean())
