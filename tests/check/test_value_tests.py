"""Tests of statistics of values: exact where they can be, at their level for skewed columns."""

import numpy as np
import pytest

import sqrl
from made_scans import bits, scanned
from sqrl._check.hypergeometric import at_least
from sqrl._check.null_tests import mean_test, student_beyond
from sqrl._check.repeated_keys import add_keys, finish_keys, merge_keys, start_keys

STATISTICS = ("mean", "std", "median", "min", "max")
SCHEMA = {
    "let": {"A": ["x", "skewed", "few"]},
    "rules": [f"? <= {name}(A) <= ? over 64" for name in STATISTICS],
    "batches": {"train": 60, "valid": 30},
    "validate": {"epsilon": 1.0},
}


def made(rng, n_rows, scale=1.0, shift=0.0):
    """A normal column, a skewed one, and one of few values."""
    return {
        "x": rng.normal(0, 1, n_rows) * scale + shift,
        "skewed": np.exp(2 * rng.normal(0, 1, n_rows)),
        "few": rng.integers(0, 4, n_rows),
    }


def test_students_tail_is_that_of_scipy():
    """Within a few per cent of the probability, as far as p-values are looked at."""
    from scipy.stats import t as student

    for freedom in (18, 50, 1000):
        for value in (0.0, 1.0, 2.0, 4.0, 6.0):
            found = student_beyond(np.array([value]), np.array([float(freedom)]))[0]

            assert found == pytest.approx(2 * student.sf(value, freedom), rel=0.05)


@pytest.mark.parametrize("shape", ["lognormal", "zeros", "pareto", "normal"])
@pytest.mark.parametrize("n_new", [10, 50, 500])
def test_means_hold_their_level_whatever_the_skew(shape, n_new):
    """Welch's test would raise an alarm in up to nine of ten clean batches here."""
    rng = np.random.default_rng(0)
    draw = {
        "lognormal": lambda size: np.exp(2 * rng.normal(size=size)),
        "zeros": lambda size: rng.exponential(size=size) * (rng.random(size) < 0.02),
        "pareto": lambda size: rng.pareto(3, size),
        "normal": lambda size: rng.normal(size=size),
    }[shape]
    reference, new = draw((40, 2000)), draw((40, 50, n_new))
    moments = [np.full((40, 50), 2000.0), *(of(reference, axis=1) for of in (np.mean, np.var))]
    held_out = np.stack([np.broadcast_to(m.reshape(40, -1), (40, 50)) for m in moments], axis=-1)
    found = np.stack([np.full((40, 50), n_new), new.mean(axis=2), new.var(axis=2)], axis=-1)
    p = mean_test(held_out.reshape(-1, 3), found.reshape(-1, 3))

    for level in (0.05, 0.01):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level / p.size)


def test_every_statistic_has_a_p_value_on_rows_that_fill_no_mini_batch():
    """However few there are, and clean rows are not called broken."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(made(rng, 3000), SCHEMA)
    found = sqrl.check(rules, made(rng, 40))

    assert not np.isnan(found.p_value).any()
    assert not found.significant.any()
    assert found.applicable.tolist() == [0] * len(rules)
    assert found.notes[0] == (
        f"40 rows do not fill a mini-batch of 64: {len(rules)} rules were tested on all rows"
        " together"
    )
    assert set(found.evidence) == set(range(len(rules)))


def test_clean_rows_are_called_broken_no_more_often_than_the_level():
    """All statistics together, of columns of three shapes."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(4):
        rules = sqrl.learn(made(rng, 2500), SCHEMA)
        p += [sqrl.check(rules, made(rng, n_rows)).p_value for n_rows in (30, 120, 400) * 4]

    assert (np.array(p) <= 0.01).mean() <= 0.015


@pytest.mark.parametrize(
    ("change", "seen"),
    [({"scale": 2.0}, {"std", "max", "min"}), ({"shift": 1.0}, {"mean", "median", "max"})],
)
def test_a_change_is_seen_by_the_statistics_it_moves(change, seen):
    """And of a column that did not change by none."""
    rng = np.random.default_rng(2)
    rules = sqrl.learn(made(rng, 5000), SCHEMA)
    found = sqrl.check(rules, made(rng, 500, **change))
    broken = {rules.form(place).statistic for place in np.flatnonzero(found.p_value < 1e-3)}

    assert seen <= broken
    assert all("(x)" in rules[place].text for place in np.flatnonzero(found.p_value < 1e-3))


