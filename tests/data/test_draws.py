"""Mini-batches and splits: reproducible, without replacement, evenly drawn."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sqrl._data.draws import (
    SMALL,
    draw_batches,
    held_out_threshold,
    keyed_sum,
    row_keys,
    shuffle_rows,
    shuffled_batches,
    split_rows,
)
from sqrl.errors import DataError

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
seeds = st.integers(0, 2**40)
counts_of_rows = st.one_of(st.integers(1, 300), st.integers(SMALL - 1, SMALL + 300))


def naive_mix(z):
    """SplitMix64's finaliser, in whole numbers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def naive_key(row, seed, draw):
    """The key of one row."""
    return naive_mix(naive_mix(seed * GOLDEN + draw & MASK) + (row + 1) * GOLDEN & MASK)


def naive_order(n_rows, seed, draw):
    """All rows by their keys."""
    return np.argsort(row_keys(0, n_rows, seed=seed, draw=draw), kind="stable")


@settings(deadline=None)
@given(st.integers(0, 2**50), seeds, st.integers(0, 2**33), st.sampled_from([5, SMALL + 5]))
def test_keys_are_those_of_the_definition(first, seed, draw, n_rows):
    """In numpy for a few rows and compiled for many: the same for each row, wherever it stands."""
    keys = row_keys(first, n_rows, seed=seed, draw=draw)

    assert keys.dtype == np.uint64
    for place in (0, 1, n_rows - 1):
        assert keys[place] == naive_key(first + place, seed, draw)


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 2**50), st.data())
def test_keyed_sums_are_those_of_the_definition(n_rows, first, data):
    """What is not known adds nothing."""
    words = data.draw(st.lists(st.integers(0, MASK), min_size=n_rows, max_size=n_rows))
    known = data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    found = keyed_sum(np.array(words, np.uint64), np.array(known), first, seed=1, draw=2)

    assert found == sum(
        naive_mix(word + naive_key(first + row, 1, 2) & MASK)
        for row, (word, is_known) in enumerate(zip(words, known, strict=True))
        if is_known
    ) % (MASK + 1)


@settings(max_examples=50, deadline=None)
@given(counts_of_rows, seeds, st.data())
def test_a_mini_batch_is_the_rows_of_the_smallest_keys(n_rows, seed, data):
    """However few of the keys are looked at on the way."""
    size = data.draw(st.integers(1, min(n_rows, 5000)) | st.integers(1, n_rows))
    batches = draw_batches(n_rows, size, 2, seed=seed, where="rows")

    for batch in (0, 1):
        smallest = naive_order(n_rows, seed, batch + 1)[:size]
        assert batches[batch].tolist() == sorted(smallest.tolist())


@settings(max_examples=50, deadline=None)
@given(counts_of_rows, seeds, st.floats(0.0, 1.0))
@example(SMALL + 1, 0, 1.0)
@example(4, 0, 0.0)
def test_the_threshold_holds_out_the_rows_of_the_split(n_rows, seed, share):
    """Whether a row is held out is known from its number alone."""
    threshold = held_out_threshold(n_rows, share, seed=seed)
    fit, held_out = split_rows(n_rows, share, seed=seed)
    n_held_out = round(n_rows * share)

    smallest = naive_order(n_rows, seed, 0)[:n_held_out]
    assert held_out.tolist() == sorted(smallest.tolist())
    below = row_keys(0, n_rows, seed=seed, draw=0) <= threshold
    assert np.flatnonzero(below).tolist() == held_out.tolist()
    assert np.flatnonzero(~below).tolist() == fit.tolist()


@settings(max_examples=50, deadline=None)
@given(counts_of_rows, seeds, st.data())
def test_shuffled_mini_batches_are_slices_of_the_shuffled_rows(n_rows, seed, data):
    """Any window of them, found without sorting the rest."""
    size = data.draw(st.integers(1, min(n_rows, 50)) | st.integers(1, n_rows))
    fit = n_rows // size
    begin = data.draw(st.integers(0, fit))
    end = data.draw(st.integers(begin, min(fit, begin + 5)) | st.integers(begin, fit))
    found = shuffled_batches(n_rows, size, range(begin, end), seed=seed)

    whole = shuffle_rows(n_rows, seed=seed)[: fit * size].reshape(fit, size)
    assert found.tolist() == whole[begin:end].tolist()


def test_which_rows_are_drawn_stays_the_same_from_version_to_version():
    """Rules can be learned again, and mini-batches be drawn again, years later."""
    large = draw_batches(1_000_000, 3, 2, seed=7, where="rows")

    assert draw_batches(9, 3, 2, seed=7, where="rows").tolist() == [[2, 5, 7], [0, 6, 7]]
    assert large.tolist() == [[42845, 63160, 399118], [38672, 887867, 967772]]
    assert split_rows(12, 0.25, seed=7)[1].tolist() == [0, 5, 11]
    assert shuffle_rows(6, seed=7).tolist() == [1, 4, 2, 5, 0, 3]


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
