"""Found: the boxes that a detector is sure enough of, one for each object."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sqrl.boxes import overlap as overlap_of

MOST_CANDIDATES = 400  # places of an image, the surest, among which doubles are looked for


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Found:
    """The boxes found on images, the surest first on each, gathered from a detector's output.

    Gradients flow through `logits`, `score` and `box`; which places are there is fixed.
    Shapes: logits (k, 1 + classes), box (k, 4), the others (k,).
    """

    image: Tensor
    place: Tensor
    label: Tensor
    score: Tensor
    logits: Tensor
    box: Tensor

    def __len__(self) -> int:
        return len(self.image)

    def take(self, at: Tensor) -> "Found":
        """Only these boxes, in this order, or those where `at` is true."""
        return Found(
            image=self.image[at],
            place=self.place[at],
            label=self.label[at],
            score=self.score[at],
            logits=self.logits[at],
            box=self.box[at],
        )


def find_boxes(
    out: tuple[Tensor, Tensor],
    *,
    least_score: float = 0.05,
    n_most: int = 100,
    overlap: float = 0.5,
) -> Found:
    """The boxes of at least that score that overlap no surer one of their class by more.

    A place finds the class that is likeliest there, the background aside; the score is how likely.
    Outputs that are not finite find nothing. At most `n_most` boxes on an image, the surest.

    >>> logits = torch.zeros(1, 3, 8)
    >>> logits[0, :, 1] = torch.tensor([9.0, 8.0, 7.0])  # a Car at all three places
    >>> boxes = torch.tensor([[[0.0, 0, 10, 10], [1, 0, 11, 10], [50, 0, 60, 10]]])
    >>> find_boxes((logits, boxes)).place.tolist()
    [0, 2]
    """
    logits, boxes = out
    with torch.no_grad():
        chance, label = logits.softmax(-1)[..., 1:].max(-1)
        is_usable = torch.isfinite(boxes).all(-1) & (chance >= least_score)  # false for nan
        image, place = _chosen(chance, label, boxes, is_usable, n_most, overlap)
        found_label = label[image, place]
    found_logits = logits[image, place]
    score = found_logits.softmax(-1).gather(1, 1 + found_label[:, None])[:, 0]
    return Found(
        image=image,
        place=place,
        label=found_label,
        score=score,
        logits=found_logits,
        box=boxes[image, place],
    )


def find_all(
    detector: nn.Module,
    pixels: Tensor,
    *,
    batch: int = 8,
    least_score: float = 0.05,
    n_most: int = 100,
    overlap: float = 0.5,
) -> Found:
    """The boxes found on all images, without gradients, the detector as it is set."""
    parts = []
    with torch.no_grad():
        for part in torch.split(pixels, batch):
            out = detector(part)
            parts.append(find_boxes(out, least_score=least_score, n_most=n_most, overlap=overlap))
    firsts = range(0, len(pixels), batch)
    return join_found(parts, firsts)


def join_found(parts: Sequence[Found], firsts: Sequence[int]) -> Found:
    """The boxes of many batches as one, each batch beginning at that image among all."""
    return Found(
        image=torch.cat([part.image + first for part, first in zip(parts, firsts, strict=True)]),
        place=torch.cat([part.place for part in parts]),
        label=torch.cat([part.label for part in parts]),
        score=torch.cat([part.score for part in parts]),
        logits=torch.cat([part.logits for part in parts]),
        box=torch.cat([part.box for part in parts]),
    )


def _chosen(
    chance: Tensor, label: Tensor, boxes: Tensor, is_usable: Tensor, n_most: int, overlap: float
) -> tuple[Tensor, Tensor]:
    """The image and place of each box that stays."""
    images, places = [torch.zeros(0, dtype=torch.long)], [torch.zeros(0, dtype=torch.long)]
    for image in range(len(chance)):
        here = is_usable[image].nonzero()[:, 0]
        order = chance[image, here].argsort(descending=True, stable=True)[:MOST_CANDIDATES]
        here = here[order]
        kept = _without_doubles(
            boxes[image, here].double().numpy(), label[image, here].numpy(), overlap
        )
        stays = here[torch.from_numpy(kept)][:n_most]
        images.append(torch.full_like(stays, image))
        places.append(stays)
    return torch.cat(images), torch.cat(places)


def _without_doubles(
    boxes: NDArray[np.float64], labels: NDArray[np.int64], most: float
) -> NDArray[np.int64]:
    """Which boxes, given surest first, overlap no surer one that stays of their class by more."""
    doubles = (overlap_of(boxes, boxes) > most) & (labels[:, None] == labels)
    stays = np.ones(len(boxes), np.bool_)
    for place in range(len(boxes)):
        if stays[place]:
            stays[place + 1 :] &= ~doubles[place, place + 1 :]
    return np.flatnonzero(stays)
