"""False alarms and power of whole rule sets: learn, check rows with no shift, and with one."""

import numpy as np
import pytest
from scipy.stats import binom

import sqrl
from effort import often
from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.p_values import Background

LEVEL = 0.05


def most_alarms(runs):
    """The share of runs with a false alarm that is within three standard errors of the level."""
    return LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / runs)


def conservative(p, at=(0.01, 0.05, 0.2)):
    """Whether p-values are no smaller than under the null; those of one run may depend."""
    p = np.array(p)
    return all(np.mean(p <= level) <= level + 3 * np.sqrt(level / p.size) for level in at)


# Rules about single rows


def columns(rng, n_rows, shift=0.0):
    """Eight independent statistics of any kind of distribution."""
    made = {}
    for index in range(8):
        draw = [rng.normal, rng.standard_cauchy, rng.exponential][index % 3]
        made[f"x{index}"] = draw(size=n_rows) + shift * (index == 0)
    return made


EIGHT = {"let": {"A": [f"x{i}" for i in range(8)]}, "rules": ["? <= A <= ?"], "validate": False}


def test_eight_rules_raise_as_few_false_alarms_as_stated():
    """5,000 rows to learn from, 20,000 to check; a plain binomial alarms in most runs."""
    runs, alarms, plain, p = often(40, 120), 0, 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rules = sqrl.learn(columns(rng, 5_000), EIGHT, seed=seed)
        found = sqrl.check(rules, columns(rng, 20_000), level=LEVEL)
        alarms += found.n_significant > 0
        p += found.p_value.tolist()
        binomial = binom.sf(found.broken - 1, found.applicable, 0.02)
        plain += bool(benjamini_hochberg(binomial, LEVEL).any())

    assert alarms / runs <= most_alarms(runs)
    assert plain / runs > 0.6
    assert conservative(p)
    assert np.mean(np.array(p) <= 0.5) > 0.4  # and not much too careful


