"""validate: {holds: ..}: rules are kept only if held-out truth is shown to keep them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

import oracles
import sqrl
from made_scans import QUICK, SCHEMAS, bits, layouts, outcome, scanned, tables
from sqrl._data.draws import draw_batches, split_rows
from sqrl._learn.validity import (
    MORE,
    Limit,
    fewest_samples,
    is_shown,
    lower_limits,
    unit_limit,
)
from sqrl.errors import SchemaError

SHARES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
CONFIDENCES = st.sampled_from([0.9, 0.95, 0.99])
CLASS = {"let": {"Y": "values(y)"}, "rules": ["? <= x <= ? => y = Y"], "label": "y"}


def two_classes(n=2000, seed=0):
    """Values that say a in nine rows of ten, and of which high ones are often those of b."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], n, p=[0.9, 0.1])
    x = np.where(y == "a", rng.normal(0, 1, n), rng.normal(1, 1.5, n))
    return {"x": x.round(3), "y": y, "drive": np.arange(n) // 100}


@settings(QUICK, max_examples=100)
@given(n=st.integers(0, 150), data=st.data(), holds=SHARES, confidence=CONFIDENCES)
def test_the_decision_is_that_of_exact_fractions(n, data, holds, confidence):
    """Sums of binomial probabilities with whole numerators, whatever the counts."""
    broken = data.draw(st.integers(0, n))
    found = is_shown(np.array([n]), np.array([broken]), holds, confidence)

    assert found.tolist() == [oracles.lower_limit_reaches(n, broken, holds, confidence)]


@settings(QUICK, max_examples=50)
@given(n=st.integers(1, 150), data=st.data(), confidence=CONFIDENCES)
def test_the_limit_is_the_share_at_which_so_few_broken_are_as_unlikely(n, data, confidence):
    """By definition: the tail probability at the limit is 1 - confidence; 0 where none is kept."""
    broken = data.draw(st.integers(0, n))
    (lower,) = lower_limits(np.array([n]), np.array([broken]), confidence)
    tail = sum(
        math.comb(n, k) * (1 - lower) ** k * lower ** (n - k) for k in range(min(broken, n) + 1)
    )

    # Limits are rounded to nine digits; the tail changes by at most n times as much.
    assert tail == pytest.approx(1 - confidence, abs=n * 1e-9) if broken < n else lower == 0


def test_how_many_rows_it_takes_to_show_something():
    """0.95 ** 59 is the first power below 0.05."""
    assert 0.95**59 < 0.05 < 0.95**58
    assert fewest_samples(0.95, 0.95) == 59


def test_the_limit_of_units_by_hand():
    """Ten rows in each of three units, of which one breaks 3: the t limit of a ratio, df 2."""
    n_units, lower = unit_limit(np.array([[10, 0], [10, 0], [10, 3], [0, 0]]), 0.95)
    error = math.sqrt(3 / 2 * (1 + 1 + 4)) / 30  # residuals of kept rows: 1, 1 and -2
    t = 2.919985580353726  # of two degrees of freedom, from a table

    assert (n_units, lower) == (3, pytest.approx(0.9 - t * error, abs=1e-8))
    assert unit_limit(np.array([[500, 0]]), 0.95) == (1, 0.0)


def test_rules_that_imply_a_class_are_kept_as_a_loop_over_held_out_rows_says():
    """Each held-out row of the body counts; status, counts and reasons are told."""
    data = two_classes()
    _, rest = split_rows(len(data["x"]), 0.2, seed=0)
    plain = sqrl.learn(data, CLASS)
    every = sqrl.learn(data, CLASS, holds=0.5, keep="all")
    status = {rule.text: rule.status for rule in every}
    for rule in plain:
        body, _, name = rule.text.rpartition(" => y = ")
        inside = [row for row in rest if eval(body, {"x": data["x"][row]})]  # as Python reads it
        broken = sum(data["y"][row] != name for row in inside)
        kept = oracles.lower_limit_reaches(len(inside), broken, 0.5, 0.95)

        assert status[rule.text] == ("selected" if kept else "unproven")
    assert every.provenance.counts["unproven"] == len(every.provenance.unproven) == 1
    assert "unproven" not in plain.provenance.counts
    assert plain.provenance.unproven is UNSET


def test_a_reason_says_how_many_rows_break_the_rule():
    """What, how often, and what was asked for."""
    (why,) = sqrl.learn(two_classes(), CLASS, holds=0.5).provenance.unproven

    assert why == (
        "-2.186 <= x < -2.134 or 2.402 < x <= 4.923 => y = b: 3 of 9 held-out rows break it: it "
        "holds on at least 0.34 of them (confidence 0.95), not on 0.5"
    )


def test_a_rule_that_applies_to_no_held_out_row_is_unproven():
    """Nothing shows that it holds, and the reason says so."""
    train = {"x": [1.0] * 60 + [9.0] * 60, "y": ["a"] * 60 + ["b"] * 60}
    valid = {"x": [1.0] * 80 + [5.0], "y": ["a"] * 80 + ["b"]}
    schema = CLASS | {"validate": {"holds": 0.95, "epsilon": 1}}
    text = Limit(0, 0, 0.0, "row").tell(0.95, 0.95)
    rules = sqrl.learn(train, schema, valid=valid, keep="all")

    assert text == "no held-out row is one that it applies to"
    assert {rule.text: rule.status for rule in rules} == {
        "1 <= x <= 1 => y = a": "selected",
        "9 <= x <= 9 => y = b": "unproven",  # with an epsilon of 1 bounds need not agree
    }


def test_rules_about_mini_batches_are_kept_by_the_share_of_held_out_ones_within_their_bounds():
    """By a loop over the mini-batches that a validation draws, at least as many as it takes."""
    data = two_classes()
    schema = {"rules": ["? <= mean(x) <= ? over 64"], "validate": {"epsilon": 1}}
    (rule,) = sqrl.learn(data, schema)
    _, rest = split_rows(len(data["x"]), 0.2, seed=0)
    for holds in (0.5, 0.9, 0.99):
        n = max(50, MORE * fewest_samples(holds, 0.95))
        batches = draw_batches(rest.size, 64, n, seed=1, where="rows")
        means = [math.fsum(data["x"][rest[rows]]) / 64 for rows in batches]
        broken = sum(not rule.lower <= mean <= rule.upper for mean in means)
        kept = sqrl.learn(data, schema, holds=holds)

        assert len(kept) == oracles.lower_limit_reaches(n, broken, holds, 0.95)
    assert len(kept) == 0


def test_rows_of_a_unit_are_no_sample():
    """Forty rows of each drive, and one held-out drive of fifteen that breaks the rule throughout.

    If rows were a sample, 40 of 600 broken ones would show that nine in ten hold; drives do not.
    """
    drive = np.repeat(np.arange(75), 40)
    schema = {"rules": ["? <= x <= ?"], "validate": {"holds": 0.9, "epsilon": 1}, "unit": "drive"}
    train = {"x": np.tile(np.arange(40.0), 75), "drive": drive}
    valid = {"x": np.tile(np.arange(10.0, 30.0), 30), "drive": np.repeat(np.arange(15), 40)}
    valid["x"][:40] = 99.0
    rows = {name: schema[name] for name in ("rules", "validate")}
    (why,) = sqrl.learn(train, schema, valid=valid).provenance.unproven

    assert oracles.lower_limit_reaches(600, 40, 0.9, 0.95)
    assert len(sqrl.learn(train, rows, valid=valid)) == 1
    assert why.endswith(
        "40 of 600 held-out rows in 15 units break it: it holds on at least 0.81 of them "
        "(confidence 0.95), not on 0.9"
    )


@pytest.mark.parametrize("form", ["class", "conditional", "facts", "logic", "batch", "bucketed"])
@settings(QUICK, max_examples=3)
@given(table=tables(), layout=layouts(), holds=st.sampled_from([0.3, 0.7]))
def test_scans_keep_what_memory_keeps(form, table, layout, holds):
    """To the last bit, with the same reasons."""

    def learned(data):
        return outcome(lambda: bits(sqrl.learn(data, SCHEMAS[form], holds=holds, keep="all")))

    assert learned(scanned(table, **layout)) == learned(table)


def test_what_is_asked_for_is_the_same_in_a_schema_and_in_python():
    """And is kept with the rules."""
    data = two_classes()
    asked = CLASS | {"validate": {"holds": 0.5}}
    written, given_apart = sqrl.learn(data, asked), sqrl.learn(data, CLASS, holds=0.5)

    assert [rule.text for rule in written] == [rule.text for rule in given_apart]
    assert written.schema == given_apart.schema
    assert written.schema.validate.holds == 0.5
    assert "validate: {holds: 0.5}" in written.schema.to_yaml()


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        (
            CLASS | {"validate": {"holds": 1.0}},
            {},
            "validate.holds is 1.0.\n  where: schema, validate.holds\n"
            "  fix:   make it between 0 and 1, such as 0.95",
        ),
        (
            CLASS | {"validate": {"confidence": 0}},
            {},
            "validate.confidence is 0.0.\n  where: schema, validate.confidence\n"
            "  fix:   make it between 0 and 1, such as 0.95",
        ),
        (
            CLASS | {"validate": False},
            {"holds": 0.95},
            "holds=0.95 needs held-out rows, but the schema says 'validate: false'.\n"
            "  fix:   leave that line out, or holds",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(schema, options, message):
    """With the key, and what to write."""
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(two_classes(50), schema, **options)

    assert str(caught.value) == message
