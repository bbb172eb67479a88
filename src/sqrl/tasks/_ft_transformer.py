"""The FT-Transformer for tables, as its authors published it, in a size for two CPU cores."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import nn

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


def _published() -> Any:
    try:
        return import_module("rtdl_revisiting_models").FTTransformer
    except ImportError:
        raise MissingExtraError(
            "The FT-Transformer needs rtdl_revisiting_models, which is not installed.",
            fix='pip install "sqrl-rules[tasks]"',
        ) from None