def test_a_shifted_statistic_is_found():
    """Half a standard deviation, in one of eight rules, on 20,000 rows."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rules = sqrl.learn(columns(rng, 5_000), EIGHT, seed=seed)
        found.append(sqrl.check(rules, columns(rng, 20_000, shift=0.5)).significant)

    assert np.mean(found, axis=0)[0] == 1.0
    assert np.mean(found, axis=0)[1:].max() <= 0.2


def test_bucketed_and_conditional_rules_keep_the_level():
    """Cut points and bounds come from the same rows; that costs no false alarms."""
    schema = {
        "let": {"Y": "values(kind)"},
        "rules": ["kind = Y => ? <= x <= ? by z/3", "kind = Y => ? <= x by z/2, w/2"],
        "coverage": 0.9,
    }
    runs, alarms, p = often(40, 100), 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        old, new = (bucketed(rng, n_rows) for n_rows in (900, 1500))
        found = sqrl.check(sqrl.learn(old, schema, seed=seed), new, level=LEVEL)
        alarms += found.n_significant > 0
        p += found.p_value.tolist()

    assert alarms / runs <= most_alarms(runs)
    assert conservative(p)


def bucketed(rng, n_rows):
    """x depends on z and w; two kinds of row."""
    z, w = rng.normal(size=n_rows), rng.random(n_rows)
    kind = np.where(rng.random(n_rows) < 0.7, "a", "b").tolist()
    return {"kind": kind, "x": z + rng.standard_t(3, n_rows), "z": z, "w": w}


def test_rules_that_competed_are_held_against_held_out_rows():
    """The narrowest of many intervals is narrow by luck; its own rows cannot say how much."""
    names = [f"b{i}" for i in range(10)]
    schema = {
        "let": {"L": f"literals({', '.join(names)})"},
        "rules": ["L{1..2} => ? <= x <= ?"],
        "coverage": 0.9,
        "select": {"top": 8, "by": "width"},
        "validate": {"epsilon": 0.5, "share": 0.4},
    }
    runs, alarms, own, p = 40, 0, 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        old, new = (
            {**{name: rng.integers(0, 2, n) for name in names}, "x": rng.standard_t(2, n)}
            for n in (500, 4000)
        )
        rules = sqrl.learn(old, schema, seed=seed)
        found = sqrl.check(rules, new, level=0.05)
        alarms += found.n_significant > 0
        p += found.p_value.tolist()
        forgetful = sqrl.RuleSet(rules.table, rules.nodes)  # of how the rules were chosen
        own += sqrl.check(forgetful, new, level=0.05).n_significant > 0

    assert alarms / runs <= most_alarms(runs)
    assert own / runs > 0.15
    assert conservative(p)


# Rules about mini-batches


def tabular(rng, n_rows, *, effect=0.0, shift=0.0):
    """Eight coins, a label that the first may predict, and a skewed number."""
    coins = rng.integers(0, 2, (n_rows, 8))
    label = rng.random(n_rows) < 0.4 - effect / 2 + effect * coins[:, 0]
    made = {f"x{i}": coins[:, i] for i in range(8)}
    return {**made, "y": label.astype(int), "z": rng.exponential(size=n_rows) + shift}


LOGIC = {
    "label": "y",
    "let": {"Y": "values(y)", "L": f"literals({', '.join(f'x{i}' for i in range(8))})"},
    "rules": ["? <= f1(L{1..2} => y = Y) <= ? over 200"],
    "batches": {"train": 50, "valid": 50},
    "select": {"top": 10, "per": "Y", "by": "lower"},
    "coverage": 0.9,
}


@pytest.mark.parametrize("effect", [0.0, 0.4], ids=["noise", "signal"])
def test_logic_rules_raise_as_few_false_alarms_as_stated(effect):
    """Mini-batches share rows, and the best of many rules look too good: held-out rows know."""
    runs, alarms, p = often(30, 70), 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        old, held_out, new = (tabular(rng, n, effect=effect) for n in (1000, 500, 1500))
        rules = sqrl.learn(old, LOGIC, valid=held_out, seed=seed)
        found = sqrl.check(rules, new, level=LEVEL)
        alarms += found.n_significant > 0
        p += found.p_value.tolist()

    assert len(p) == 20 * runs
    assert alarms / runs <= most_alarms(runs)
    assert conservative(p)


def test_counting_mini_batches_against_the_coverage_would_raise_false_alarms():
    """Why mini-batch rules are not tested like rules about rows: 10 % rules are broken by more."""
    broken = known = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rules = sqrl.learn(tabular(rng, 600), LOGIC, valid=tabular(rng, 600), seed=seed)
        found = sqrl.check(rules, tabular(rng, 4000))
        broken, known = broken + found.broken.sum(), known + found.applicable.sum()
        expected = np.nansum(found.expected)

        assert expected > 0.1 * found.applicable.sum()
    assert broken / known > 0.13


def test_a_label_that_no_longer_follows_is_found():
    """Half the effect gone: rules about the label are broken beyond chance."""
    found = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        old, held_out = (tabular(rng, n, effect=0.4) for n in (2000, 1000))
        rules = sqrl.learn(old, LOGIC, valid=held_out, seed=seed)
        found.append(sqrl.check(rules, tabular(rng, 3000, effect=0.2)).n_significant > 0)

    assert np.mean(found) >= 0.9


MEANS = {
    "let": {"A": [f"x{i}" for i in range(8)] + ["z"]},
    "rules": ["? <= mean(A) <= ? over 100", "x0 = 1 => ? <= mean(z) <= ? over 100"],
    "batches": {"train": 60, "valid": 60},
    "coverage": 0.9,
}


@pytest.mark.parametrize("validate", [True, False], ids=["held out", "nothing held out"])
def test_mean_rules_raise_as_few_false_alarms_as_stated(validate):
    """Means were not chosen, so that also the rows they were learned from may testify."""
    schema = {**MEANS, "validate": {} if validate else False}
    runs, alarms, p = often(40, 100), 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rules = sqrl.learn(tabular(rng, 1500), schema, seed=seed)
        found = sqrl.check(rules, tabular(rng, 1000), level=LEVEL)
        alarms += found.n_significant > 0
        p += found.p_value.tolist()

    assert len(p) >= 8 * runs
    assert not np.isnan(p).any()
    assert alarms / runs <= most_alarms(runs)
    assert conservative(p)


def test_a_mean_that_moves_is_found():
    """A fifth of a standard deviation on 2,000 rows."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(tabular(rng, 3000), MEANS)
    found = sqrl.check(rules, tabular(rng, 2000, shift=0.25))
    about_z = [index for index, text in enumerate(rules.texts()) if "mean(z)" in text]

    assert len(about_z) == 2
    assert found.significant[about_z].all()
    assert found.n_significant == 2


def test_a_mean_that_moves_inwards_breaks_nothing():
    """A statistic that keeps its bounds better than before is no violation."""
    schema = {"rules": ["? <= mean(z) over 100"], "batches": {"train": 60}, "coverage": 0.9}
    rng = np.random.default_rng(0)
    rules = sqrl.learn({"z": rng.exponential(size=2000)}, schema)
    found = sqrl.check(rules, {"z": rng.exponential(size=2000) + 0.3})

    assert found.p_value.tolist() == [1.0]


