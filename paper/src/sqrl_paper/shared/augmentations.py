"""Augmentations for MEMO: images moved and lit, tokens and words dropped.

Each takes a batch and a generator, and gives another batch of the same rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sqrl import Batch
from sqrl.errors import AdaptError

HALF = (torch.float16, torch.bfloat16)


def change_inputs(
    batch: Any, change: Callable[[Any], Any], *, where: Callable[[Any], bool], what: str
) -> Any:
    """The batch with every input changed for which `where` holds; the batch itself is left alone.

    Inputs are found in a Batch, in tuples, lists and dicts. The columns of a Batch stay: they are
    what rules speak of, and an augmentation is about what the model sees.

    >>> change_inputs({"x": 1, "y": "a"}, lambda x: -x, where=lambda x: x == 1, what="ones")
    {'x': -1, 'y': 'a'}
    """
    n_changed = 0

    def go(value: Any) -> Any:
        nonlocal n_changed
        if where(value):
            n_changed += 1
            return change(value)
        if isinstance(value, Batch):
            return replace(value, inputs=go(value.inputs))
        if isinstance(value, Mapping):
            return {name: go(item) for name, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(go, value))
        return type(value)(map(go, value)) if isinstance(value, tuple | list) else value

    made = go(batch)
    if not n_changed:
        raise AdaptError(
            f"There is nothing to augment: a batch ({type(batch).__name__}) holds no {what}.",
            fix="write a function of your own: augment=lambda batch, generator: ...",
        )
    return made


def uniform(shape: tuple[int, ...], generator: torch.Generator, like: Tensor) -> Tensor:
    """Numbers between 0 and 1, the same for the same generator whatever the device."""
    return torch.rand(shape, generator=generator, device=generator.device).to(like.device)


def check_share(name: str, value: float) -> None:
    """Raise where an option is no share from 0 to 1."""
    if not 0 <= value <= 1:
        raise AdaptError(f"{name} is {value:g}.", fix="give a share from 0 to 1")


@dataclass(frozen=True, slots=True)
class ImageNoise:
    """A batch whose images (rows, channels, height, width) are each changed a little.

    `flip` is the probability of a mirror image (0 where sides mean something, as for digits).
    `shift` is how far an image may move in its frame, as a share of height and width: a random crop
    of the image with its edges repeated. `brightness` and `contrast` say how much of each channel's
    range is added or taken away, and by what share differences from the image's mean grow or
    shrink. Values stay within the range that the channel has in the batch.

    >>> image = torch.arange(4.0).reshape(1, 1, 2, 2)
    >>> mirror = ImageNoise(flip=1, shift=0, brightness=0, contrast=0)
    >>> mirror(image, torch.Generator()).tolist()
    [[[[1.0, 0.0], [3.0, 2.0]]]]
    """

    flip: float = 0.5
    shift: float = 0.1
    brightness: float = 0.1
    contrast: float = 0.1

    def __post_init__(self) -> None:
        for name in self.__slots__:
            check_share(name, getattr(self, name))

    def __call__(self, batch: Any, generator: torch.Generator) -> Any:
        """Another batch of the same images."""
        return change_inputs(
            batch,
            lambda images: self._lit(self._moved(images, generator), generator),
            where=lambda value: isinstance(value, Tensor) and value.ndim == 4,
            what="images, tensors of the shape (rows, channels, height, width)",
        )

    def _moved(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The images flipped and cropped, each by itself."""
        n, _, height, width = images.shape
        rows = self._places(n, height, generator, images)
        columns = self._places(n, width, generator, images)
        is_flipped = uniform((n, 1), generator, images) < self.flip
        columns = torch.where(is_flipped, columns.flip(1), columns)
        each = torch.arange(n, device=images.device)[:, None, None]
        return images[each, :, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)

    def _places(self, n: int, size: int, generator: torch.Generator, like: Tensor) -> Tensor:
        """For each image, the places along an axis that it is made of."""
        most = int(self.shift * size)
        by = (uniform((n, 1), generator, like) * (2 * most + 1)).long().clamp(max=2 * most) - most
        return (torch.arange(size, device=like.device) + by).clamp(0, size - 1)

    def _lit(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The images lighter or darker, with more or less contrast, within their range."""
        shape = (len(images), 1, 1, 1)
        by = 2 * uniform(shape, generator, images) - 1
        factor = 1 + self.contrast * (2 * uniform(shape, generator, images) - 1)
        exact = images.is_floating_point() and images.dtype not in HALF
        light = images if exact else images.float()
        low, high = light.amin((0, 2, 3), keepdim=True), light.amax((0, 2, 3), keepdim=True)
        mean = light.mean((1, 2, 3), keepdim=True)
        light = mean + (light - mean) * factor + self.brightness * by * (high - low)
        light = torch.maximum(torch.minimum(light, high), low)
        return (light if images.is_floating_point() else light.round()).to(images.dtype)


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
