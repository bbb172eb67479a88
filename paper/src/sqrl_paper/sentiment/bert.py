"""Bert: a transformer that reads texts, in plain torch, and classifiers on top of it.

As in Devlin et al. (2019), without the layer that guesses at the next sentence.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu, normalize, scaled_dot_product_attention

EPSILON = 1e-12  # in LayerNorm's square root
SPREAD = 0.02  # of random weights


@dataclass(frozen=True, slots=True, kw_only=True)
class BertSize:
    """How large a BERT is; MiniLM unless said otherwise."""

    n_pieces: int = 30522
    width: int = 384
    n_layers: int = 6
    n_heads: int = 12
    inner: int = 1536
    n_places: int = 512
    dropout: float = 0.1


class Bert(nn.Module):
    """A vector for each piece of a text, in view of all others.

    Shapes: ids and mask (rows, places), result (rows, places in use, width). Places that no row
    uses, at the end, are left out: most texts are short.
    """

    def __init__(self, size: BertSize) -> None:
        super().__init__()
        self.size = size
        self.words = nn.Embedding(size.n_pieces, size.width)
        self.positions = nn.Embedding(size.n_places, size.width)
        self.token_types = nn.Embedding(2, size.width)
        self.first_norm = nn.LayerNorm(size.width, eps=EPSILON)
        self.layers = nn.ModuleList([Layer(size) for _ in range(size.n_layers)])

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The vectors; those where the mask is false mean nothing."""
        n_places = _places_in_use(mask)
        ids, mask = ids[:, :n_places], mask[:, :n_places]
        values: Tensor = (
            self.words(ids) + self.positions.weight[:n_places] + self.token_types.weight[0]
        )
        values = dropout(self.first_norm(values), self.size.dropout, self.training)
        seen = mask.bool()[:, None, None, :]
        for layer in self.layers:
            values = layer(values, seen)
        return values


class Layer(nn.Module):
    """Attention, then two linear maps, each added to what came in and normalised after that."""

    def __init__(self, size: BertSize) -> None:
        super().__init__()
        self.n_heads, self.dropout = size.n_heads, size.dropout
        self.query, self.key, self.value, self.joined = (
            nn.Linear(size.width, size.width) for _ in range(4)
        )
        self.attention_norm = nn.LayerNorm(size.width, eps=EPSILON)
        self.widened = nn.Linear(size.width, size.inner)
        self.narrowed = nn.Linear(size.inner, size.width)
        self.norm = nn.LayerNorm(size.width, eps=EPSILON)

    def forward(self, values: Tensor, seen: Tensor) -> Tensor:
        """What comes out of the layer."""
        query, key, value = (
            linear(values).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        rate = self.dropout if self.training else 0.0
        attended = scaled_dot_product_attention(query, key, value, seen, dropout_p=rate)
        joined = self.joined(attended.transpose(1, 2).flatten(2))
        values = self.attention_norm(values + dropout(joined, rate))
        narrowed = self.narrowed(gelu(self.widened(values)))
        out: Tensor = self.norm(values + dropout(narrowed, rate))
        return out


class TextClassifier(nn.Module):
    """A logit for each class, from the mean of a text's vectors.

    Shapes: ids and mask (rows, places), result (rows, classes).
    """

    def __init__(self, encoder: Bert, n_classes: int, *, seed: int) -> None:
        super().__init__()
        self.encoder = encoder
        with torch.random.fork_rng(devices=[]):
            self.head = nn.Linear(encoder.size.width, n_classes)
        generator = torch.Generator().manual_seed(seed)
        nn.init.normal_(self.head.weight, std=SPREAD, generator=generator)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The logits of each text."""
        pooled = pool(self.encoder(ids, mask), mask)
        logits: Tensor = self.head(dropout(pooled, self.encoder.size.dropout, self.training))
        return logits


def pool(vectors: Tensor, mask: Tensor) -> Tensor:
    """The mean of each row's vectors where the mask is true.

    Shapes: vectors (rows, places, width), mask (rows, places or more), result (rows, width).

    >>> vectors = torch.tensor([[[1.0, 0.0], [3.0, 4.0], [9.0, 9.0]]])
    >>> pool(vectors, torch.tensor([[True, True, False]])).tolist()
    [[2.0, 2.0]]
    """
    weights = mask[:, : vectors.shape[1], None].to(vectors.dtype)
    return (vectors * weights).sum(1) / weights.sum(1).clamp(min=1)


@torch.no_grad()
def embed(encoder: Bert, ids: Tensor, mask: Tensor) -> Tensor:
    """A vector of length 1 for each text; their products say how alike texts are.

    The encoder is taken as it is: in evaluation mode. Shapes: ids and mask (rows, places), result
    (rows, width).
    """
    return normalize(pool(encoder(ids, mask), mask), dim=1)


def make_bert(size: BertSize, *, seed: int) -> Bert:
    """A BERT with random weights; the random state of torch is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Bert(size)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=SPREAD, generator=generator)
    return model.eval()


def _places_in_use(mask: Tensor) -> int:
    used = mask.bool().any(0).nonzero()
    return int(used.max()) + 1 if used.numel() else 1
