"""Ids: what a rule is about, whatever was learned of it."""

import numpy as np
import pytest

import sqrl
from sqrl._rules.ruleset import RuleSet

SAME = [
    ("3 <= GCS <= 15", "2.5 <= GCS <= 14"),
    ("type = Car => width <= 9", "type = Car => width <= 8.5"),
    (
        "20 <= y <= 51 if a <= 4 else 3 <= y <= 5",
        "1 <= y <= 2 if a <= 3 else y <= 2 if a <= 7 else y <= 9",
    ),
    (
        "0.6 <= f1(a > 3 and b = 1 => y = 1) <= 0.7 over 64",
        "0.5 <= f1(a > 4 and b = 1 => y = 1) <= 1 over 32",
    ),
    ("city in [Oslo, Bergen]", "city = Oslo"),
    ("country = NO => currency = NOK", "country = NO => currency in [NOK, EUR]"),
    ("0.3 <= joy < 0.6 => mood = good", "0.2 <= joy < 0.5 => mood = good"),
    ("a => 1 <= mean(x) <= 2 over 8", "a => 1.5 <= mean(x) <= 2 over 8"),
]
DIFFERENT = [
    ("3 <= GCS <= 15", "3 <= GCS"),
    ("type = Car => width <= 9", "type = Van => width <= 9"),
    ("f1(a > 3 => y = 1) <= 0.7 over 64", "f1(a > 3 => y = 2) <= 0.7 over 64"),
    ("f1(a > 3 => y = 1) <= 0.7 over 64", "f1(a <= 3 => y = 1) <= 0.7 over 64"),
    ("0.3 <= joy < 0.6 => mood = good", "0.3 <= joy < 0.6 => mood = bad"),
    ("known(a)", "known(b)"),
    ("x * 2 <= 3", "x * 3 <= 3"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_was_learned_does_not_matter(one, other):
    """Bounds, cut points, values, and the size of mini-batches."""
    assert RuleSet.from_texts([one]).ids() == RuleSet.from_texts([other]).ids()


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_a_rule_is_about_matters(one, other):
    """Columns, values, statistics and sides."""
    assert RuleSet.from_texts([one]).ids() != RuleSet.from_texts([other]).ids()


def test_rules_that_agree_in_all_else_are_numbered_by_their_cuts():
    """However they stand in the set; parts of a set keep their ids."""
    rules = RuleSet.from_texts(["5 < a <= 9 => x <= 1", "1 < a <= 5 => x <= 3", "known(a)"])
    second, first, other = rules.ids()

    assert second == f"{first}-2"
    assert len(first) == len(other) == 8
    assert rules.with_ids()[[0]].ids() == [second]
    assert rules[0].id == second


def test_rules_keep_their_ids_when_they_are_learned_again():
    """Of other rows, and in files."""
    schema = {
        "let": {"L": "literals(age/4, sex)"},
        "rules": [
            "? <= f1(L{1..2} => y = 1) <= ? over 32",
            "age in each of 4 => ? <= x <= ?",
            "? <= x <= ?",
            {"rule": "? <= x <= ?", "coverage": 1},
        ],
        "validate": False,
    }

    def table(seed):
        rng = np.random.default_rng(seed)
        people = {"age": rng.normal(50, 9, 900), "x": rng.normal(size=900)}
        return people | {"sex": rng.choice(["f", "m"], 900), "y": rng.integers(0, 2, 900)}

    one, other = (sqrl.learn(table(seed), schema) for seed in (0, 1))

    assert len(set(one.ids())) == len(one)
    shared = set(one.ids()) & set(other.ids())
    assert len(shared) > 0.9 * len(one)
    assert not set(one.texts()) & set(other.texts())
    moved = one.diff(other)
    assert len(moved.moved) == len(shared)


def test_old_files_without_ids_are_read(tmp_path):
    """Their rules get the ids that they would have got."""
    import pyarrow.parquet as pq

    rules = RuleSet.from_texts(["3 <= GCS <= 15", "known(a)"])
    rules.save(tmp_path / "rules.parquet")
    table = pq.read_table(tmp_path / "rules.parquet").drop_columns(["id"])
    pq.write_table(table, tmp_path / "old.parquet")

    assert sqrl.load_rules(tmp_path / "old.parquet").ids() == rules.ids()


def test_a_rule_is_shown_rounded_and_kept_exact():
    """To what its samples justify."""
    rules = RuleSet.from_texts(["-2.32474244 <= x <= 1.84666499"], support=[2400], coverage=[0.98])

    assert str(rules[0]) == "-2.32 <= x <= 1.85"
    assert rules[0].text in repr(rules)
    assert "-2.32474244" in rules[0].text
