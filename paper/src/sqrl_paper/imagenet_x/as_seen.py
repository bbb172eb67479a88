"""Seen: crops as the model sees them after a corruption, and what it makes of them unadapted."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor, nn

from sqrl import Batches
from sqrl_paper.imagenet_x.crops import Crops
from sqrl_paper.imagenet_x.data import CLEAN, SEVERITY, prepared
from sqrl_paper.imagenet_x.first_norms import with_first_statistics
from sqrl_paper.imagenet_x.task import make_batches
from sqrl_paper.place import Place
from sqrl_paper.shared.corruptions import corrupt

AT_ONCE = 64  # images
POOLED = 128  # images, whose statistics are measured at once
HALF = 0.5  # of the BatchNorm layers, the first ones


@dataclass(frozen=True, eq=False)
class Seen:
    """Crops as they are known, as the source model sees them, and what it makes of them."""

    crops: Crops
    images: Tensor
    model: nn.Module

    def batches(self, *, size: int, seed: int) -> Batches:
        """Mini-batches of images and factors, without labels."""
        return make_batches(self.crops, self.images, size=size, seed=seed)

    @cached_property
    def first_half(self) -> nn.Module:
        """The model with these images' statistics in the first half of its BatchNorm layers."""
        return with_first_statistics(self.model, torch.split(self.images, POOLED), share=HALF)

    @cached_property
    def logits(self) -> Tensor:
        """What the source model predicts."""
        return self.predict(self.model)

    @cached_property
    def logits_of_first_half(self) -> Tensor:
        """What it predicts with these images' statistics in its first half."""
        return self.predict(self.first_half)

    @torch.no_grad()
    def predict(self, model: nn.Module) -> Tensor:
        """The logits of all images."""
        return torch.cat([model(part) for part in torch.split(self.images, AT_ONCE)])


@lru_cache(maxsize=1)  # jobs with the same images follow each other
def see(place: Place, seed: int, condition: str, *, is_tuning: bool = False) -> Seen:
    """The crops for the test of a seed, or those for tuning, after a corruption."""
    data = prepared(place, seed)
    crops = data.tuning if is_tuning else data.test
    if condition == CLEAN:
        return Seen(crops, crops.images, data.model)
    return Seen(crops, corrupt(crops.images, condition, SEVERITY, seed=seed), data.model)