def test_rows_beyond_all_that_were_held_out_are_an_urn():
    """That the k outermost of old and new are all new."""
    from sqrl._check.value_tests import VALUE_TESTS
    from sqrl._language.statistics.values import maximum

    held_out = np.array([[100.0, 0.0, 1.0, 2.0, 3.0, 98.0, 0.0]])
    new = np.array([[20.0, 0.0, 1.0, 2.0, 3.0, 16.0, 4.0]])
    urn = 20 * 19 * 18 * 17 / (120 * 119 * 118 * 117)

    assert at_least(4, 120, 20, 4) == pytest.approx(urn)
    assert VALUE_TESTS[maximum].test(held_out, new) == pytest.approx([2 * urn])


def test_scanned_rows_give_the_same_bits():
    """Marks are order statistics and means of held-out rows; counts by them add up."""
    rng = np.random.default_rng(3)
    table = {name: column.tolist() for name, column in made(rng, 400).items()}
    schema = {
        **SCHEMA,
        "rules": [*SCHEMA["rules"], "repeats(key(A, few)) <= ? over 64"],
        "let": {"A": ["x", "skewed"]},
    }
    import pyarrow as pa

    parts, whole = scanned(pa.table(table), ends=(40, 41)), pa.table(table)
    rules = sqrl.learn(whole, schema)
    other = pa.table({name: column.tolist() for name, column in made(rng, 200).items()})
    found, again = sqrl.check(rules, other), sqrl.check(rules, scanned(other, ends=(7, 90)))

    assert bits(sqrl.learn(parts, schema)) == bits(rules)
    assert dict(found.evidence) == dict(again.evidence)
    np.testing.assert_array_equal(found.p_value, again.p_value)


def test_repeated_rows_are_seen_and_usual_repeats_are_not_news():
    """Ids are unique; of few values most repeat, and nothing is said."""
    rng = np.random.default_rng(4)
    schema = {
        "rules": ["repeats(key(id)) <= ? over 64", "repeats(key(few, id)) <= ? over 64"],
        "batches": {"train": 60, "valid": 30},
        "validate": {"epsilon": 1.0},
    }
    table = {"id": [f"r{n}" for n in range(2000)], "few": rng.integers(0, 4, 2000)}
    rules = sqrl.learn(table, {**schema, "rules": [*schema["rules"], "repeats(few) <= ? over 64"]})
    new = {"id": [f"s{n}" for n in range(100)], "few": rng.integers(0, 4, 100)}
    clean = sqrl.check(rules, new).p_value
    new["id"][:5] = new["id"][5:10]
    new["few"][:5] = new["few"][5:10]
    found = sqrl.check(rules, new)

    assert rules.texts()[0] == "repeats(key(id)) <= 0 over 64"
    assert clean[:2].tolist() == [1.0, 1.0]
    assert (found.p_value[:2] < 1e-3).all()
    assert np.isnan(found.p_value[2])


def test_a_missing_value_is_a_value_of_a_key():
    """Rows that lack the same are the same; whatever the part they come in."""
    table = {"a": [1.0, None, None, 1.0], "b": ["x", "x", None, "x"]}
    found = sqrl.check(sqrl.RuleSet.from_texts(["repeats(key(a, b)) <= 0 over 4"]), table)
    lone = sqrl.check(sqrl.RuleSet.from_texts(["repeats(key(b)) <= 0 over 4"]), table)

    assert found.batch_values[0].tolist() == [0.25]
    assert lone.batch_values[0].tolist() == [0.5]


@pytest.mark.parametrize("most", [4, 1 << 20])
def test_keys_of_parts_are_those_of_the_whole(most, monkeypatch):
    """The smallest hashes, each with all of its rows, in any order of the parts."""
    monkeypatch.setattr("sqrl._check.repeated_keys.MOST_KEYS", most)
    rng = np.random.default_rng(5)
    values = rng.integers(0, 12, 60).astype(np.float64)
    whole = add_keys(*start_keys(), values)
    first, second = add_keys(*start_keys(), values[40:]), add_keys(*start_keys(), values[:40])
    merged = merge_keys(*first, *second)

    assert all(np.array_equal(a, b) for a, b in zip(whole, merged, strict=True))
    share, repeats = finish_keys(*merged)
    assert (share == 1.0) == (most > 12)
    if most > 12:
        assert repeats == 60 - len(set(values.tolist()))


def test_a_value_beyond_all_seen_is_a_move_outwards_whatever_the_others_do():
    """Five rows far beyond the greatest, and fewer near it: the rule of the greatest is broken."""
    rng = np.random.default_rng(0)
    train = {"x": rng.normal(size=4000)}
    rules = sqrl.learn(train, {"rules": ["max(x) <= ? over 64", "min(x) >= ? over 64"]})
    new = rng.normal(size=300) * 0.5
    new[:5], new[5:10] = 50.0, -50.0

    assert (sqrl.check(rules, {"x": new}).p_value < 0.01).all()
