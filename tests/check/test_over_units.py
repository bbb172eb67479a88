"""Rules over units: bounds that show how much units vary, and mini-batches that keep them whole."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import sqrl
from made_scans import bits_of_check, scanned
from sqrl._language.tree import Units
from sqrl.errors import DataError, SchemaError
from sqrl.report._contents import contents
from sqrl.report._text_check import violation_lines

SCHEMA = {
    "unit": "image",
    "rules": [
        "? <= mean(x) <= ? over 20 units",
        "? <= mean(x) <= ? over 100",
        "? <= max(x) <= ? over 20 units",
        "? <= rate(c = a) <= ? over 10 units",
    ],
}


def images(n_units, *, seed, shift=0.0):
    """Boxes whose rows are alike within an image: from one to nine of them, in any order."""
    rng = np.random.default_rng(seed)
    image = rng.permutation(np.repeat(np.arange(n_units), rng.integers(1, 10, n_units)))
    x = rng.normal(size=n_units)[image] + 0.3 * rng.normal(size=image.size) + shift
    c = np.where((rng.random(n_units) < 0.4)[image], "a", "b")
    return {"image": image + 10_000 * seed, "x": x, "c": c}


@pytest.fixture(scope="module")
def rules():
    return sqrl.learn(images(400, seed=1), SCHEMA)


def places(rules):
    """The place of each rule, by its statistic and what it is over."""
    return {(form.statistic, form.over): at for at, form in enumerate(rules.forms())}


def test_bounds_over_units_are_as_wide_as_units_vary(rules):
    """Twenty images have a hundred boxes, which say little more of the mean than twenty would."""
    at = places(rules)
    of_units, of_rows = (
        rules[at["mean", over]].upper - rules[at["mean", over]].lower for over in (Units(20), 100)
    )

    assert of_units > 1.4 * of_rows  # of boxes by themselves it would be about the same


def test_mini_batches_of_a_check_are_whole_units_each_once(rules):
    """Seventy images make three mini-batches of twenty; ten are left out."""
    data = images(70, seed=3)
    found = sqrl.check(rules, data)
    batches = [rows[rows >= 0] for rows in found.batches[Units(20)]]
    units = [set(data["image"][rows].tolist()) for rows in batches]
    values = found.batch_values[places(rules)["mean", Units(20)]]

    assert found.n_batches == {100: len(data["x"]) // 100, Units(10): 7, Units(20): 3}
    assert found.batches[Units(20)].shape[1] == max(map(len, batches))
    assert [len(some) for some in units] == [20, 20, 20]
    assert len(set.union(*units)) == 60
    for rows, some, value in zip(batches, units, values, strict=True):
        every = np.flatnonzero(np.isin(data["image"], list(some)))
        assert sorted(rows.tolist()) == every.tolist()
        assert value == pytest.approx(data["x"][every].mean())


def test_drawn_mini_batches_may_share_units(rules):
    """As many as are asked for; a comparison then knows that they are not independent."""
    data = images(70, seed=3)
    found = sqrl.check(rules, data, batches=9)
    again = sqrl.check(rules, images(70, seed=4), batches=9)
    drawn = [set(data["image"][rows[rows >= 0]].tolist()) for rows in found.batches[Units(20)]]

    assert found.n_batches == {100: 9, Units(10): 9, Units(20): 9}
    assert [len(some) for some in drawn] == [20] * 9
    assert len({frozenset(some) for some in drawn}) == 9
    assert found.overlapping == {100, Units(10), Units(20)}
    assert np.isnan(sqrl.compare(found, again).p_value).all()


def test_a_shift_of_units_is_found_and_what_is_expected_is_what_coverage_says(rules):
    """The p-value is that of units, as of every rule; rows do not say how much units vary."""
    clean, shifted = (sqrl.check(rules, images(200, seed=5, shift=by)) for by in (0.0, 1.0))
    at, by_row = places(rules)["mean", Units(20)], places(rules)["mean", 100]

    assert clean.p_value[at] > 0.05
    assert shifted.p_value[at] < 1e-4
    assert shifted.broken[at] == shifted.applicable[at] == 10
    assert clean.expected[at] == pytest.approx(10 * 0.02)
    assert clean.p_value[at] == clean.p_value[by_row]


@pytest.mark.parametrize("memory", [1 << 20, 1 << 15])
def test_scans_check_the_same_mini_batches_however_few_rows_fit_in_memory(rules, memory):
    """To the last bit, with names of images and with some missing."""
    data = images(90, seed=6)
    names = [None if image % 31 == 5 else f"image {image}" for image in data["image"].tolist()]
    table = pa.table(data | {"image": names})
    for batches in (None, 6):
        found = sqrl.check(rules, table, batches=batches)
        in_parts = scanned(table, ends=(100, 130), rows_at_once=40, memory=memory)

        assert bits_of_check(sqrl.check(rules, in_parts, batches=batches)) == bits_of_check(found)
        assert len(found.batch_values[0])


def test_heads_count_by_probability_in_rows_of_units_alone():
    """With certain predictions the weighted counts are the plain ones, whatever units' sizes."""
    data = images(60, seed=7)
    data |= {f"p_{name}": (data["c"] == name).astype(float) for name in "ab"}
    rule = "? <= precision(x > 0 => c = a) <= ? over 10 units"
    learned = sqrl.learn(data, {"unit": "image", "label": "c", "rules": [rule], "validate": False})
    new = images(60, seed=8)
    new |= {f"p_{name}": (new["c"] == name).astype(float) for name in "ab"}
    found = sqrl.check(learned, new, probabilities={"a": "p_a", "b": "p_b"}, batches=30)

    assert found.broken[0] > 0
    assert found.weighted_broken.tolist() == found.broken.tolist()
    assert found.weighted_applicable.tolist() == found.applicable.tolist()


