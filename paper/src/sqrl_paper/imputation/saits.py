"""SAITS: imputes a multivariate time series by self-attention (Du, Côté and Liu, 2023).

Written from the paper's Section 3: two blocks of attention in which no time step attends to itself,
and for each value a learned weight between the estimates of the two.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class SaitsSize:
    """How large a network is; the authors' smaller one is twice as wide."""

    n_layers: int = 2  # in each of the two blocks
    width: int = 128
    n_heads: int = 4
    inner: int = 128  # width within the feed-forward parts
    dropout: float = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """What the first block makes of a series, what the second makes of that, and their mix."""

    first: Tensor
    second: Tensor
    mixed: Tensor


class Saits(nn.Module):
    """A series with estimates where no value is given, in the units of the values.

    Shapes: values and given (n, n_steps, n_features), given being 1 where there is a value and 0
    elsewhere; the result has the same. Whatever `values` holds where none is given has no effect.
    """

    def __init__(self, n_steps: int, n_features: int, *, size: SaitsSize | None = None) -> None:
        super().__init__()
        chosen = size or SaitsSize()
        self.first = Block(n_steps, n_features, chosen)
        self.second = Block(n_steps, n_features, chosen)
        self.first_estimate = nn.Linear(chosen.width, n_features)
        self.second_estimate = nn.Sequential(
            nn.Linear(chosen.width, n_features), nn.ReLU(), nn.Linear(n_features, n_features)
        )
        self.share = nn.Linear(n_steps + n_features, n_features)

    def forward(self, values: Tensor, given: Tensor) -> Tensor:
        """The values where they are given, the mixed estimates elsewhere."""
        return torch.where(given > 0, values, self.estimates(values, given).mixed)

    def estimates(self, values: Tensor, given: Tensor) -> Estimates:
        """Estimates for every value, those given included (Sec. 3.2 of the SAITS paper)."""
        known = torch.where(given > 0, values, 0.0)
        state, _ = self.first(known, given)
        first = self.first_estimate(state)
        state, attention = self.second(torch.where(given > 0, values, first), given)
        second = self.second_estimate(state)
        share = self.share(torch.cat([attention, given], dim=-1)).sigmoid()
        return Estimates(first, second, (1 - share) * first + share * second)


class Block(nn.Module):
    """Values and which are given, embedded with their time, through layers of attention."""

    def __init__(self, n_steps: int, n_features: int, size: SaitsSize) -> None:
        super().__init__()
        self.embed = nn.Linear(2 * n_features, size.width)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.n_layers))
        self.dropout = nn.Dropout(size.dropout)
        self.positions: Tensor
        self.register_buffer("positions", positions(n_steps, size.width), persistent=False)

    def forward(self, values: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """The state of each step, and the last attention's weights, averaged over its heads."""
        state = self.embed(torch.cat([values, given], dim=-1)) + self.positions
        state = self.dropout(state)
        weights = state
        for layer in self.layers:
            state, weights = layer(state)
        return state, weights.mean(dim=1)


class Layer(nn.Module):
    """Attention and a feed-forward part, each added to what it was given and normalised.

    The sum gives an estimate the other features of the same hour, such as the two pressures that a
    mean pressure lies between. Without it the error on hidden values is about a tenth larger.
    """

    def __init__(self, size: SaitsSize) -> None:
        super().__init__()
        self.attention = DiagonalAttention(size.width, size.n_heads)
        self.after_attention = nn.LayerNorm(size.width)
        self.ahead = nn.Sequential(
            nn.Linear(size.width, size.inner), nn.ReLU(), nn.Linear(size.inner, size.width)
        )
        self.after_ahead = nn.LayerNorm(size.width)
        self.dropout = nn.Dropout(size.dropout)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """The state of each step after the layer, and the weights of its attention."""
        attended, weights = self.attention(state)
        state = self.after_attention(state + self.dropout(attended))
        return self.after_ahead(state + self.dropout(self.ahead(state))), weights


class DiagonalAttention(nn.Module):
    """Attention of several heads, in which what a step gets never comes from itself.

    Shapes: state (n, n_steps, width); the weights (n, n_heads, n_steps, n_steps), zero on the
    diagonal. There have to be two steps at least.
    """

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.join = nn.Linear(width, width, bias=False)

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """What each step gets from the others, and the weight of each of them."""
        n, n_steps, width = state.shape
        parts = self.project(state).view(n, n_steps, 3, self.n_heads, width // self.n_heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind()
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.n_heads)
        is_itself = torch.eye(n_steps, dtype=torch.bool, device=state.device)
        weights = scores.masked_fill(is_itself, -math.inf).softmax(dim=-1)
        joined = (weights @ value).transpose(1, 2).reshape(n, n_steps, width)
        return self.join(joined), weights


def positions(n_steps: int, width: int) -> Tensor:
    """Sines and cosines of each step that tell it from the others, (n_steps, width).

    >>> positions(2, 2)  # sin 0, cos 0; sin 1, cos 1
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """
    slowness = 10_000 ** (torch.arange(0, width, 2) / width)
    angles = torch.arange(n_steps)[:, None] / slowness
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def make_saits(
    n_steps: int, n_features: int, *, size: SaitsSize | None = None, seed: int = 0
) -> Saits:
    """A network with random weights; the random state of torch is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Saits(n_steps, n_features, size=size)
