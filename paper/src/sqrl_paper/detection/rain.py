"""add_rain: images as they would look in rain, by streaks, a veil and blur, in five severities.

Rain is drawn, not computed from drops in the air as Tremblay et al. (2020) do for the rain that the
paper tests on: drops near the camera leave long bright streaks, those farther away short faint
ones, what is behind them all pales towards the grey of the sky, and water blurs what is seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from sqrl.errors import DataError

SKY = 0.68  # how bright the veil is, from 0 to 1
DROP = 0.86  # how bright a streak is
MOST_SLANTED = 0.3  # pixels to a side for each downwards
FAINTEST = 0.4  # of the streaks, where the brightest is 1


@dataclass(frozen=True, slots=True)
class Rain:
    """How much it rains.

    `near` and `far` are streaks for each pixel and how long they are, over the height of the
    image; `opacity` is of the brightest streak, `veil` the share of the sky's grey, and `blur` the
    spread of a bell in thousandths of the height.
    """

    name: str
    near: tuple[float, float]
    far: tuple[float, float]
    opacity: float
    veil: float
    blur: float


SEVERITIES: Mapping[int, Rain] = {
    1: Rain("drizzle", (0.0003, 0.06), (0.002, 0.020), 0.35, 0.10, 1.5),
    2: Rain("light rain", (0.0006, 0.08), (0.004, 0.025), 0.45, 0.18, 2.0),
    3: Rain("rain", (0.0010, 0.10), (0.006, 0.030), 0.55, 0.28, 2.75),
    4: Rain("heavy rain", (0.0016, 0.12), (0.009, 0.035), 0.65, 0.38, 3.5),
    5: Rain("violent rain", (0.0024, 0.15), (0.013, 0.040), 0.75, 0.50, 4.5),
}


def add_rain(pixels: Tensor, *, severity: int, seed: int) -> Tensor:
    """The images in rain, as bytes.

    Where drops fall depends on the seed and on the place of the image among the others, and not on
    the severity: where it rains more, the same drops are longer and brighter, and there are others
    beside them. Shapes: pixels and result (n, 3, height, width).

    >>> grey = torch.full((1, 3, 32, 64), 100, dtype=torch.uint8)
    >>> light, heavy = (add_rain(grey, severity=s, seed=0).float().mean() for s in (1, 5))
    >>> bool(100 < light < heavy)
    True
    """
    _check(pixels, severity)
    rain = SEVERITIES[severity]
    wet = torch.empty_like(pixels)
    for place, image in enumerate(pixels):
        light = _blur(image.float() / 255, rain.blur * image.shape[-2] / 1000)
        light = light + rain.veil * (SKY - light)
        light = light + _streaks(rain, light.shape[-2:], _generator(seed, place)) * (DROP - light)
        wet[place] = (light * 255).round().clamp(0, 255).to(torch.uint8)
    return wet


def _streaks(rain: Rain, size: torch.Size, generator: torch.Generator) -> Tensor:
    """How much of each pixel is behind a streak. Shapes: size and result (height, width)."""
    slant = MOST_SLANTED * (2 * torch.rand((), generator=generator) - 1)
    hidden = torch.zeros(size)
    for (density, length), opacity in ((rain.near, 1.0), (rain.far, 0.5)):
        is_drop = torch.rand(size, generator=generator) < density
        drops = is_drop * (FAINTEST + (1 - FAINTEST) * torch.rand(size, generator=generator))
        for down in range(max(1, round(length * size[0]))):
            fallen = drops.roll((down, round(float(slant * down))), (0, 1))
            hidden = torch.maximum(hidden, opacity * fallen)
    return rain.opacity * hidden


def _blur(image: Tensor, spread: float) -> Tensor:
    """The image with each point a bell, mirrored at its edges. Shapes: (3, height, width)."""
    radius = max(1, int(np.ceil(3 * spread)))
    bell = torch.exp(-(torch.arange(-radius, radius + 1.0) ** 2) / (2 * spread**2))
    bell = (bell / bell.sum()).expand(3, 1, 1, -1)
    wide = pad(image[None], (radius,) * 4, mode="reflect")
    return conv2d(conv2d(wide, bell, groups=3), bell.transpose(2, 3), groups=3)[0]


def _generator(seed: int, place: int) -> torch.Generator:
    """An image's own random numbers."""
    mixed = np.random.SeedSequence([seed, place]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(mixed[0] >> np.uint64(1)))


def _check(pixels: Tensor, severity: int) -> None:
    if severity not in SEVERITIES:
        known = ", ".join(f"{number} ({rain.name})" for number, rain in SEVERITIES.items())
        raise DataError(f"A severity of {severity}.", fix=f"give one of: {known}")
    if pixels.dtype != torch.uint8 or pixels.ndim != 4 or pixels.shape[1] != 3:
        kind = str(pixels.dtype).removeprefix("torch.")
        raise DataError(
            f"The images are {kind} {' x '.join(map(str, pixels.shape))}.",
            fix="give bytes (uint8), as rows x 3 x height x width",
        )
