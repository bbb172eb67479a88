"""Augmentations change what they should, keep what they must, and leave the batch alone."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl import Batch
from sqrl.errors import AdaptError
from sqrl_paper.shared.augmentations import ImageNoise, TokenNoise, WordNoise

NAN = float("nan")
PAD, START, END, MASK = 0, 101, 102, 103


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=6, dtype=torch.float32):
    made = torch.rand(n, 3, 8, 10, generator=chance(1))
    return made.to(dtype) if dtype.is_floating_point else (255 * made).to(dtype)


def tokens(n=40, length=12):
    """Rows of START words END PAD..., and their attention masks."""
    ids = torch.randint(200, 300, (n, length), generator=chance(1))
    ids[:, 0], ids[:, 8], ids[:, 9:] = START, END, PAD
    return ids, (ids != PAD).long()


MADE = {
    "image": (ImageNoise(), images()),
    "token": (TokenNoise(MASK, (START, END)), tokens()[0]),
    "word": (WordNoise(drop=0.3, swap=0.3), ["a very good film indeed", "not so good an end"] * 5),
}


def copied(value):
    return value.clone() if isinstance(value, torch.Tensor) else list(value)


def equal(one, other):
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


@pytest.mark.parametrize("name", MADE)
def test_an_augmentation_is_decided_by_its_generator(name):
    """The same seed, the same batch; another seed, another; the next draw is another too."""
    augment, batch = MADE[name]
    first, again, other = (augment(batch, chance(seed)) for seed in (1, 1, 2))
    generator = chance(1)
    following = [augment(batch, generator) for _ in range(2)]

    assert equal(first, again)
    assert not equal(first, other)
    assert equal(following[0], first)
    assert not equal(following[1], first)


@pytest.mark.parametrize("name", MADE)
def test_an_augmentation_leaves_the_given_batch_alone(name):
    """What is changed is a copy."""
    augment, batch = MADE[name]
    before = copied(batch)
    made = augment(batch, chance())

    assert not equal(made, batch)
    assert equal(batch, before)


@pytest.mark.parametrize("name", MADE)
def test_an_augmentation_finds_inputs_where_batches_have_them(name):
    """In a Batch, in tuples and lists, by name: always the same inputs."""
    augment, inputs = MADE[name]
    made = augment(inputs, chance())
    key = "input_ids" if name == "token" else "x"
    columns = {"age": torch.arange(3.0)}
    batch = augment(Batch((inputs,), columns, torch.arange(3)), chance())

    assert equal(augment((inputs,), chance())[0], made)
    assert equal(augment([inputs], chance())[0], made)
    assert equal(augment({key: inputs, "none": None}, chance())[key], made)
    assert equal(augment(Batch({key: inputs}), chance()).inputs[key], made)
    assert equal(batch.inputs[0], made)
    assert batch.columns is columns
    assert batch.rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["image", "token"])
def test_an_augmentation_keeps_shape_and_type(name):
    """A model takes what it took."""
    augment, batch = MADE[name]
    made = augment(batch, chance())

    assert made.shape == batch.shape
    assert made.dtype == batch.dtype


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8]
)
def test_images_stay_within_their_range(dtype):
    """However bright, a value is between the least and the greatest of its channel."""
    given = images(dtype=dtype)
    made = ImageNoise(brightness=1, contrast=1)(given, chance())
    axes = (0, 2, 3)

    assert made.dtype == dtype
    assert not torch.equal(made, given)
    assert (made.double().amin(axes) >= given.double().amin(axes)).all()
    assert (made.double().amax(axes) <= given.double().amax(axes)).all()


def test_images_are_flipped_at_the_rate_asked_for():
    """Each image by itself, and exactly its mirror image."""
    given = images(400)
    made = ImageNoise(flip=0.25, shift=0, brightness=0, contrast=0)(given, chance())
    is_same = (made - given).abs().amax((1, 2, 3)) < 1e-6
    is_mirror = (made - given.flip(3)).abs().amax((1, 2, 3)) < 1e-6

    assert (is_same | is_mirror).all()
    assert is_mirror.double().mean().item() == pytest.approx(0.25, abs=0.07)


def test_images_are_shifted_within_their_frame():
    """By hand: a shift of at most one place of a row 0 1 2 3, its edges repeated."""
    given = torch.arange(4.0).reshape(1, 1, 1, 4).expand(60, 1, 1, 4)
    made = ImageNoise(flip=0, shift=0.25, brightness=0, contrast=0)(given, chance())

    assert {tuple(row) for row in made[:, 0, 0].tolist()} == {
        (0.0, 1.0, 2.0, 3.0),
        (1.0, 2.0, 3.0, 3.0),
        (0.0, 0.0, 1.0, 2.0),
    }


def test_brightness_and_contrast_are_affine_for_each_image():
    """Away from the ends of the range the values of an image keep their order and proportions."""
    given = images(8) * 0.2 + 0.4
    given[0, :, 0, 0], given[0, :, 0, 1] = 0.0, 1.0
    made = ImageNoise(flip=0, shift=0, brightness=0.2, contrast=0.2)(given, chance())
    for before, after in zip(given[1:], made[1:], strict=True):
        slope = ((after - after.mean()) / (before - before.mean())).flatten()

        torch.testing.assert_close(slope, slope[:1].expand_as(slope), rtol=1e-3, atol=0)
        assert 0.8 <= slope[0] <= 1.2
        assert abs((after.mean() - before.mean()).item()) <= 0.2


@given(
    drop=st.floats(0, 1),
    swap=st.floats(0, 1),
    seed=st.integers(0, 50),
    has_mask=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_special_tokens_and_padding_are_kept(drop, swap, seed, has_mask):
    """In their places; what else is there are the row's own words or the mask token."""
    ids, mask = tokens()
    special = (START, END) if has_mask else (START, END, PAD)
    given = {"input_ids": ids, **({"attention_mask": mask} if has_mask else {})}
    made = TokenNoise(MASK, special, drop=drop, swap=swap)(given, chance(seed))["input_ids"]
    is_kept = torch.isin(ids, torch.tensor([START, END, PAD]))

    assert torch.equal(made[is_kept], ids[is_kept])
    assert not torch.isin(made[~is_kept], torch.tensor([START, END, PAD])).any()
    for before, after in zip(ids.tolist(), made.tolist(), strict=True):
        assert Counter(token for token in after if token != MASK) <= Counter(before)


