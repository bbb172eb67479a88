"""TokenNoise and WordNoise: text with some tokens or words dropped, some neighbours swapped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sqrl._adapt.batches import Batch
from sqrl.errors import AdaptError
from sqrl.methods._augment import change_inputs, check_share, uniform


@dataclass(frozen=True, slots=True)
class TokenNoise:
    """A batch of token ids (rows, places), some replaced by `mask_token`, some neighbours swapped.

    A share `drop` of the tokens is replaced and a share `swap` of neighbours change places. Tokens
    in `special` never change, nor does what the attention mask leaves out. Give the token for
    padding among the special ones where there is no attention mask. The ids are a batch's
    `input_ids`, the first of its tensors, or the batch itself; the mask is its `attention_mask`, or
    the second tensor.

    >>> noise = TokenNoise(mask_token=103, special=(101, 102), drop=1, swap=0)
    >>> noise(torch.tensor([[101, 7592, 2088, 102]]), torch.Generator())
    tensor([[101, 103, 103, 102]])
    """

    mask_token: int
    special: tuple[int, ...] = ()
    drop: float = 0.1
    swap: float = 0.1

    def __post_init__(self) -> None:
        check_share("drop", self.drop)
        check_share("swap", self.swap)

    def __call__(self, batch: Any, generator: torch.Generator) -> Any:
        """Another batch of the same texts."""
        if isinstance(batch, Batch):
            return replace(batch, inputs=self(batch.inputs, generator))
        if isinstance(batch, Tensor):
            return self._changed(batch, None, generator)
        if isinstance(batch, Mapping) and "input_ids" in batch:
            ids = self._changed(batch["input_ids"], batch.get("attention_mask"), generator)
            return {**batch, "input_ids": ids}
        if isinstance(batch, tuple | list) and batch and isinstance(batch[0], Tensor):
            mask = batch[1] if len(batch) > 1 and isinstance(batch[1], Tensor) else None
            mask = mask if mask is not None and mask.shape == batch[0].shape else None
            return type(batch)([self._changed(batch[0], mask, generator), *batch[1:]])
        raise AdaptError(
            f"There is nothing to augment: a batch ({type(batch).__name__}) holds no token ids.",
            fix="give a tensor of ids, a dict with 'input_ids', or use WordNoise for text",
        )

    def _changed(self, ids: Any, mask: Tensor | None, generator: torch.Generator) -> Tensor:
        if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.is_floating_point():
            shown = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            kind = f"{ids.dtype} " if isinstance(ids, Tensor) else ""
            raise AdaptError(
                f"Token ids are {kind}{shown}.",
                fix="give whole numbers of the shape (rows, places)",
            )
        is_free = ~torch.isin(ids, torch.tensor(self.special, dtype=ids.dtype, device=ids.device))
        if mask is not None:
            is_free &= mask != 0
        shape = tuple(ids.shape)
        wants = uniform(shape, generator, ids) < self.swap
        offset = int(torch.randint(2, (), generator=generator, device=generator.device))
        made = ids.gather(1, _order(wants, is_free, offset))
        is_dropped = (uniform(shape, generator, ids) < self.drop) & is_free
        return made.masked_fill(is_dropped, self.mask_token)


def _order(wants: Tensor, is_free: Tensor, offset: int) -> Tensor:
    """The places that tokens come from when pairs of free neighbours change places.

    Pairs begin at every second place, so that no token is in two of them.
    """
    length = wants.shape[1]
    places = torch.arange(length, device=wants.device)
    begins = (places % 2 == offset) & (places < length - 1)
    first = wants & begins & is_free & is_free.roll(-1, dims=1)
    return places + first.long() - first.roll(1, dims=1).long()


@dataclass(frozen=True, slots=True)
class WordNoise:
    """A batch of texts, lists of strings, with words left out and neighbours swapped.

    A share `drop` of the words is left out, though never all of a text, and a share `swap` of
    neighbours change places. White space becomes single spaces.

    >>> WordNoise(drop=0, swap=1)(["good film , bad end"], torch.Generator().manual_seed(0))
    ['film good bad , end']
    """

    drop: float = 0.1
    swap: float = 0.1

    def __post_init__(self) -> None:
        check_share("drop", self.drop)
        check_share("swap", self.swap)

    def __call__(self, batch: Any, generator: torch.Generator) -> Any:
        """Another batch of the same texts."""
        return change_inputs(
            batch,
            lambda texts: type(texts)([self._changed(text, generator) for text in texts]),
            where=_is_texts,
            what="lists of strings",
        )

    def _changed(self, text: str, generator: torch.Generator) -> str:
        words = text.split()
        if not words:
            return text
        one = torch.zeros(1)
        wants = uniform((1, len(words)), generator, one) < self.swap
        order = _order(wants, torch.ones_like(wants), offset=0)[0].tolist()
        draws = uniform((len(words),), generator, one).tolist()
        # The last to go stays, so that a text is never empty.
        kept = [place for place in order if draws[place] >= self.drop] or [
            max(order, key=lambda place: draws[place])
        ]
        return " ".join(words[place] for place in kept)


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(item, str) for item in value)
    )
