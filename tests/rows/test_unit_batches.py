"""Mini-batches of units: which units are drawn, and where their rows are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._data.table import as_table
from sqrl._language import parse
from sqrl._language.forms import read_form
from sqrl._rows import questions, unit_batches
from sqrl._rows.questions import FindUnits
from sqrl._rows.rows import Rows
from sqrl._rows.unit_batches import (
    UnitBatches,
    UnitSizes,
    check_enough_units,
    check_has_unit,
    disjoint_units,
    draw_units,
)
from sqrl._rows.units import unit_keys
from sqrl.errors import DataError, LimitError, SchemaError

UNIT = ("image",)


def rows_of(images):
    return Rows(as_table({"image": images}), {})


def sizes_of(n_units, n_rows=1):
    return UnitSizes(np.arange(n_units) * 7919, np.full(n_units, n_rows))


@given(st.lists(st.integers(0, 6), min_size=1), st.data())
def test_places_are_the_rows_of_a_loop_and_minus_one_where_there_are_no_more(images, data):
    """Every row of each unit once, whatever the units' sizes."""
    rows = rows_of(images)
    key_of = dict(zip(images, unit_keys(rows, UNIT).tolist(), strict=True))
    n_units, n_batches = data.draw(st.integers(1, len(key_of))), data.draw(st.integers(1, 4))
    some = st.permutations(sorted(key_of)).map(lambda order: order[:n_units])
    batches = [data.draw(some) for _ in range(n_batches)]
    wanted = [{row for row, image in enumerate(images) if image in batch} for batch in batches]
    width = max(map(len, wanted))
    keys = np.array([[key_of[image] for image in batch] for batch in batches])
    places = UnitBatches(UNIT, keys, width).places(rows)

    assert places.shape == (n_batches, width)
    for found, expected in zip(places.tolist(), wanted, strict=True):
        assert sorted(found) == [-1] * (width - len(expected)) + sorted(expected)


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(0, 60), st.integers(0, 60))
def test_units_are_found_in_parts_as_in_the_whole(images, first, second):
    """Keys ascending, and how many rows each has."""
    find, rows = FindUnits("train", UNIT), rows_of(images)
    low, high = sorted((first, second))
    states = [
        find.add(Rows(rows.table.take(part), {}), 0, find.start())
        for part in np.split(np.arange(rows.n), [min(low, rows.n), min(high, rows.n)])
    ]
    parts = find.finish(find.merge(find.merge(states[2], states[0]), states[1]))
    whole = find.answer(rows)
    keys = unit_keys(rows, UNIT).tolist()

    assert whole.keys.tolist() == parts.keys.tolist() == sorted(set(keys))
    assert whole.n_rows.tolist() == parts.n_rows.tolist()
    assert whole.n_rows.tolist() == [keys.count(key) for key in sorted(set(keys))]


def test_no_unit_is_twice_in_a_mini_batch_and_all_are_drawn_alike():
    """Without replacement within one, independently between them."""
    drawn = draw_units(sizes_of(50), UNIT, 10, 1000, seed=3, where="rows").units
    times = np.unique(drawn, return_counts=True)[1]

    assert all(len(set(batch)) == 10 for batch in drawn.tolist())
    assert times.size == 50
    assert times.sum() == 10_000
    assert 140 < times.min() < times.max() < 260  # 200 each, standard deviation 13


def test_which_units_are_drawn_depends_on_keys_and_seed_alone():
    """Not on how many rows they have, nor on how many mini-batches follow."""
    few = draw_units(sizes_of(50), UNIT, 10, 3, seed=3, where="rows")
    large = draw_units(sizes_of(50, n_rows=9), UNIT, 10, 5, seed=3, where="rows")
    other = draw_units(sizes_of(50), UNIT, 10, 3, seed=4, where="rows")

    assert few.units.tolist() == large.units[:3].tolist()
    assert few.units.tolist() != other.units.tolist()
    assert (few.width, large.width) == (10, 90)


def test_disjoint_mini_batches_share_no_unit_and_leave_out_what_fills_none():
    """Seven units make two mini-batches of three, and none of eight."""
    sizes = sizes_of(7)
    made = disjoint_units(sizes, UNIT, 3, seed=0, where="rows")

    assert made.units.shape == (2, 3)
    assert np.unique(made.units).size == 6
    assert set(made.units.ravel().tolist()) <= set(sizes.keys.tolist())
    assert disjoint_units(sizes, UNIT, 8, seed=0, where="rows").units.shape == (0, 8)
    assert disjoint_units(sizes, UNIT, 8, seed=0, where="rows").places(rows_of([1])).size == 0


def test_more_units_than_there_are_cannot_be_drawn():
    """The error says how many there are, and a size that fits."""
    with pytest.raises(DataError) as caught:
        check_enough_units(64, 40, "boxes.csv")
    with pytest.raises(DataError) as none:
        draw_units(sizes_of(1), UNIT, 2, 1, seed=0, where="boxes.csv")

    assert str(caught.value) == (
        "A mini-batch of 64 units cannot be drawn from 40 units.\n"
        "  where: boxes.csv\n"
        "  fix:   use 'over 16 units' or less, or give more data"
    )
    assert str(none.value).splitlines()[0] == (
        "A mini-batch of 2 units cannot be drawn from 1 unit."
    )


def test_units_of_very_different_sizes_are_refused_before_memory_is_full(monkeypatch):
    """Mini-batches are filled up to the largest."""
    monkeypatch.setattr(unit_batches, "MOST_PLACES", 5000)
    sizes = UnitSizes(np.arange(10), np.array([1] * 9 + [1000]))
    with pytest.raises(LimitError) as caught:
        draw_units(sizes, UNIT, 4, 20, seed=0, where="boxes.csv")

    assert str(caught.value) == (
        "20 mini-batches of 4 units, the largest of 1,003 rows, take more than 5,000 places.\n"
        "  where: boxes.csv\n"
        "  fix:   ask for fewer mini-batches, or for fewer units in each"
    )
    assert draw_units(sizes, UNIT, 4, 4, seed=0, where="boxes.csv").units.shape == (4, 4)


def test_more_units_than_are_kept_are_refused(monkeypatch):
    """Such a unit is hardly more than a row."""
    monkeypatch.setattr(questions, "MOST_UNITS", 3)
    with pytest.raises(LimitError) as caught:
        FindUnits("train", ("drive", "track")).answer(
            Rows(as_table({"drive": [1, 1, 2, 2], "track": [1, 2, 1, 2]}), {})
        )

    assert str(caught.value) == (
        "There are more than 3 units of drive and track.\n"
        "  fix:   write 'over 256', which is over rows, in place of 'over .. units'"
    )


def test_a_rule_over_units_needs_a_unit():
    """The error says where to name it; over rows none is needed."""
    forms = [read_form(parse(f"? <= mean(width) <= ? over {n}")) for n in ("64", "64 units")]
    with pytest.raises(SchemaError) as caught:
        check_has_unit(forms, ())

    assert str(caught.value) == (
        "'over 64 units' needs a column that says which rows belong together.\n"
        "  where: ? <= mean(width) <= ? over 64 units\n"
        "  fix:   name it in the schema ('unit: image') or with --unit image; "
        "'over 64' is over rows"
    )
    check_has_unit(forms, UNIT)
    check_has_unit(forms[:1], ())
