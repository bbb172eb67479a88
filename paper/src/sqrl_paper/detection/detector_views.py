"""draw_views: images as a detector is trained on them, mirrored, scaled, moved and relit."""

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from sqrl_paper.detection.road_images import GREY, RoadImages
from sqrl_paper.detection.road_labels import IGNORED

SCALES = (0.8, 1.3)  # of what is shown
MOST_BRIGHTER = 25.0  # of 255
CONTRASTS = (0.75, 1.25)
TINTS = (0.93, 1.07)  # of each colour
FEWEST_SEEN = 0.4  # of a box on the image, so that it still counts
AT_ONCE = 32


def draw_view(images: RoadImages, *, seed: int) -> RoadImages:
    """Each image once, changed in a way drawn by the seed, and the boxes where they went.

    A box of which less than 40 % can still be seen is ignored.
    """
    generator = torch.Generator().manual_seed(seed)
    n = len(images)
    height, width = images.pixels.shape[-2:]
    zoom = _between(SCALES, (n,), generator)
    side = 1 - 2 * (torch.rand(n, generator=generator) < 0.5).float()
    # Where the middle of the view is: anywhere that shows as little padding as can be.
    room = (1 - 1 / zoom).abs()
    middle = (2 * torch.rand(n, 2, generator=generator) - 1) * room[:, None]
    pixels = torch.empty_like(images.pixels)
    for rows in torch.split(torch.arange(n), AT_ONCE):
        seen = _look(images.pixels[rows], zoom[rows], side[rows], middle[rows])
        pixels[rows] = _relight(seen, generator)
    boxes, is_seen = _move(images, zoom, side, middle)
    return RoadImages(
        pixels=pixels,
        boxes=boxes,
        labels=torch.where(is_seen, images.labels, IGNORED),
        image=images.image,
        names=images.names,
        size=(width, height),
        scale=images.scale,
        shift=images.shift,
    )


def _look(pixels: Tensor, zoom: Tensor, side: Tensor, middle: Tensor) -> Tensor:
    """The pixels around the middles, zoomed, those of side -1 mirrored; grey is around them."""
    theta = torch.zeros(len(pixels), 2, 3)
    theta[:, 0, 0], theta[:, 1, 1] = side / zoom, 1 / zoom
    theta[:, :, 2] = middle
    grid = affine_grid(theta, list(pixels.shape), align_corners=False)
    return grid_sample(pixels.float() - GREY, grid, align_corners=False) + GREY


def _relight(values: Tensor, generator: torch.Generator) -> Tensor:
    n = len(values)
    contrast = _between(CONTRASTS, (n, 1, 1, 1), generator)
    brighter = _between((-MOST_BRIGHTER, MOST_BRIGHTER), (n, 1, 1, 1), generator)
    tint = _between(TINTS, (n, 3, 1, 1), generator)
    lit = ((values - GREY) * contrast + GREY + brighter) * tint
    return lit.round().clamp(0, 255).to(torch.uint8)


def _move(images: RoadImages, zoom: Tensor, side: Tensor, middle: Tensor) -> tuple[Tensor, Tensor]:
    """The boxes cut off at the edges of the views, and whether enough of each can be seen."""
    height, width = images.pixels.shape[-2:]
    size = torch.tensor([width, height])
    low, high = (2 * part / size - 1 for part in (images.boxes[:, :2], images.boxes[:, 2:]))
    near, by = middle[images.image], zoom[images.image][:, None]
    sides = torch.stack([side, torch.ones_like(side)], 1)[images.image]
    ends = torch.stack([(low - near) * by * sides, (high - near) * by * sides])
    whole = torch.cat([ends.amin(0), ends.amax(0)], 1)
    cut = whole.clamp(-1, 1)
    seen = (cut[:, 2:] - cut[:, :2]).prod(1) / (whole[:, 2:] - whole[:, :2]).prod(1)
    return (cut + 1) / 2 * size.repeat(2), seen >= FEWEST_SEEN


def _between(
    ends: tuple[float, float], shape: tuple[int, ...], generator: torch.Generator
) -> Tensor:
    return ends[0] + (ends[1] - ends[0]) * torch.rand(shape, generator=generator)