def test_without_dropping_a_text_keeps_all_its_tokens():
    """Neighbours change places, and every token is still there, one place away at most."""
    ids, mask = tokens()
    made = TokenNoise(MASK, (START, END), drop=0, swap=1)((ids, mask), chance())

    assert torch.equal(made[0].sort(1).values, ids.sort(1).values)
    assert (made[0][:, 1:8] != ids[:, 1:8]).double().mean() > 0.5
    assert made[1] is mask


def test_tokens_are_dropped_at_the_rate_asked_for():
    """Of those that may be."""
    ids, mask = tokens(2000)
    made = TokenNoise(MASK, (START, END), drop=0.3, swap=0)((ids, mask), chance())[0]

    assert (made[:, 1:8] == MASK).double().mean().item() == pytest.approx(0.3, abs=0.02)


def test_words_change_places_in_pairs():
    """By hand, with every pair swapped and nothing left out."""
    assert WordNoise(drop=0, swap=1)(["a b c  d e"], chance()) == ["b a d c e"]


def test_a_text_is_never_emptied():
    """The word with the greatest chance stays; a text without words is as it was."""
    made = WordNoise(drop=1, swap=0)(("one two three", "one", ""), chance())

    assert type(made) is tuple
    assert [len(text.split()) for text in made] == [1, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ImageNoise()(torch.zeros(2, 3), chance()),
            "There is nothing to augment: a batch (Tensor) holds no images, "
            "tensors of the shape (rows, channels, height, width).\n"
            "  fix:   write a function of your own: augment=lambda batch, generator: ...",
        ),
        (
            lambda: WordNoise()({"x": torch.zeros(2)}, chance()),
            "There is nothing to augment: a batch (dict) holds no lists of strings.\n"
            "  fix:   write a function of your own: augment=lambda batch, generator: ...",
        ),
        (
            lambda: TokenNoise(MASK)({"x": torch.zeros(2)}, chance()),
            "There is nothing to augment: a batch (dict) holds no token ids.\n"
            "  fix:   give a tensor of ids, a dict with 'input_ids', or use WordNoise for text",
        ),
        (
            lambda: TokenNoise(MASK)(torch.zeros(2, 3), chance()),
            "Token ids are torch.float32 (2, 3).\n"
            "  fix:   give whole numbers of the shape (rows, places)",
        ),
        (lambda: ImageNoise(flip=NAN), "flip is nan.\n  fix:   give a share from 0 to 1"),
        (lambda: TokenNoise(MASK, drop=-1), "drop is -1.\n  fix:   give a share from 0 to 1"),
        (lambda: WordNoise(swap=-1), "swap is -1.\n  fix:   give a share from 0 to 1"),
    ],
)
def test_what_cannot_be_augmented_is_refused(call, message):
    """With what was looked for."""
    with pytest.raises(AdaptError) as caught:
        call()

    assert str(caught.value) == message
