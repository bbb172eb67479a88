"""Which cell a row is in, against the definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from sqrl._data.table import as_table
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Name
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import FEW_CUTS, axis_codes, count_batches

SOME = st.sampled_from([None, -2.0, -0.0, 0.0, 0.5, 1.0, 7.0])
LINES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0]), unique=True, max_size=4).map(sorted)


def codes_by_definition(axis, name, rows):
    """The cell of each row, -1 where its value is missing."""
    cells = [naive.cell_of(axis, Name(name), row) for row in rows]
    return [-1 if cell is None else cell for cell in cells]


@given(values=st.lists(SOME, min_size=1, max_size=12), line=LINES, kind=st.booleans())
def test_numbers_fall_between_cuts_or_are_one_of_the_numbers(values, line, kind):
    """Cells are closed above; both zeros are the same."""
    axis = CellAxis(cuts=tuple(line)) if kind else CellAxis(numbers=tuple(line))
    rows = Rows(as_table({"x": [1.5, *values]}), {})
    expected = codes_by_definition(axis, "x", [{"x": value} for value in (1.5, *values)])

    assert axis_codes(rows, Name("x"), axis).tolist() == expected


@given(values=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=12))
def test_words_have_a_cell_or_are_others(values):
    """Words that the axis does not have share the last cell."""
    axis = CellAxis(words=("a", "c", "z"))
    rows = Rows(as_table({"w": ["a", *values]}), {})
    expected = codes_by_definition(axis, "w", [{"w": value} for value in ("a", *values)])

    assert axis_codes(rows, Name("w"), axis).tolist() == expected


def test_many_cuts_are_searched():
    """With the same result as comparing with each."""
    cuts = tuple(float(cut) for cut in range(FEW_CUTS + 5))
    rows = Rows(as_table({"x": [-1.0, 0.0, 3.0, 3.5, 99.0, None]}), {})

    assert axis_codes(rows, Name("x"), CellAxis(cuts=cuts)).tolist() == [
        *[0, 0, 3, 4],
        *[len(cuts), -1],
    ]


def test_a_column_that_is_all_missing_is_in_no_cell():
    """Whatever it would hold: words, or numbers."""
    rows = Rows(as_table({"x": [None, None]}), {})

    for axis in (CellAxis(words=("a",)), CellAxis(cuts=(1.0,)), CellAxis(numbers=())):
        assert axis_codes(rows, Name("x"), axis).tolist() == [-1, -1]


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 5))
def test_cells_of_mini_batches_are_counted(seed, n_batches, n_cells):
    """Rows in no cell are not."""
    codes = np.random.default_rng(seed).integers(-1, n_cells, (n_batches, 7)).astype(np.int32)
    expected = [[int((line == cell).sum()) for cell in range(n_cells)] for line in codes]

    assert count_batches(codes, n_cells).tolist() == expected
