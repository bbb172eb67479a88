"""ResNet-34 for images, the paper's network, for those who have its weights.

The layers have the names and shapes of torchvision's, so that its files of weights fit.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from sqrl_paper.shared.weights import put_weights, read_weights

N_CLASSES = 1000
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, channels, first stride
CENTRES = (0.485, 0.456, 0.406)  # of red, green and blue, where 1 is the most
SPREADS = (0.229, 0.224, 0.225)


class ResNet34(nn.Module):
    """A logit for each class, from images whose pixels have values from 0 to 255.

    It scales them itself, so bytes will do. So will any size; torchvision's weights were trained on
    224 x 224. Shapes: images (rows, 3, height, width), result (rows, classes).
    """

    centres: Tensor
    spreads: Tensor

    def __init__(self, n_classes: int = N_CLASSES) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        n_in = 64
        for place, (n_blocks, channels, stride) in enumerate(STAGES, start=1):
            blocks = [Block(n_in, channels, stride)]
            blocks += [Block(channels, channels, 1) for _ in range(n_blocks - 1)]
            self.add_module(f"layer{place}", nn.Sequential(*blocks))
            n_in = channels
        self.fc = nn.Linear(n_in, n_classes)
        # No part of the weights: files of them do not have it.
        self.register_buffer(
            "centres", 255 * torch.tensor(CENTRES)[:, None, None], persistent=False
        )
        self.register_buffer(
            "spreads", 255 * torch.tensor(SPREADS)[:, None, None], persistent=False
        )

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each image."""
        values = images.to(self.fc.weight.dtype, memory_format=torch.channels_last)
        values = (values - self.centres) / self.spreads
        values = self.maxpool(self.bn1(self.conv1(values)).relu())
        for place in range(1, len(STAGES) + 1):
            values = self.get_submodule(f"layer{place}")(values)
        logits: Tensor = self.fc(values.mean((2, 3)))
        return logits


class Block(nn.Module):
    """Two convolutions, whose result is added to what came in."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.downsample: nn.Module | None = None
        if stride != 1 or n_in != n_out:
            shortcut = nn.Conv2d(n_in, n_out, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(n_out))

    def forward(self, images: Tensor) -> Tensor:
        """What comes out of the block."""
        values = self.bn1(self.conv1(images)).relu()
        values = self.bn2(self.conv2(values))
        kept = images if self.downsample is None else self.downsample(images)
        added: Tensor = (values + kept).relu()
        return added


def load_resnet34(path: str | Path) -> ResNet34:
    """The network with the weights of a file, named as by torchvision."""
    model = ResNet34()
    put_weights(model, read_weights(path), path)
    return model.eval()
