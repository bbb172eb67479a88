"""Rain on images: streaks, a veil and blur, more of each where it rains more."""

import pytest
import torch

from sqrl.errors import DataError
from sqrl_paper.detection.rain import SEVERITIES, add_rain


def scene():
    """Two images of noise, of 40 x 80 pixels."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (2, 3, 40, 80), generator=generator, dtype=torch.uint8)


def test_between_the_streaks_there_is_the_veil():
    """Grey 100 with 28 in a hundred parts of sky: 100 + 0.28 (0.68 * 255 - 100) = 120.6."""
    wet = add_rain(torch.full((1, 3, 64, 96), 100, dtype=torch.uint8), severity=3, seed=0)

    assert wet.min() == 121
    assert wet.flatten().mode().values == 121
    # The brightest streak hides 0.55 of the veiled 120.6: 120.6 + 0.55 (0.86 * 255 - 120.6).
    assert 140 < wet.max() <= 175


def test_streaks_are_longer_down_than_across():
    """What is brighter than the veil comes in lines that fall."""
    wet = add_rain(torch.full((1, 3, 64, 96), 100, dtype=torch.uint8), severity=3, seed=0)
    is_streak = wet[0, 0] > 121
    down = (is_streak[1:] & is_streak[:-1]).sum()
    across = (is_streak[:, 1:] & is_streak[:, :-1]).sum()

    assert down > 2 * across


def test_every_severity_changes_more_than_the_one_before():
    """Contrast goes down, and light goes up."""
    image = scene()
    changed = [add_rain(image, severity=s, seed=0).float() for s in SEVERITIES]

    assert [rain.name for rain in SEVERITIES.values()] == [
        *("drizzle", "light rain", "rain", "heavy rain", "violent rain"),
    ]
    spreads = [one.std().item() for one in changed]
    assert spreads == sorted(spreads, reverse=True)
    assert len(set(spreads)) == 5


def test_rain_is_drawn_by_the_seed_and_the_place():
    """The same again, another for another seed, and drops of its own for each image."""
    image = scene()[:1].repeat(2, 1, 1, 1)
    wet = add_rain(image, severity=4, seed=3)

    assert torch.equal(wet, add_rain(image, severity=4, seed=3))
    assert not torch.equal(wet, add_rain(image, severity=4, seed=4))
    assert not torch.equal(wet[0], wet[1])
    assert torch.equal(wet[:1], add_rain(image[:1], severity=4, seed=3))


def test_the_images_given_stay_dry():
    """A new tensor comes back."""
    image = scene()
    before = image.clone()
    add_rain(image, severity=5, seed=0)

    assert torch.equal(image, before)


def test_an_unknown_severity_is_refused():
    """The answer has the names of those that are."""
    with pytest.raises(DataError) as error:
        add_rain(scene(), severity=6, seed=0)

    assert str(error.value) == (
        "A severity of 6.\n  fix:   give one of: 1 (drizzle), 2 (light rain), 3 (rain), "
        "4 (heavy rain), 5 (violent rain)"
    )


def test_anything_but_bytes_is_refused():
    """Values from 0 to 1 would come out black."""
    with pytest.raises(DataError) as error:
        add_rain(torch.zeros(1, 3, 8, 8), severity=1, seed=0)

    assert str(error.value) == (
        "The images are float32 1 x 3 x 8 x 8.\n"
        "  fix:   give bytes (uint8), as rows x 3 x height x width"
    )
