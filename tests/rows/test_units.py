"""Units: keys of rows that belong together, and which of them are held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._data.table import as_table
from sqrl._rows.rows import Rows
from sqrl._rows.units import held_out_units, is_among, too_few_units, unit_keys


def test_rows_have_the_same_key_just_where_all_columns_agree():
    """Words, numbers and missing values tell units apart; several columns do together."""
    drive, track = [1, 1, 1, 2, None, None], ["a", "a", "b", "a", "a", "a"]
    keys = unit_keys(Rows(as_table({"drive": drive, "track": track}), {}), ["drive", "track"])
    names = list(zip(drive, track, strict=True))

    for i in range(6):
        for j in range(6):
            assert (keys[i] == keys[j]) == (names[i] == names[j])


@given(st.permutations(range(20)), st.integers(1, 19))
def test_keys_and_held_out_units_do_not_depend_on_the_rows_order(order, cut):
    """Parts of a table give the same keys as the whole, in whatever order rows stand."""
    table = as_table({"image": [f"i{k % 7}" for k in range(20)]})
    whole = unit_keys(Rows(table, {}), ["image"])
    shuffled = unit_keys(Rows(table.take(np.array(order)), {}), ["image"])
    first = unit_keys(Rows(table.take(np.arange(cut)), {}), ["image"])

    assert shuffled.tolist() == whole[list(order)].tolist()
    assert first.tolist() == whole[:cut].tolist()


@pytest.mark.parametrize(
    ("n", "share", "held"), [(2, 0.2, 1), (2, 0.9, 1), (10, 0.2, 2), (100, 0.25, 25)]
)
def test_a_share_of_the_units_is_held_out_and_never_none_or_all(n, share, held):
    """Two units are one to learn from and one held out."""
    keys = np.arange(n) * 7919
    chosen = held_out_units(keys, share, seed=3)

    assert chosen.size == held
    assert np.isin(chosen, keys).all()
    assert (np.diff(chosen) > 0).all()


def test_other_seeds_hold_out_other_units():
    """And every unit is held out about equally often."""
    keys = np.arange(50)
    times = np.zeros(50)
    for seed in range(400):
        times[held_out_units(keys, 0.2, seed=seed)] += 1

    assert times.sum() == 4000
    assert times.min() > 40
    assert times.max() < 130


@given(st.lists(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_is_among_is_in(keys, chosen):
    """The sorted search gives what `in` gives."""
    found = is_among(np.array(keys, np.int64), np.array(sorted(chosen), np.int64))

    assert found.tolist() == [key in chosen for key in keys]


def test_too_few_units_say_how_many_and_what_to_do():
    """The text of the error."""
    assert str(too_few_units(1, ["drive", "track"], "boxes.csv")) == (
        "There is 1 unit of drive and track: too few to hold some out for validation.\n"
        "  where: boxes.csv\n"
        "  fix:   name a column with more values as the unit, or give a validation file (--valid)"
    )
