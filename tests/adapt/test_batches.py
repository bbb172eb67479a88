"""Batches: mini-batches of some rows, drawn at random, or cut as a subclass likes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")

import sqrl  # noqa: E402
from sqrl.errors import AdaptError  # noqa: E402


def made(n=7, **options):
    """A number for each row, in the inputs and in a column."""
    return sqrl.Batches(torch.arange(n), {"row": np.arange(n)}, **options)


def test_rows_that_are_taken_come_in_their_order_with_their_columns():
    """Inputs, columns and places belong together."""
    batch = made(size=2).take(torch.tensor([5, 0, 5]))

    assert batch.inputs.tolist() == [5, 0, 5]
    assert batch.columns["row"].tolist() == [5, 0, 5]
    assert batch.rows.tolist() == [5, 0, 5]


def test_mini_batches_are_drawn_without_replacement_and_independently():
    """No row twice in one; over many of them each row equally often."""
    drawn = [batch.rows.tolist() for batch in made(size=3).draw(2000, seed=0)]
    counts = np.bincount(np.concatenate(drawn), minlength=7)

    assert {len(set(rows)) for rows in drawn} == {3}
    assert len({tuple(rows) for rows in drawn}) == 35  # all sets of 3 of 7
    assert np.abs(counts / 2000 - 3 / 7).max() < 0.05  # 4.5 standard deviations of a share


def test_the_seed_alone_says_what_is_drawn():
    """Neither the seed of the batches nor how often they were gone through."""
    batches = made(size=3, seed=5)
    first = [batch.rows.tolist() for batch in batches.draw(4, seed=1)]
    list(batches)

    assert [batch.rows.tolist() for batch in batches.draw(4, seed=1)] == first
    assert [batch.rows.tolist() for batch in made(size=3).draw(4, seed=1)] == first
    assert [batch.rows.tolist() for batch in batches.draw(4, seed=2)] != first


def test_fewer_rows_than_a_mini_batch_are_all_drawn():
    """As where they are gone through."""
    drawn = [sorted(batch.rows.tolist()) for batch in made(n=2, size=9).draw(3, seed=0)]

    assert drawn == [[0, 1]] * 3


def test_a_subclass_cuts_mini_batches_its_own_way():
    """It is asked anew each time, with another seed if rows are shuffled anew."""
    seeds = []

    class Halves(sqrl.Batches):
        def cut(self, seed):
            seeds.append(seed)
            yield from torch.arange(self.n_rows).chunk(2)

    batches = Halves(torch.arange(4), size=2, seed=7)

    assert [batch.inputs.tolist() for batch in batches] == [[0, 1], [2, 3]]
    list(batches)
    list(batches.from_start())
    assert seeds == [7, 8, 7]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_arrays_are_inputs_as_tensors_are(dtype):
    """By themselves, as arguments and by keyword; doubles in the precision that models have."""
    array = (np.arange(12) % 2).reshape(6, 2).astype(dtype)
    array.flags.writeable = False
    table = {"row": np.arange(6)}
    one = sqrl.Batches(array[::-1], table, size=4).take(torch.tensor([5, 0]))
    two = sqrl.Batches([array, None], table, size=4).take(torch.tensor([1]))
    named = sqrl.Batches({"x": array}, table, size=4).take(torch.tensor([1]))
    expected = torch.float32 if dtype is np.float64 else torch.from_numpy(array.copy()).dtype

    assert one.inputs.tolist() == array[::-1][[5, 0]].tolist()
    assert {one.inputs.dtype, two.inputs[0].dtype, named.inputs["x"].dtype} == {expected}
    assert two.inputs[1] is None
    assert named.inputs["x"].tolist() == array[[1]].tolist()


def test_frames_are_inputs_too():
    """A frame of numbers is what most people have."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})

    assert next(sqrl.Batches(frame, frame, size=2).in_order()).inputs.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (
            [[1.0, 2.0], [3.0, 4.0]],
            "A part of the model's inputs is a list.\n"
            "  where: inputs\n"
            "  fix:   give torch.tensor(inputs), with a row for each sample",
        ),
        (
            np.array([["a"], ["b"]]),
            "The model's inputs hold <U1, not numbers.\n"
            "  where: inputs\n"
            "  fix:   encode words and dates as numbers; what rules speak of belongs in the table",
        ),
    ],
)
def test_inputs_that_no_model_takes_are_refused(inputs, expected):
    """Word for word."""
    with pytest.raises(AdaptError) as raised:
        sqrl.Batches(inputs, {"row": [1, 2]}, size=2)

    assert str(raised.value) == expected
