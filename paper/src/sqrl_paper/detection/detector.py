"""Detector: boxes around what is on a road, in one stage, without anchors, with BatchNorm.

The features of EfficientNet-Lite0 at strides of 8, 16 and 32 pixels are joined from coarse to fine,
as in a feature pyramid (Lin et al., 2017). At every place of the three grids a light head says, as
in FCOS (Tian et al., 2019), which class the object there is of and where its box lies.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from sqrl_paper.detection.detector_features import Lite0Features, TinyFeatures
from sqrl_paper.detection.road_labels import CLASSES
from sqrl_paper.shared.efficientnet_lite import convolve

STRIDES = (8, 16, 32)  # pixels from one place to the next
CHANNELS = {"lite0": 64, "tiny": 16}  # of the pyramid and the head
DEPTH = 2  # convolutions of the head before its last
RARE = 0.01  # how likely an object is at a place, before training
FARTHEST = 6.0  # of the logarithm of a side over the stride

Size = Literal["lite0", "tiny"]


class Detector(nn.Module):
    """Logits of the background and the classes, and a box, for each place of each image.

    `size` is "lite0", or "tiny": a few small convolutions for tests, without weights from anybody.
    Pixels have values from 0 to 255, so bytes will do; sides are multiples of 32.
    """

    def __init__(self, size: Size = "lite0") -> None:
        super().__init__()
        self.features = Lite0Features() if size == "lite0" else TinyFeatures()
        n_channels = CHANNELS[size]
        self.pyramid = _Pyramid(self.features.channels, n_channels)
        self.head = _Head(n_channels)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """The logits, background first, and the boxes: left, top, right and bottom in pixels.

        Shapes: pixels (n, 3, height, width), logits (n, places, 1 + classes), boxes (n, places, 4).
        """
        return self.from_stem(self.features.stem(pixels))

    def from_stem(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` gives, from what the first layers, which are not trained, made."""
        maps = self.head(self.pyramid(self.features.rest(values)))
        logits, moves = (torch.cat([_rows(m) for m in part], 1) for part in zip(*maps, strict=True))
        height, width = (side * STRIDES[0] for side in values.shape[-2:])
        places = places_of(width, height)
        centre = places[:, :2] + moves[..., :2] * places[:, 2:]
        half = moves[..., 2:].clamp(-FARTHEST, FARTHEST).exp() * places[:, 2:] / 2
        return logits, torch.cat([centre - half, centre + half], -1)


def places_of(width: int, height: int) -> Tensor:
    """The places of the grids on an image, fine to coarse: x and y in pixels, and the stride.

    >>> places_of(32, 32)[-5:].tolist()
    [[8.0, 8.0, 16.0], [24.0, 8.0, 16.0], [8.0, 24.0, 16.0], [24.0, 24.0, 16.0], [16.0, 16.0, 32.0]]
    """
    grids = []
    for stride in STRIDES:
        y, x = torch.meshgrid(
            (torch.arange(height // stride) + 0.5) * stride,
            (torch.arange(width // stride) + 0.5) * stride,
            indexing="ij",
        )
        grids.append(torch.stack([x, y, torch.full_like(x, stride)], -1).flatten(0, 1))
    return torch.cat(grids)


def make_detector(size: Size = "lite0", *, seed: int) -> Detector:
    """A detector that has seen no road: its features know ImageNet, the rest is drawn by the seed.

    The random state of torch is left as it was.

    >>> logits, boxes = make_detector("tiny", seed=0)(torch.zeros(1, 3, 32, 64))
    >>> logits.shape, boxes.shape
    (torch.Size([1, 42, 8]), torch.Size([1, 42, 4]))
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        detector = Detector(size)
        if isinstance(detector.features, Lite0Features):
            detector.features.load_pretrained()
    return detector.eval()


class _Separable(nn.Module):
    """Each channel is convolved by itself, then they are mixed, normalised and clipped.

    The grids share the convolutions and have a normalisation each, as what they hold differs.
    """

    def __init__(self, n_channels: int, n_grids: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(
            n_channels, n_channels, 3, padding=1, groups=n_channels, bias=False
        )
        self.mix = nn.Conv2d(n_channels, n_channels, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(n_channels) for _ in range(n_grids)])

    def forward(self, values: Tensor, grid: int = 0) -> Tensor:
        norm = self.norms[grid]
        assert isinstance(norm, nn.BatchNorm2d)
        return convolve(self.depthwise(values), self.mix, norm, clip=True)


class _Pyramid(nn.Module):
    """The features as maps of one number of channels, each with what the coarser ones know."""

    def __init__(self, n_in: Sequence[int], n_channels: int) -> None:
        super().__init__()
        self.narrow = nn.ModuleList([nn.Conv2d(n, n_channels, 1, bias=False) for n in n_in])
        self.norms = nn.ModuleList([nn.BatchNorm2d(n_channels) for _ in n_in])
        self.smooth = nn.ModuleList([_Separable(n_channels, 1) for _ in n_in])

    def forward(self, features: Sequence[Tensor]) -> list[Tensor]:
        maps: list[Tensor] = []
        layers = zip(features, self.narrow, self.norms, self.smooth, strict=True)
        for values, narrow, norm, smooth in reversed(list(layers)):
            assert isinstance(narrow, nn.Conv2d)
            assert isinstance(norm, nn.BatchNorm2d)
            own = convolve(values, narrow, norm)
            if maps:
                own = own + interpolate(maps[0], scale_factor=2.0, mode="nearest")
            maps.insert(0, smooth(own))
        return maps


class _Head(nn.Module):
    """For each grid the maps of logits, and of the place and size of boxes in strides."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        n_grids = len(STRIDES)
        self.of_class = nn.ModuleList([_Separable(n_channels, n_grids) for _ in range(DEPTH)])
        self.of_box = nn.ModuleList([_Separable(n_channels, n_grids) for _ in range(DEPTH)])
        self.logits = nn.Conv2d(n_channels, 1 + len(CLASSES), 1)
        self.moves = nn.Conv2d(n_channels, 4, 1)
        self._begin()

    def forward(self, maps: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        found = []
        for grid, values in enumerate(maps):
            of_class, of_box = values, values
            for layer in self.of_class:
                of_class = layer(of_class, grid)
            for layer in self.of_box:
                of_box = layer(of_box, grid)
            found.append((self.logits(of_class), self.moves(of_box)))
        return found

    def _begin(self) -> None:
        """Nearly everything is background at first, and a box e strides wide and high."""
        nn.init.normal_(self.logits.weight, std=0.01)
        nn.init.normal_(self.moves.weight, std=0.01)
        bias = torch.zeros(1 + len(CLASSES))
        bias[0] = math.log((1 - RARE) / RARE * len(CLASSES))
        self.logits.bias = nn.Parameter(bias)
        self.moves.bias = nn.Parameter(torch.tensor([0.0, 0.0, 1.0, 1.0]))


def _rows(values: Tensor) -> Tensor:
    """A map as rows of places. Shapes: values (n, c, height, width), result (n, places, c)."""
    return values.flatten(2).transpose(1, 2)
