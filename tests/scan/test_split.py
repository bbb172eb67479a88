"""Which rows are held out, known from their numbers alone."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._data.draws import split_rows
from sqrl._scan import split as split_module
from sqrl._scan.split import STEP, make_split


@settings(deadline=None)
@given(
    n_rows=st.integers(0, 3000),
    share=st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
    seed=st.integers(0, 2**32),
    step=st.sampled_from([7, 64, 1 << 20]),
    places=st.lists(st.integers(0, 3000), max_size=5),
)
def test_the_same_rows_are_held_out_as_in_memory(n_rows, share, seed, step, places):
    """Whatever the rows, the share and the seed; and how many come before a row is a count."""
    train, held_out = split_rows(n_rows, share, seed=seed)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(split_module, "STEP", step)
        split = make_split(n_rows, share, seed=seed)
        before = {row: split.held_out_before(row) for row in [0, n_rows, *places] if row <= n_rows}

    assert np.flatnonzero(split.is_held_out(0, n_rows)).tolist() == held_out.tolist()
    assert (split.n_train, split.n_valid) == (train.size, held_out.size)
    assert before == {row: int((held_out < row).sum()) for row in before}


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 500), max_size=8), seed=st.integers(0, 99))
def test_parts_of_the_rows_know_it_by_themselves(cuts, seed):
    """A part is told the number of its first row, and nothing of the rows before."""
    split = make_split(500, 0.3, seed=seed)
    ends = [0, *sorted(cuts), 500]
    parts = [split.is_held_out(first, last - first) for first, last in pairwise(ends)]

    assert np.concatenate(parts).tolist() == split.is_held_out(0, 500).tolist()


def test_more_rows_than_there_are_between_two_marks():
    """The marks say how many rows are held out before each millionth, and after the last."""
    n_rows = 2 * STEP + 12_345
    held_out = split_rows(n_rows, 0.2, seed=5)[1]
    split = make_split(n_rows, 0.2, seed=5)
    rows = [
        0,
        1,
        STEP - 1,
        STEP,
        STEP + 1,
        2 * STEP,
        n_rows,
    ]

    assert split.n_valid == held_out.size == round(0.2 * n_rows)
    assert [split.held_out_before(r) for r in rows] == np.searchsorted(held_out, rows).tolist()
