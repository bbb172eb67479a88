"""Drifts: hand-computed values, rows that stay in their places, tables that are left alone."""

import numpy as np
import pytest

from sqrl import as_table
from sqrl.errors import DataError, UnknownNameError

pytest.importorskip("torch", reason="the adapt extra is not installed")
pytest.importorskip("safetensors", reason="the adapt extra is not installed")

from sqrl_paper.cardio import drift
from sqrl_paper.cardio.drifts import cardio_drifts
from sqrl_paper.cardio.inputs import fit_inputs
from sqrl_paper.cardio.task import CATEGORIES, NUMBERS


def made(n_rows, *, seed=0):
    """A table with the columns of cardio."""
    rng = np.random.default_rng(seed)
    pressure = rng.normal(127, 16, n_rows).round()
    return as_table(
        {
            "age": rng.integers(14_000, 23_000, n_rows),
            "height": rng.normal(164, 8, n_rows).round(),
            "weight": rng.normal(74, 14, n_rows).round(),
            "ap_hi": pressure,
            "ap_lo": pressure - 45,
            "gender": rng.integers(1, 3, n_rows),
            "cholesterol": rng.choice([1, 1, 1, 2, 3], n_rows),
            "gluc": rng.integers(1, 4, n_rows),
            "smoke": rng.integers(0, 2, n_rows),
            "alco": rng.integers(0, 2, n_rows),
            "active": rng.integers(0, 2, n_rows),
            "cardio": rng.integers(0, 2, n_rows),
        }
    )


def test_a_shift_adds_to_one_column_and_leaves_the_table_alone():
    """The other columns are the very same, and so is the table it was made of."""
    table = as_table({"ap_hi": [120, 140], "age": [1, 2]})
    drifted = drift.shift(table, "ap_hi", 16.5)

    assert drifted["ap_hi"].values.tolist() == [136.5, 156.5]
    assert table["ap_hi"].values.tolist() == [120.0, 140.0]
    assert drifted["age"] is table["age"]
    assert drifted.names == table.names


def test_a_change_of_unit_multiplies_and_a_stretch_keeps_its_centre():
    """120 mm of mercury are 16 kPa; twice as lively about 130 makes 120 to 110."""
    table = as_table({"ap_hi": [120, 130, 150]})

    assert drift.rescale(table, "ap_hi", 0.133322)["ap_hi"].values.tolist() == pytest.approx(
        [15.99864, 17.33186, 19.9983]
    )
    assert drift.rescale(table, "ap_hi", 2, about=130)["ap_hi"].values.tolist() == [110, 130, 170]


def test_a_missing_column_has_one_value():
    """What a pipeline puts where nothing was delivered."""
    assert drift.fill(as_table({"gluc": [1, 2, 3]}), "gluc", 2)["gluc"].distinct() == (2,)


def test_a_drift_in_part_changes_that_share_of_rows():
    """A quarter of eight rows is two, which the seed decides."""
    before = as_table({"a": [1] * 8, "b": [5] * 8})
    after = drift.shift(before, "a", 1)
    one, same, other = (drift.in_part(before, after, 0.25, seed=seed) for seed in (1, 1, 2))

    assert sorted(one["a"].values.tolist()) == [1] * 6 + [2] * 2
    assert one["a"].values.tolist() == same["a"].values.tolist()
    assert one["a"].values.tolist() != other["a"].values.tolist()
    assert one["b"] is before["b"]
    assert drift.in_part(before, after, 1.0, seed=0)["a"].values.tolist() == [2] * 8
    assert drift.in_part(before, after, 0.0, seed=0)["a"].values.tolist() == [1] * 8


@pytest.mark.parametrize(
    ("share", "ones", "zeros"), [(0.5, 40, 40), (0.25, 20, 60), (0.8, 40, 10), (0.4, 40, 60)]
)
def test_a_class_balance_is_reached_by_leaving_rows_out(share, ones, zeros):
    """As many rows as can be kept of 40 ill and 60 well; none occurs twice, and order stays."""
    table = as_table({"id": list(range(100)), "cardio": [1] * 40 + [0] * 60})
    drifted = drift.rebalance(table, "cardio", share, seed=0)
    ids = drifted["id"].values.tolist()

    assert int(drifted["cardio"].values.sum()) == ones
    assert drifted.n_rows == ones + zeros
    assert ids == sorted(set(ids))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2])
def test_a_class_balance_needs_both_classes(share):
    """A share that no resampling gives is refused."""
    with pytest.raises(DataError) as caught:
        drift.rebalance(as_table({"cardio": [0, 1]}), "cardio", share, seed=0)

    assert str(caught.value) == (
        f"A class balance of {share}.\n  fix:   give a share between 0 and 1"
    )


def test_a_misspelt_column_is_answered_with_the_nearest_one():
    """The same message as everywhere."""
    with pytest.raises(UnknownNameError) as caught:
        drift.shift(as_table({"ap_hi": [1]}, source="cardio"), "aphi", 1)

    assert str(caught.value) == (
        "Unknown column 'aphi'.\n  where: cardio\n  fix:   did you mean 'ap_hi'?"
    )


def test_text_does_not_drift():
    """Numbers of categories are codes, and adding to them would mean nothing."""
    with pytest.raises(DataError) as caught:
        drift.shift(as_table({"pet": ["cat"]}, source="pets"), "pet", 1)

    assert str(caught.value) == (
        "Column 'pet' holds text, and drifts are of numbers.\n"
        "  where: pets\n"
        "  fix:   choose a column of numbers"
    )


def test_every_drift_of_cardio_is_named_and_does_what_its_name_says():
    """At least five drifts in two strengths; values differ from the true ones, labels never do."""
    train, test = made(2000), made(400, seed=1)
    inputs = fit_inputs(train, numbers=NUMBERS, categories=CATEGORIES)
    drifts = cardio_drifts(train, inputs)
    names = [one.name for one in drifts]

    assert len(set(names)) >= 5
    assert all(names.count(name) == 2 for name in names)
    assert len({(one.name, one.strength) for one in drifts}) == len(drifts)
    for one in drifts:
        drifted = one.make(test, 0)
        again = one.make(test, 0)
        changed = [
            name for name in test if (drifted.seen[name].values != drifted.true[name].values).any()
        ]
        assert len(drifted.seen) == len(drifted.true)
        if one.name == "class balance":
            assert changed == []
            assert len(drifted.seen) < len(test)
        else:
            assert drifted.true is test
            assert len(changed) == 1
            assert changed[0] in f"{one.name} {one.strength}"
            assert (drifted.seen[changed[0]].values == again.seen[changed[0]].values).all()


def test_the_drift_of_the_paper_s_task_is_one_spread_of_the_train_rows():
    """`+1 sd` adds the train rows' spread of ap_hi to every row."""
    train, test = made(2000), made(50, seed=1)
    inputs = fit_inputs(train, numbers=NUMBERS, categories=CATEGORIES)
    drifts = {(one.name, one.strength): one for one in cardio_drifts(train, inputs)}
    drifted = drifts["ap_hi shifted", "+1 sd"].make(test, 0)
    by = drifted.seen["ap_hi"].values - drifted.true["ap_hi"].values

    assert by.tolist() == pytest.approx([inputs.spread("ap_hi")] * 50)
    assert 14 < inputs.spread("ap_hi") < 17
