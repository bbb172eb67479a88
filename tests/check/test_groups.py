"""Groups of rules: which belong together, their p-value, and the decision over them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqrl
from oracles import simes as naive_simes
from sqrl._check.findings.groups import Group, decide, make_groups, p_value_of, simes
from sqrl._check.null_tests import share_test

P = st.floats(0, 1) | st.just(float("nan"))


@given(st.lists(P, max_size=12))
def test_simes_agrees_with_its_definition(p):
    """The least over k of n / k times the k-th smallest."""
    assert simes(p) == pytest.approx(naive_simes(p), nan_ok=True)


def test_simes_holds_its_level_for_p_values_that_go_together():
    """Under the null hypothesis, alone and together."""
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    for common in (0.0, 0.5, 0.95):
        z = np.sqrt(common) * rng.normal(size=(20_000, 1))
        z = z + np.sqrt(1 - common) * rng.normal(size=(20_000, 8))
        found = np.array([simes(line) for line in norm.sf(z)])

        for level in (0.05, 0.01):
            sd = np.sqrt(level * (1 - level) / found.size)
            assert (found <= level).mean() <= level + 4 * sd


def test_rules_are_grouped_by_the_columns_they_name():
    """Derived columns are resolved; what repeats is a group of its own."""
    rules = sqrl.RuleSet.from_texts(
        [
            "0 <= x <= 9",
            "mean(x) <= 3 over 4",
            "kind = a => x <= 3",
            "kind = a => 1 <= x",
            "repeats(key(x, kind)) <= 0 over 4",
            "repeats(key(x)) <= 0 over 4",
        ]
    )
    groups = make_groups(sqrl.check(rules, {"x": [1.0, 2.0], "kind": ["a", "b"]}))

    assert [(group.kind, group.columns, group.rules) for group in groups] == [
        ("column", ("x",), (0, 1)),
        ("relation", ("kind", "x"), (2, 3)),
        ("repeats", ("kind", "x"), (4,)),
        ("repeats", ("x",), (5,)),
    ]
    assert all(np.isnan(group.p_value) for group in groups)


def test_what_follows_from_each_value_is_tested_as_one():
    """Four broken rows here and four there are eight; no row is counted twice."""
    texts = ["c = a => y = 1", "c = b => y = 2", "c = d => y = 3"]
    evidence = [[400.0, 0.0]] * 3
    rules = sqrl.RuleSet.from_texts(texts, evidence=evidence, coverage=[0.98] * 3)
    right = {"a": 1, "b": 2, "d": 3}
    c = ["a", "b", "d"] * 40
    y = [right[one] if place > 5 else 9 for place, one in enumerate(c)]
    found = sqrl.check(rules, {"c": c, "y": y})
    (group,) = make_groups(found)
    together = share_test((1200.0, 0.0), (120.0, 6.0))[1]

    assert found.p_value.min() > 1e-3
    assert group.p_value == pytest.approx(simes([simes(found.p_value), together]))
    assert group.p_value < 1e-5


def test_rules_that_differ_in_values_only_are_one_family():
    """Bounds within each of four classes count as much as the one rule about all."""
    texts = [*(f"c = {value} => x <= 9" for value in "abde"), "mean(x) <= 3 over 4"]
    rules = sqrl.RuleSet.from_texts(texts, coverage=[0.98] * 4 + [0.9])
    found = sqrl.check(rules, {"x": [1.0] * 8, "c": ["a"] * 8})
    of_classes, of_all = [0.2, 0.9, 0.03, 0.8], 0.004
    found = replace(found, p_value=np.array([*of_classes, of_all]))
    relation, column = sorted(make_groups(found), key=lambda group: len(group.columns))[::-1]

    assert relation.p_value == pytest.approx(simes(of_classes))
    assert column.p_value == of_all
    assert p_value_of(found, found.rules.forms(), range(5)) == pytest.approx(
        min(2 * of_all, simes(of_classes))
    )


def test_families_hold_their_level():
    """Simes' over Simes' rejects no more than its level, for families of one rule and of many."""
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    for common in (0.0, 0.5, 0.95):
        z = np.sqrt(common) * rng.normal(size=(20_000, 1))
        z = z + np.sqrt(1 - common) * rng.normal(size=(20_000, 10))
        p = norm.sf(z)
        found = np.array([simes([line[0], line[1], simes(line[2:])]) for line in p])

        for level in (0.05, 0.01):
            sd = np.sqrt(level * (1 - level) / found.size)
            assert (found <= level).mean() <= level + 4 * sd


def test_the_decision_is_benjamini_hochberg_among_those_asked_about():
    """Others neither help nor hinder; those without a p-value are not counted."""
    p = [1e-9, 0.004, 0.007, 0.5, float("nan")]
    groups = [Group("column", (str(place),), (place,), one) for place, one in enumerate(p)]
    decision = decide(groups, 0.01, groups[1:])

    assert decision.groups == tuple(groups)
    assert decision.significant == ()
    assert decide(groups, 0.01, groups).significant == tuple(groups[:3])
    assert decide(groups, 0.01, groups).limit == pytest.approx(0.01 * 3 / 4)
