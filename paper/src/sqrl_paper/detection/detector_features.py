"""What a detector sees first: features of images at strides of 8, 16 and 32 pixels."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from sqrl_paper.shared.efficientnet_lite import (
    CENTRE,
    EPSILON,
    SPREAD,
    EfficientNetLite0,
    convolve,
    load_efficientnet_lite0,
)

# The blocks of EfficientNet-Lite0 after which the stride is about to double.
N_STEM, N_MIDDLE, N_COARSE = 5, 11, 15


class Lite0Features(nn.Module):
    """EfficientNet-Lite0 without its last block and its classifier, which make a quarter of it.

    `stem` ends where the stride is 8; it is not trained on roads, so it can be run beforehand.
    """

    channels = (40, 112, 192)

    def __init__(self) -> None:
        super().__init__()
        whole = EfficientNetLite0(n_classes=1)
        self.conv_stem, self.bn0 = whole.conv_stem, whole.bn0
        self.blocks = whole.blocks[:N_COARSE]

    def load_pretrained(self) -> None:
        """Take the weights that were trained on ImageNet."""
        whole = load_efficientnet_lite0().state_dict()
        self.load_state_dict({name: whole[name] for name in self.state_dict()})

    def stem(self, pixels: Tensor) -> Tensor:
        """The features at a stride of 8. Shapes: pixels (n, 3, h, w), result (n, 40, h/8, w/8)."""
        values = convolve(_scaled(pixels), self.conv_stem, self.bn0, clip=True)
        for block in self.blocks[:N_STEM]:
            values = block(values)
        return values

    def rest(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features at the three strides, from those at the first."""
        values = values.to(memory_format=torch.channels_last)
        middle = values
        for block in self.blocks[N_STEM:N_MIDDLE]:
            middle = block(middle)
        coarse = middle
        for block in self.blocks[N_MIDDLE:]:
            coarse = block(coarse)
        return values, middle, coarse


class TinyFeatures(nn.Module):
    """Five small convolutions, each at twice the stride of the one before."""

    channels = (16, 24, 32)

    def __init__(self) -> None:
        super().__init__()
        sizes = (3, 8, 12, *self.channels)
        pairs = pairwise(sizes)
        self.convs = nn.ModuleList([nn.Conv2d(a, b, 3, stride=2, bias=False) for a, b in pairs])
        self.norms = nn.ModuleList([nn.BatchNorm2d(b, eps=EPSILON) for b in sizes[1:]])

    def stem(self, pixels: Tensor) -> Tensor:
        """The features at a stride of 8. Shapes: pixels (n, 3, h, w), result (n, 16, h/8, w/8)."""
        values = _scaled(pixels)
        for layer in range(3):
            values = self._apply_layer(values, layer)
        return values

    def rest(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features at the three strides, from those at the first."""
        middle = self._apply_layer(values, 3)
        return values, middle, self._apply_layer(middle, 4)

    def _apply_layer(self, values: Tensor, layer: int) -> Tensor:
        conv, norm = self.convs[layer], self.norms[layer]
        assert isinstance(conv, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        return convolve(values, conv, norm, clip=True)


def _scaled(pixels: Tensor) -> Tensor:
    values = pixels.to(torch.get_default_dtype(), memory_format=torch.channels_last)
    return (values - CENTRE) / SPREAD
