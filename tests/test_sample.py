"""Mini-batches and splits: reproducible, without replacement, evenly drawn."""

import numpy as np
import pytest

from sqrl._sample import draw_batches, split_rows
from sqrl.errors import DataError


def test_a_mini_batch_never_holds_a_row_twice():
    """Rows are drawn without replacement within a mini-batch."""
    batches = draw_batches(100, 60, 50, seed=1, where="rows")

    assert batches.shape == (50, 60)
    assert all(len(set(batch)) == 60 for batch in batches.tolist())
    assert batches.min() >= 0
    assert batches.max() < 100


def test_mini_batches_are_the_same_for_the_same_seed_and_differ_for_another():
    """Nothing but the seed decides which rows are drawn."""
    one = draw_batches(1000, 64, 3, seed=5, where="rows")
    same = draw_batches(1000, 64, 3, seed=5, where="rows")
    other = draw_batches(1000, 64, 3, seed=6, where="rows")

    assert (one == same).all()
    assert not (one == other).all()
    assert not (one[0] == one[1]).all()


def test_every_row_is_drawn_as_often_as_chance_has_it():
    """Counts of draws follow the binomial: mean and variance within five standard errors."""
    n_rows, size, n_batches = 500, 100, 2000
    counts = np.bincount(
        draw_batches(n_rows, size, n_batches, seed=0, where="rows").ravel(), minlength=n_rows
    )
    share = size / n_rows
    variance = n_batches * share * (1 - share)

    assert counts.mean() == n_batches * share
    assert abs(counts.var() / variance - 1) < 5 * np.sqrt(2 / n_rows)
    drawn = draw_batches(50, 25, 400, seed=2, where="rows").tolist()
    pairs = np.corrcoef([[row in batch for batch in drawn] for row in (3, 4)])
    assert abs(pairs[0, 1]) < 5 / np.sqrt(400)


def test_a_mini_batch_larger_than_the_data_is_refused_with_a_size_that_fits():
    """The message says how many rows there are and what to write instead."""
    with pytest.raises(DataError) as caught:
        draw_batches(1000, 4096, 1, seed=0, where="small.csv")

    assert str(caught.value) == (
        "A mini-batch of 4,096 rows cannot be drawn from 1,000 rows.\n"
        "  where: small.csv\n"
        "  fix:   use 'over 256' or less, or give more data"
    )


def test_a_split_gives_every_row_to_exactly_one_side():
    """Nothing learned from has been held out, and nothing is lost."""
    fit, held_out = split_rows(1003, 0.2, seed=9)

    assert sorted([*fit.tolist(), *held_out.tolist()]) == list(range(1003))
    assert held_out.size == 201
