"""Noise on tables changes what it should, keeps what it must, and leaves the batch alone."""

from collections import namedtuple

import pytest
import torch

from sqrl._adapt.batches import Batch
from sqrl.errors import AdaptError
from sqrl.methods import TableNoise

NAN = float("nan")


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def table(n=200, seed=1):
    return torch.randn(n, 3, generator=chance(seed)) * torch.tensor([1.0, 100.0, 0.0])


def test_noise_is_decided_by_its_generator():
    """The same seed, the same batch; another seed, another; the next draw is another too."""
    given, generator = table(), chance(1)
    first, again, other = (TableNoise()(given, chance(seed)) for seed in (1, 1, 2))
    following = [TableNoise()(given, generator) for _ in range(2)]

    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(following[0], first)
    assert not torch.equal(following[1], first)


def test_the_given_batch_is_left_alone():
    """What is changed is a copy, of the same shape and type."""
    given = table()
    made = TableNoise()(given, chance())

    assert not torch.equal(made, given)
    assert torch.equal(given, table())
    assert (made.shape, made.dtype) == (given.shape, given.dtype)


def test_tensors_are_found_where_batches_have_them():
    """In a Batch, in tuples and lists, by name: always the same inputs."""
    augment, inputs, columns = TableNoise(), table(), {"age": torch.arange(3.0)}
    made = augment(inputs, chance())
    batch = augment(Batch((inputs,), columns, torch.arange(3)), chance())

    assert torch.equal(augment((inputs,), chance())[0], made)
    assert torch.equal(augment([inputs], chance())[0], made)
    assert torch.equal(augment({"x": inputs, "none": None}, chance())["x"], made)
    assert torch.equal(augment(Batch({"x": inputs}), chance()).inputs["x"], made)
    assert torch.equal(batch.inputs[0], made)
    assert batch.columns is columns
    assert batch.rows.tolist() == [0, 1, 2]


def test_noise_on_a_table_is_a_share_of_each_columns_spread():
    """A column that is always the same stays so; the others move by a tenth of their spread."""
    given = table(5000)
    moved = TableNoise(noise=0.1, swap=0)(given, chance()) - given

    torch.testing.assert_close(moved.std(0), 0.1 * given.std(0), rtol=0.05, atol=0)
    assert moved[:, 2].abs().max() == 0


def test_swapped_entries_are_values_of_their_column():
    """About the share asked for, and never another column's."""
    given = torch.arange(3000.0).reshape(1000, 3)
    made = TableNoise(noise=0, swap=0.2)(given, chance())

    assert (made != given).double().mean().item() == pytest.approx(0.2, abs=0.03)
    assert torch.equal(made % 3, given % 3)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_categories_of_a_table_are_swapped_only(dtype):
    """There is nothing between two categories."""
    given = (torch.arange(300) % 4).reshape(100, 3).to(dtype)
    made = TableNoise(noise=9, swap=0.5)(given, chance())

    assert made.dtype == dtype
    assert set(made.flatten().tolist()) <= set(given.flatten().tolist())
    assert not torch.equal(made, given)


def test_missing_values_do_not_spread_by_noise():
    """A nan stays one, and its column is still jittered."""
    given = torch.tensor([[1.0, NAN], [2.0, NAN], [NAN, NAN], [4.0, NAN]])
    made = TableNoise(noise=0.1, swap=0)(given, chance())

    assert torch.equal(made.isnan(), given.isnan())
    assert (made[:2, 0] != given[:2, 0]).all()


def test_a_table_of_one_row_has_no_spread_and_no_other_row():
    """It is left as it is."""
    given = table(1)

    assert torch.equal(TableNoise(noise=1, swap=1)(given, chance()), given)


def test_every_tensor_of_a_table_is_changed():
    """Numbers and categories come in two tensors, as tabular models take them."""
    Inputs = namedtuple("Inputs", "numbers categories")
    given = Inputs(table(), torch.arange(200))
    made = TableNoise(swap=0.5)(given, chance())

    assert type(made) is Inputs
    assert not torch.equal(made.numbers, given.numbers)
    assert not torch.equal(made.categories, given.categories)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TableNoise(noise=-1), "noise is -1.\n  fix:   give 0 or a number above it"),
        (lambda: TableNoise(swap=2), "swap is 2.\n  fix:   give a share from 0 to 1"),
        (
            lambda: TableNoise()({"x": ["a"]}, chance()),
            "There is nothing to augment: a batch (dict) holds no tensors.\n"
            "  fix:   write a function of your own: augment=lambda batch, generator: ...",
        ),
    ],
)
def test_what_cannot_be_augmented_is_refused(call, message):
    """With what was looked for."""
    with pytest.raises(AdaptError) as caught:
        call()

    assert str(caught.value) == message
