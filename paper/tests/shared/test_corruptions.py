"""Corruptions of images: their hand-computed values, their severities, and what is random."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from sqrl.errors import DataError, UnknownNameError
from sqrl_paper.shared.corruptions import CORRUPTIONS, FOR_TESTING, FOR_TUNING, corrupt
from sqrl_paper.shared.plasma import plasma

RANDOM = ("fog", "noise", "speckle")
NAMES = sorted(CORRUPTIONS)


def made_images(n=3, side=64):
    """Pictures of a lit square before coloured patches that get brighter to the right."""
    generator = torch.Generator().manual_seed(5)
    patches = 60 * torch.rand((n, 3, side // 4, side // 4), generator=generator)
    images = patches.repeat_interleave(4, 2).repeat_interleave(4, 3)
    images = images + torch.linspace(20, 140, side)
    images[:, :, side // 4 : side // 2, side // 4 : side // 2] += 50
    return images.clamp(0, 255).to(torch.uint8)


def one_colour(*colour, side=4):
    return torch.tensor(colour, dtype=torch.uint8)[None, :, None, None].repeat(1, 1, side, side)


def change(images, name, severity, seed=0):
    """The mean absolute change of a pixel."""
    changed = corrupt(images, name, severity, seed=seed)
    return float((changed.float() - images.float()).abs().mean())


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_severity_changes_images_more(name):
    """Severity 0 leaves images as they are; each higher one is farther from them."""
    images = made_images(side=160)
    changes = [change(images, name, severity) for severity in range(6)]

    assert changes[0] == 0
    assert changes[1] > 0.1
    assert changes == sorted(set(changes))


@pytest.mark.parametrize("name", NAMES)
def test_images_stay_bytes_of_the_same_shape_and_are_not_changed_in_place(name):
    """What comes in can be used again."""
    images = made_images()
    before = images.clone()
    changed = corrupt(images, name, 5)

    assert changed.dtype == torch.uint8
    assert changed.shape == images.shape
    assert torch.equal(images, before)


def test_severity_0_is_a_copy():
    """Writing into the result leaves the images alone."""
    images = made_images()
    changed = corrupt(images, "noise", 0)
    assert torch.equal(changed, images)
    changed.zero_()

    assert images.sum() > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_what_is_random_and_nothing_else(name):
    """Equal seeds give equal images, other seeds others where there is chance at all."""
    images = made_images()
    first, again, other = (corrupt(images, name, 3, seed=seed) for seed in (1, 1, 2))

    assert torch.equal(first, again)
    assert torch.equal(first, other) == (name not in RANDOM)


@pytest.mark.parametrize("name", NAMES)
def test_an_image_does_not_depend_on_those_after_it(name):
    """The first 3 of 70 images, more than are computed at once, are those of 3."""
    images = made_images(n=70, side=8)
    changed = corrupt(images, name, 2)

    assert torch.equal(changed[:3], corrupt(images[:3], name, 2))


@pytest.mark.parametrize("name", RANDOM)
def test_each_image_gets_chances_of_its_own(name):
    """The same picture 70 times, more than are computed at once, becomes 70 different ones."""
    images = made_images(n=1, side=8).repeat(70, 1, 1, 1)

    assert len(corrupt(images, name, 3).unique(dim=0)) == 70


def test_torchs_random_state_is_left_alone():
    """Corruptions draw from generators of their own."""
    before = torch.random.get_rng_state()
    corrupt(made_images(), "fog", 3)
    corrupt(made_images(), "noise", 3)

    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("colour", "brighter"),
    [
        ((100, 40, 0), (151, 60, 0)),  # 51 more of the brightest, times 1.51 for all
        ((250, 100, 0), (255, 102, 0)),  # no more than there is
        ((0, 0, 0), (51, 51, 51)),  # black has no hue, and becomes grey
    ],
)
def test_brightness_keeps_hue_and_saturation(colour, brighter):
    """Severity 2 adds 0.2 of 255 to the value of HSV."""
    assert torch.equal(corrupt(one_colour(*colour), "brightness", 2), one_colour(*brighter))


def test_contrast_draws_each_colour_to_its_mean():
    """With a tenth of the contrast, 0 and 200 become 90 and 110."""
    image = one_colour(200, 7, 0)
    image[:, 0, :2] = 0
    changed = corrupt(image, "contrast", 4)

    assert changed[0, 0, :, 0].tolist() == [90, 90, 110, 110]
    assert changed[0, 1].unique().tolist() == [7]
    assert changed[0, 2].unique().tolist() == [0]


@pytest.mark.parametrize("name", ["contrast", "blur", "gaussian blur", "jpeg"])
def test_what_has_no_structure_has_none_to_lose(name):
    """An even grey stays as it is, in every severity."""
    grey = one_colour(128, 128, 128, side=48)
    for severity in range(1, 6):
        assert torch.equal(corrupt(grey, name, severity), grey)


def test_noise_has_the_published_spread_scaled_to_the_side():
    """0.08 of 255 at 224 pixels, 160 / 224 of that at 160."""
    for side, spread in ((224, 20.4), (160, 20.4 * 160 / 224)):
        grey = torch.full((2, 3, side, side), 128, dtype=torch.uint8)
        changed = corrupt(grey, "noise", 1).float()

        assert abs(float(changed.std()) - spread) < 0.02 * spread
        assert abs(float(changed.mean()) - 128) < 0.2


def test_speckles_are_in_proportion_to_brightness():
    """Black stays black, and twice as bright varies twice as much."""
    black, dark, light = (one_colour(v, v, v, side=112) for v in (0, 50, 100))
    spreads = [float(corrupt(i, "speckle", 1).float().std()) for i in (black, dark, light)]

    assert spreads[0] == 0
    assert abs(spreads[2] / spreads[1] - 2) < 0.05


def naive_blur(image, kernel):
    """A loop over pixels and kernel, mirrored at the edges."""
    radius, side = len(kernel) // 2, image.shape[-1]
    mirrored = [abs(i) if i < side else 2 * (side - 1) - i for i in range(-radius, side + radius)]
    result = np.zeros(image.shape)
    for y in range(side):
        for x in range(side):
            for down in range(len(kernel)):
                for right in range(len(kernel)):
                    place = mirrored[y + down], mirrored[x + right]
                    result[:, y, x] += kernel[down][right] * image[:, place[0], place[1]]
    return result / np.sum(kernel)


def naive_kernel(radius, value):
    places = range(-radius, radius + 1)
    return [[value(np.hypot(x, y)) for x in places] for y in places]


@pytest.mark.parametrize(
    ("name", "radius", "value"),
    [
        # 10 * 28 / 224 = 1.25 pixels, with an edge of one; 6 * 28 / 224 = 0.75 pixels
        ("blur", 2, lambda far: min(1.0, max(0.0, 1.75 - far))),
        ("gaussian blur", 3, lambda far: np.exp(-(far**2) / (2 * 0.75**2))),
    ],
)
def test_blur_agrees_with_convolving_by_hand(name, radius, value):
    """The transform gives what the naive loop gives."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (1, 3, 28, 28), generator=generator, dtype=torch.uint8)
    expected = naive_blur(images[0].numpy().astype(float), naive_kernel(radius, value))

    assert np.abs(corrupt(images, name, 5)[0].numpy() - expected).max() < 0.51