def test_results_say_units_in_words(rules):
    """The terminal, JSON, the page, and a note where units are few."""
    found = sqrl.check(rules, images(70, seed=3))
    few = sqrl.check(rules, images(15, seed=3))
    lines = " ".join(violation_lines(found))

    assert "7 mini-batches of 10 units, 3 mini-batches of 20 units: " in lines
    assert found.to_dict()["n_batches"] == {"100": 3, "10 units": 7, "20 units": 3}
    assert set(contents(found)["rules"]["over"]) == {"100 rows", "10 units", "20 units"}
    assert (
        "15 units do not fill a mini-batch of 20 units: 2 rules were tested on all rows together"
    ) in few.notes
    assert few.p_value[places(rules)["mean", Units(20)]] >= 0


def test_rules_that_no_schema_gives_a_unit_are_not_checked():
    """A rule typed by hand does not say what a unit is."""
    made = sqrl.RuleSet.from_texts(["0 <= mean(x) <= 1 over 20 units"])
    with pytest.raises(SchemaError) as caught:
        sqrl.check(made, images(30, seed=1))
    named = dataclasses.replace(made, schema=sqrl.Schema(rules=("? <= x <= ?",), unit="image"))

    assert str(caught.value).splitlines()[0] == (
        "'over 20 units' needs a column that says which rows belong together."
    )
    assert sqrl.check(named, images(30, seed=1)).n_batches == {Units(20): 1}


def test_more_units_than_there_are_cannot_be_drawn():
    """Of fewer units no disjoint mini-batch is made, and to draw some is an error."""
    made = sqrl.RuleSet.from_texts(["0 <= mean(x) <= 1 over 20 units"])
    named = dataclasses.replace(made, schema=sqrl.Schema(rules=("? <= x <= ?",), unit="image"))
    with pytest.raises(DataError) as caught:
        sqrl.check(named, images(15, seed=3), batches=2)

    assert sqrl.check(named, images(15, seed=3)).n_batches == {Units(20): 0}
    assert str(caught.value) == (
        "A mini-batch of 20 units cannot be drawn from 15 units.\n"
        "  where: dict\n"
        "  fix:   use 'over 4 units' or less, or give more data"
    )
