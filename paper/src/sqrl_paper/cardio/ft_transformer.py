"""The FT-Transformer for tables, as its authors published it, in a size for two CPU cores."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from sqrl.errors import MissingExtraError


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a network is; the authors' default of 2 blocks is twice as wide.

    On the cardio data the wider one is no better and takes twice as long.
    """

    n_blocks: int = 2
    width: int = 64
    n_heads: int = 8


def make_ft_transformer(
    n_numbers: int,
    cardinalities: Sequence[int],
    n_classes: int,
    *,
    size: Size | None = None,
    seed: int = 0,
) -> nn.Module:
    """An FT-Transformer with random weights, which gives a logit for each class.

    It takes the numbers and the categories of a mini-batch as two tensors. The random state of
    torch is left as it was.
    """
    chosen = size or Size()
    options: dict[str, Any] = _published().get_default_kwargs(n_blocks=chosen.n_blocks)
    options |= {"d_block": chosen.width, "attention_n_heads": chosen.n_heads}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = _published()(
            n_cont_features=n_numbers,
            cat_cardinalities=list(cardinalities),
            d_out=n_classes,
            **options,
        )
    return model


class AfterStart(nn.Module):
    """An FT-Transformer without what comes before its first normalisation.

    The embeddings and the first attention have no normalisation layer in them. Where only those
    adapt, their result is the same in every step: `start` computes it once, and this module goes on
    from there. It also spares the last block all tokens but the one that the output is made of,
    which the published code computes and throws away. The same output up to rounding, in less
    than half the time; without dropout, as in evaluation mode.

    Shapes: tokens (rows, 1 + features, width), output (rows, classes).
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.backbone: Any = model.backbone

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits, from what `start` gives."""
        first, *others = self.backbone.blocks
        # A single block is the first and the last: its output is made of one token too.
        tokens = _fed_forward(first, tokens if others else tokens[:, :1])
        for place, block in enumerate(others, start=2):
            tokens = _attended(block, tokens, is_last=place == len(self.backbone.blocks))
            tokens = _fed_forward(block, tokens)
        logits: Tensor = self.backbone.output(tokens[:, 0])
        return logits


@torch.no_grad()
def start(model: nn.Module, numbers: Tensor, categories: Tensor, *, batch: int = 4096) -> Tensor:
    """What `AfterStart(model)` takes for these rows, in evaluation mode.

    Memory: 4 bytes x width x (1 + features) a row.
    """
    was_training = model.training
    model.eval()
    pieces = zip(torch.split(numbers, batch), torch.split(categories, batch), strict=True)
    found = torch.cat([_started(model, *piece) for piece in pieces])
    model.train(was_training)
    return found


def _started(model: Any, numbers: Tensor, categories: Tensor) -> Tensor:
    rows = len(numbers)
    parts = [model.cls_embedding((rows,)), model.cont_embeddings(numbers)]
    tokens = torch.cat([*parts, model.cat_embeddings(categories)], dim=1)
    blocks = model.backbone.blocks
    return _attended(blocks[0], tokens, is_last=len(blocks) == 1)


def _attended(block: Any, tokens: Tensor, *, is_last: bool) -> Tensor:
    """The tokens after a block's attention; of the last block only the one that is used."""
    known = block["attention_normalization"](tokens) if _has_norm(block) else tokens
    kept = slice(0, 1) if is_last else slice(None)
    seen: Tensor = block["attention"](known[:, kept], known)
    return tokens[:, kept] + seen


def _has_norm(block: Any) -> bool:
    return "attention_normalization" in block


def _fed_forward(block: Any, tokens: Tensor) -> Tensor:
    seen: Tensor = block["ffn"](block["ffn_normalization"](tokens))
    return tokens + seen


def _published() -> Any:
    try:
        return import_module("rtdl_revisiting_models").FTTransformer
    except ImportError:
        raise MissingExtraError(
            "The FT-Transformer needs rtdl_revisiting_models, which is not installed.",
            fix="pip install sqrl-paper",
        ) from None