# Rules that imply a class


CLASSES = {
    "label": "kind",
    "let": {"Y": "values(kind)", "A": ["x", "z"]},
    "rules": ["? <= A <= ? => kind = Y"],
    "coverage": 0.9,
}


def overlapping(rng, n_rows, shift=0.0):
    """Three kinds with two statistics that tell them apart, more or less."""
    kind = rng.integers(0, 3, n_rows)
    return {
        "kind": np.array(["a", "b", "c"])[kind].tolist(),
        "x": rng.normal(2.0 * kind, 1) + shift * (kind == 1),
        "z": rng.gumbel(3.0 * (kind == 2), 1),
    }


def test_class_rules_raise_as_few_false_alarms_as_stated():
    """The body is where others were seldom seen in training; held-out rows know how seldom."""
    runs, alarms, p, names = often(40, 100), 0, [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rules = sqrl.learn(overlapping(rng, 800), CLASSES, seed=seed)
        found = sqrl.check(rules, overlapping(rng, 600), level=LEVEL)
        alarms += found.n_significant > 0
        p += found.p_value[~np.isnan(found.p_value)].tolist()
        names.append(len(rules))

    assert np.mean(names) > 2
    assert alarms / runs <= most_alarms(runs)
    assert conservative(p)


def test_a_class_that_moves_into_the_body_of_another_is_found():
    """Rows of b with the values of c break the rule that implies c."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(overlapping(rng, 2000), CLASSES)
    found = sqrl.check(rules, overlapping(rng, 2000, shift=2.0))
    broken = [rules[i].text.split(" => ")[1] for i in np.flatnonzero(found.significant)]

    assert "kind = c" in broken


# Where there is nothing to test against


def test_class_rules_without_held_out_rows_have_no_p_value():
    """The rows that a body was fitted to cannot testify."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(overlapping(rng, 800), {**CLASSES, "validate": False})
    found = sqrl.check(rules, overlapping(rng, 800))

    assert len(rules) > 0
    assert np.isnan(found.p_value).all()
    assert np.isnan(found.expected).all()


def test_chosen_logic_rules_without_held_out_rows_have_no_p_value():
    """The best of many on some rows are the best partly by luck on those rows."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(tabular(rng, 800), {**LOGIC, "validate": False})
    found = sqrl.check(rules, tabular(rng, 800))

    assert np.isnan(found.p_value).all()
    assert found.expected == pytest.approx(0.1 * found.applicable)


def test_rules_written_by_hand_have_no_p_value():
    """Nobody knows how often rows like those that a person has seen would break them."""
    texts = ["0 <= z <= 2", "0 <= mean(z) <= 2 over 50", "x0 = 1 => y = 1", "rate(y) <= 1 over 50"]
    rules = sqrl.RuleSet.from_texts(texts)
    found = sqrl.check(rules, tabular(np.random.default_rng(0), 300))

    assert np.isnan(found.p_value).all()
    assert np.isnan(found.expected).all()
    assert not found.significant.any()


def test_statistics_without_a_test_have_no_p_value():
    """What is expected of a user's own statistic of mini-batches is not claimed to be known."""
    sqrl.statistic("middle", no_p_value="nobody knows")(
        lambda values: np.nanmedian(values, axis=-1)
    )
    schema = {"rules": ["? <= middle(z) <= ? over 50"], "coverage": 0.9, "validate": False}
    rng = np.random.default_rng(0)
    rules = sqrl.learn(tabular(rng, 1000), schema)
    found = sqrl.check(rules, tabular(rng, 1000))

    assert np.isnan(found.p_value).tolist() == [True]
    assert found.expected == pytest.approx([0.1 * 20])


def test_the_background_survives_a_file(tmp_path):
    """P-values are the same for rules from memory, JSON and Parquet."""
    rng = np.random.default_rng(0)
    rules = sqrl.learn(overlapping(rng, 900), {**CLASSES, "rules": [*CLASSES["rules"], "? <= x"]})
    new = overlapping(rng, 900)
    rules.save(tmp_path / "rules.json")
    rules.save(tmp_path / "rules.parquet")
    fresh = sqrl.check(rules, new).p_value

    for name in ("rules.json", "rules.parquet"):
        loaded = sqrl.load_rules(tmp_path / name)
        np.testing.assert_array_equal(sqrl.check(loaded, new).p_value, fresh)
        assert Background.of(loaded).evidence == Background.of(rules).evidence
