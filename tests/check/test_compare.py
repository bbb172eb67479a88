"""compare(): two models or two dates on the same rules."""

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact

import sqrl
from effort import often
from sqrl._check.compare import compare
from sqrl.errors import DataError

RULES = sqrl.RuleSet.from_texts(
    ["0 <= x <= 1", "type = Car => x <= 0.5", "rate(x > 1) <= 0.3 over 5"]
)


def rows(n_rows, scale, seed=0):
    """Rows of which more lie outside the larger the scale is."""
    rng = np.random.default_rng(seed)
    types = np.where(rng.random(n_rows) < 0.5, "Car", "Van").tolist()
    return {"x": rng.exponential(scale, n_rows), "type": types}


def test_different_rows_are_compared_by_fishers_exact_test():
    """Two dates: the shares before and after, and how sure the change is."""
    before, after = (
        sqrl.check(RULES, rows(200, scale, seed), level=0.05)
        for seed, scale in ((0, 0.5), (1, 0.8))
    )
    found = compare(before, after)

    assert not found.is_paired
    for index in range(3):
        table = [
            [int(one.broken[index]), int(one.applicable[index] - one.broken[index])]
            for one in (after, before)
        ]
        one_sided = min(fisher_exact(table, side).pvalue for side in ("less", "greater"))
        assert found.p_value[index] == pytest.approx(min(1, 2 * one_sided))
        assert found.change[index] == pytest.approx(after.share()[index] - before.share()[index])
    assert found.significant[0]
    assert (found.n_worse, found.n_better) == (2, 0)


def test_the_same_rows_are_compared_pair_by_pair():
    """Two models on the same rows: only samples on which they differ say anything."""
    table = rows(300, 0.7)
    rng = np.random.default_rng(5)
    for name, wrong in (("a", 0.05), ("b", 0.3)):
        flip = rng.random(300) < wrong
        table[name] = [
            {"Car": "Van", "Van": "Car"}[kind] if flipped else kind
            for kind, flipped in zip(table["type"], flip, strict=True)
        ]
    rules = sqrl.RuleSet.from_texts(["x > 0.7 => type = Van", "type = Car => x <= 0.5"])
    before, after = (sqrl.check(rules, table, prediction=name) for name in "ab")
    found = compare(before, after)

    assert found.is_paired
    for index in range(2):
        broken = [set(one.rows_of(index)[0].tolist()) for one in (before, after)]
        alone = len(broken[0] - broken[1]), len(broken[1] - broken[0])
        assert found.p_value[index] == pytest.approx(binomtest(alone[0], sum(alone)).pvalue)


def test_mini_batches_of_the_same_rows_are_paired_too():
    """The same mini-batches, broken before, after, or both times."""
    table = {"x": np.arange(40.0), "a": [0, 1] * 20, "b": [1, 1, 1, 0] * 10}
    rules = sqrl.RuleSet.from_texts(["0.4 <= f1(x >= 0 => y = 1) <= 0.7 over 4"])
    before, after = (sqrl.check(rules, table, prediction=name) for name in "ab")
    outside = [
        ~((one.batch_values[0] >= 0.4) & (one.batch_values[0] <= 0.7)) for one in (before, after)
    ]
    alone = [(outside[i] & ~outside[1 - i]).sum() for i in (0, 1)]
    found = compare(before, after)

    assert found.is_paired
    assert sum(alone) > 0
    assert found.p_value.tolist() == pytest.approx([binomtest(alone[0], sum(alone)).pvalue])


def test_mini_batches_that_share_rows_have_no_p_value():
    """What is drawn again and again is not seen again and again."""
    before, after = (sqrl.check(RULES, rows(60, 0.5, seed), batches=50) for seed in (0, 1))

    assert np.isnan(compare(before, after).p_value).tolist() == [False, False, True]


def test_no_change_raises_few_alarms():
    """On many pairs of dates alike, and of models alike, at most the stated share has any alarm."""
    rules = sqrl.RuleSet.from_texts(
        [f"x <= {bound}" for bound in (0.5, 0.8, 1, 1.5)] + ["x > 1 => y"]
    )
    said = sqrl.RuleSet.from_texts([f"x > {bound} => y = true" for bound in (0.1, 0.3, 0.5, 1)])
    runs, alarms = often(100, 300), {"dates": 0, "models": 0}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        dates = [{"x": rng.exponential(0.5, n), "y": rng.random(n) < 0.7} for n in (150, 90)]
        alarms["dates"] += compare(*(sqrl.check(rules, date) for date in dates)).significant.any()
        x = rng.exponential(0.5, 150)
        models = [sqrl.check(said, {"x": x, "y": rng.random(150) < 0.7}) for _ in range(2)]
        alarms["models"] += compare(*models).significant.any()

    assert max(alarms.values()) / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_different_rules_are_not_compared():
    """The places of one result mean nothing in another."""
    before = sqrl.check(sqrl.RuleSet.from_texts(["x <= 1"]), {"x": [1.0]})
    after = sqrl.check(sqrl.RuleSet.from_texts(["x <= 2"]), {"x": [1.0]})

    with pytest.raises(DataError) as error:
        compare(before, after)
    assert str(error.value) == (
        "The two results are of different rules.\n  fix:   check both with the same rules file"
    )


def test_a_comparison_as_plain_data():
    """Totals before and after, and a row for each rule."""
    before, after = (sqrl.check(RULES, rows(200, scale)) for scale in (0.5, 0.8))
    found = compare(before, after)
    plain = found.to_dict()

    assert plain["before"]["violations"] == before.total
    assert plain["after"]["violations_per_sample"] == after.per_sample()
    assert [*plain["rules"][0]] == [
        "text",
        "applicable_before",
        "violations_before",
        "applicable_after",
        "violations_after",
        "change",
        "p_value",
        "significant",
    ]
    assert found.to_pandas().shape == (3, 8)
    assert len(found) == 3
    assert repr(found).startswith("Comparison: ")


def test_the_rules_that_changed_most_come_first():
    """The sure ones, then by how much; a rule that applied to nothing has no change."""
    rules = sqrl.RuleSet.from_texts(["x <= 1", "x <= 2", "x <= 3", "type = Tram => x <= 1"])
    before, after = (
        sqrl.check(rules, rows(500, scale, seed)) for seed, scale in ((0, 0.5), (1, 2))
    )
    found = compare(before, after)

    assert found.order().tolist() == [0, 1, 2, 3]
    assert np.isnan(found.change[3])
    assert not found.significant[3]
