"""ImageNoise: images flipped, shifted, lighter or darker."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sqrl.methods._augment import change_inputs, check_share, uniform
from sqrl.methods._logits import HALF


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
