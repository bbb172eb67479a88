"""Batches: mini-batches of some rows, drawn at random, or cut as a subclass likes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the adapt extra is not installed")

import sqrl  # noqa: E402


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
