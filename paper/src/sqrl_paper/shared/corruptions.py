"""Images as they come from worse cameras and weather, in five severities, after ImageNet-C.

Hendrycks and Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and
Perturbations" (ICLR 2019). The constants are theirs, for images of 224 x 224 pixels. Radii of blur
and the spread of noise are scaled by side / 224, so that a smaller image looks as theirs would if
it were shrunk; brightness, contrast, JPEG's quality and fog have no length to scale. They keep
images as JPEG of quality 85 afterwards; here they stay as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from sqrl.errors import DataError, unknown
from sqrl_paper.shared.images import through_jpeg
from sqrl_paper.shared.plasma import plasma

SIDE = 224  # pixels, for which the constants are
MOST = 5  # severities
AT_ONCE = 64  # images, as numbers of four bytes for each colour

Generators = Sequence[torch.Generator]
Change = Callable[[Tensor, Sequence[float], Generators], Tensor]


@dataclass(frozen=True, slots=True)
class Corruption:
    """A change of images (n, 3, side, side) with values from 0 to 1, and its five levels.

    `change(images, level, generators)` has a random generator for each image.
    """

    change: Change
    levels: tuple[tuple[float, ...], ...]
    is_random: bool = False


def corrupt(images: Tensor, name: str, severity: int, *, seed: int = 0) -> Tensor:
    """The images after the named corruption, as bytes; severity 0 leaves them as they are.

    What is random depends on the seed and on the place of the image among the others, and not on
    the severity: a higher one is more of the same. Shapes: images and result (n, 3, side, side).

    >>> grey = torch.full((1, 3, 2, 2), 100, dtype=torch.uint8)
    >>> corrupt(grey, "brightness", 1).unique().tolist()  # a tenth of 255 more
    [126]
    """
    _check(images, name, severity)
    if severity == 0:
        return images.clone()
    corruption = CORRUPTIONS[name]
    level = corruption.levels[severity - 1]
    changed = torch.empty_like(images)
    for first in range(0, len(images), AT_ONCE):
        part = images[first : first + AT_ONCE]
        places = range(first, first + len(part)) if corruption.is_random else ()
        light = corruption.change(part.float() / 255, level, [_generator(seed, p) for p in places])
        changed[first : first + AT_ONCE] = (light * 255).round().clamp(0, 255).to(torch.uint8)
    return changed


def _noise(images: Tensor, level: Sequence[float], generators: Generators) -> Tensor:
    """Something normally distributed is added to each pixel and colour."""
    return images + level[0] * _scale(images) * _normal(images, generators)


def _speckle(images: Tensor, level: Sequence[float], generators: Generators) -> Tensor:
    """Noise in proportion to how bright a pixel is."""
    return images + images * level[0] * _scale(images) * _normal(images, generators)


def _defocus(images: Tensor, level: Sequence[float], _: Generators) -> Tensor:
    """Each point becomes a disk, whose edge is a pixel wide."""
    radius = level[0] * _scale(images)
    far = _distances(int(np.ceil(radius)))
    return _convolve(images, (radius + 0.5 - far).clamp(0, 1))


def _gaussian_blur(images: Tensor, level: Sequence[float], _: Generators) -> Tensor:
    """Each point becomes a bell."""
    spread = level[0] * _scale(images)
    far = _distances(min(int(np.ceil(4 * spread)), images.shape[-1] - 1))
    return _convolve(images, torch.exp(-far.square() / (2 * spread**2)))


def _brightness(images: Tensor, level: Sequence[float], _: Generators) -> Tensor:
    """The brightest colour of each pixel gets brighter, hue and saturation stay."""
    brightest = images.amax(1, keepdim=True)
    wanted = (brightest + level[0]).clamp(max=1)
    return torch.where(brightest > 0, images * wanted / brightest, wanted)


def _contrast(images: Tensor, level: Sequence[float], _: Generators) -> Tensor:
    """Each colour comes closer to its average over the image."""
    mean = images.mean((2, 3), keepdim=True)
    return (images - mean) * level[0] + mean


def _jpeg(images: Tensor, level: Sequence[float], _: Generators) -> Tensor:
    """Packed as JPEG of a low quality."""
    pixels = (images * 255).round().to(torch.uint8).numpy()
    packed = np.stack([through_jpeg(image, int(level[0])) for image in pixels])
    return torch.from_numpy(packed).float() / 255


def _fog(images: Tensor, level: Sequence[float], generators: Generators) -> Tensor:
    """Clouds of plasma are added, and all is scaled back to the brightness that was."""
    thickness, decay = level
    clouds = plasma(max(images.shape[-2:]), decay, generators)
    clouds = clouds[:, None, : images.shape[-2], : images.shape[-1]]
    brightest = images.amax((1, 2, 3), keepdim=True)
    return (images + thickness * clouds) * brightest / (brightest + thickness)


CORRUPTIONS = {
    "noise": Corruption(_noise, ((0.08,), (0.12,), (0.18,), (0.26,), (0.38,)), is_random=True),
    "blur": Corruption(_defocus, ((3,), (4,), (6,), (8,), (10,))),
    "brightness": Corruption(_brightness, ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,))),
    "contrast": Corruption(_contrast, ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,))),
    "jpeg": Corruption(_jpeg, ((25,), (18,), (15,), (10,), (7,))),
    "fog": Corruption(_fog, ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)), is_random=True),
    # These two are ImageNet-C's for choosing settings by, so that the others remain unseen.
    "speckle": Corruption(_speckle, ((0.15,), (0.2,), (0.35,), (0.45,), (0.6,)), is_random=True),
    "gaussian blur": Corruption(_gaussian_blur, ((1,), (2,), (3,), (4,), (6,))),
}
FOR_TUNING = ("speckle", "gaussian blur")
FOR_TESTING = tuple(name for name in CORRUPTIONS if name not in FOR_TUNING)


def _scale(images: Tensor) -> float:
    return images.shape[-1] / SIDE


def _normal(images: Tensor, generators: Generators) -> Tensor:
    return torch.stack([torch.randn(images.shape[1:], generator=g) for g in generators])


def _distances(radius: int) -> Tensor:
    """How far each point of a square with an odd side is from its middle."""
    places = torch.arange(-radius, radius + 1.0)
    return torch.hypot(places[:, None], places[None, :])


def _convolve(images: Tensor, kernel: Tensor) -> Tensor:
    """The images blurred by a kernel, mirrored at their edges; by Fourier's transform."""
    radius = kernel.shape[0] // 2
    wide = pad(images, (radius,) * 4, mode="reflect")
    size = (wide.shape[-2], wide.shape[-1])
    product = torch.fft.rfft2(wide) * torch.fft.rfft2(kernel / kernel.sum(), s=size)
    blurred: Tensor = torch.fft.irfft2(product, s=size)
    return blurred[..., 2 * radius :, 2 * radius :]


def _generator(seed: int, place: int) -> torch.Generator:
    """An image's own random numbers."""
    mixed = np.random.SeedSequence([seed, place]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(mixed[0] >> np.uint64(1)))


def _check(images: Tensor, name: str, severity: int) -> None:
    if name not in CORRUPTIONS:
        raise unknown("corruption", name, CORRUPTIONS, where="corrupt")
    if severity not in range(MOST + 1):
        raise DataError(f"A severity of {severity}.", fix=f"give one from 0 to {MOST}")
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
        kind = str(images.dtype).removeprefix("torch.")
        raise DataError(
            f"The images are {kind} {' x '.join(map(str, images.shape))}.",
            fix="give bytes (uint8), as rows x 3 x height x width",
        )