def test_jpeg_is_that_of_pillow():
    """Packed with the published quality of 7, and read back."""
    images = made_images(n=1)
    packed = BytesIO()
    Image.fromarray(images[0].permute(1, 2, 0).numpy()).save(packed, "JPEG", quality=7)
    expected = np.asarray(Image.open(packed))

    assert np.array_equal(corrupt(images, "jpeg", 5)[0].permute(1, 2, 0).numpy(), expected)


def test_plasma_of_four_points_is_that_computed_by_hand():
    """The centre first, then the edges between it and the corner, each with its own chance."""
    random = 2 * torch.rand((2, 2), generator=torch.Generator().manual_seed(3)) - 1
    centre = random[1, 1]
    across, down = centre / 2 + random[0, 1], centre / 2 + random[1, 0]
    heights = torch.stack([torch.zeros(()), across, down, centre]).reshape(2, 2)
    expected = (heights - heights.min()) / (heights.max() - heights.min())

    assert torch.allclose(plasma(2, 2.0, [torch.Generator().manual_seed(3)])[0], expected)


def test_plasma_is_smoother_the_faster_chance_decays():
    """Neighbours differ less, and a map of any size is cut out of a larger one."""
    steps = []
    for decay in (1.2, 1.6, 3.0):
        clouds = plasma(50, decay, [torch.Generator().manual_seed(3)])
        steps.append(float(clouds.diff(dim=1).abs().mean()))

        assert clouds.shape == (1, 50, 50)
        assert clouds.min() >= 0
        assert clouds.max() <= 1
    assert steps == sorted(steps, reverse=True)


def test_fog_on_black_is_nothing_and_on_white_is_clouds():
    """Images are scaled back to the brightness they had: white c + 1 parts, of which c are fog."""
    black, white = one_colour(0, 0, 0, side=32), one_colour(255, 255, 255, side=32)
    changed = corrupt(white, "fog", 1)

    assert torch.equal(corrupt(black, "fog", 1), black)
    assert changed.min() >= int(255 / 2.5)
    assert changed.max() <= 255
    assert changed.float().std() > 5


def test_settings_are_chosen_by_other_corruptions_than_are_reported():
    """The two sets share nothing, and are all there are."""
    assert set(FOR_TUNING) | set(FOR_TESTING) == set(CORRUPTIONS)
    assert not set(FOR_TUNING) & set(FOR_TESTING)
    assert set(FOR_TESTING) == {"noise", "blur", "brightness", "contrast", "jpeg", "fog"}


def test_a_misspelt_corruption_is_answered_with_the_nearest_one():
    """A typo costs one read of the message."""
    with pytest.raises(UnknownNameError) as error:
        corrupt(made_images(), "contrst", 1)

    assert str(error.value) == (
        "Unknown corruption 'contrst'.\n  where: corrupt\n  fix:   did you mean 'contrast'?"
    )


def test_a_severity_there_is_not_is_refused():
    """Five are published."""
    with pytest.raises(DataError) as error:
        corrupt(made_images(), "noise", 6)

    assert str(error.value) == "A severity of 6.\n  fix:   give one from 0 to 5"


def test_images_that_are_no_bytes_are_refused():
    """Values from 0 to 1 would all be black."""
    with pytest.raises(DataError) as error:
        corrupt(torch.rand(2, 3, 8, 8), "noise", 1)

    assert str(error.value) == (
        "The images are float32 2 x 3 x 8 x 8.\n"
        "  fix:   give bytes (uint8), as rows x 3 x height x width"
    )
