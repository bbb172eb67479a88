"""Seen: images as a detector sees them, and the boxes that it finds on them unadapted.

The first layers of a detector are not trained on roads, and are not adapted either: what they make
of an image is computed once, for that is more than half of the work of every step.
"""

import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor, nn

from sqrl import Batches
from sqrl_paper.detection.data import images_of, prepared
from sqrl_paper.detection.detector import Detector
from sqrl_paper.detection.found_boxes import Found, find_all
from sqrl_paper.detection.road_images import RoadImages
from sqrl_paper.detection.task import make_batches
from sqrl_paper.place import Place

AT_ONCE = 10  # images
LEAST_FOUND = 0.05  # the score from which boxes count for the average precision


class AfterStem(nn.Module):
    """A detector that is given what its first layers made of images."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and boxes, as the detector gives them."""
        return self.detector.from_stem(values)

    def names_of(self, kind: str, values: Tensor) -> list[str]:
        """The parameters of "norm" layers, or "all", that have a part in the output."""
        made = copy.deepcopy(self).requires_grad_()
        logits, boxes = made(values[:1])
        torch.autograd.backward(logits.sum() + boxes.sum())
        layers = [
            layer for layer in made.modules() if kind == "all" or isinstance(layer, nn.BatchNorm2d)
        ]
        chosen = {id(one) for layer in layers for one in layer.parameters()}
        return [
            name
            for name, one in made.named_parameters()
            if id(one) in chosen and one.grad is not None
        ]


@dataclass(frozen=True, eq=False)
class Seen:
    """Images with what is true of them, and a detector that has not learned from them."""

    images: RoadImages
    model: Detector

    @cached_property
    def values(self) -> Tensor:
        """What the first layers make of the images."""
        with torch.no_grad():
            parts = torch.split(self.images.pixels, AT_ONCE)
            return torch.cat([self.model.features.stem(part) for part in parts])

    @cached_property
    def after_stem(self) -> AfterStem:
        """The rest of the detector, which adaptation starts from."""
        return AfterStem(self.model).eval()

    @cached_property
    def found(self) -> Found:
        """The boxes that the source model finds."""
        return self.find(self.after_stem)

    def batches(self, *, size: int, seed: int) -> Batches:
        """Mini-batches of what the first layers make of the images, and of nothing else."""
        return Batches(self.values, size=size, seed=seed)

    def find(self, model: nn.Module) -> Found:
        """The boxes that an adapted model finds on all images."""
        is_whole = isinstance(model, Detector)
        inputs = self.images.pixels if is_whole else self.values
        return find_all(model, inputs, batch=AT_ONCE, least_score=LEAST_FOUND)

    def pixel_batches(self, *, size: int, seed: int) -> Batches:
        """Mini-batches of the images themselves, for what changes the first layers too."""
        return make_batches(self.images, size=size, seed=seed)


@lru_cache(maxsize=1)  # jobs with the same images follow each other
def see(place: Place, seed: int, condition: str) -> Seen:
    """The images of a test, and the detector of a seed."""
    return Seen(images_of(place, condition), prepared(place, seed).model)


@lru_cache(maxsize=1)
def see_tuning(place: Place, seed: int) -> Seen:
    """The images that settings are chosen by."""
    data = prepared(place, seed)
    return Seen(data.tuning, data.model)
