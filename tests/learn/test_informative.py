"""Selection that informs keeps few rules, each of which says more than its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import sqrl
from sqrl._data.table import to_arrow
from sqrl._learn.informative import Counts, cover, wilson_lower, worth
from sqrl.errors import SchemaError

SCHEMA = {
    "label": "y",
    "let": {"Y": "values(y)", "L": "literals(a, b, c, x/4)"},
    "rules": ["? <= precision(L{1..2} => y = Y) <= ? over 256"],
    "select": {"top": 5, "per": "Y", "by": "informative"},
}


def people(seed=0, n=6000):
    """y depends on a, more so with b, and on x; c says what a says, nearly."""
    rng = np.random.default_rng(seed)
    a, b = rng.random(n) < 0.5, rng.random(n) < 0.5
    x = rng.normal(size=n)
    chance = 0.1 + 0.3 * a + 0.4 * (a & b) + 0.1 * (x > 0.7)
    return {
        "a": a,
        "b": b,
        "c": np.where(rng.random(n) < 0.97, a, ~a),
        "x": x,
        "y": np.where(rng.random(n) < chance, "yes", "no"),
    }


def said(rules, head):
    """The bodies of the rules about a class."""
    return [rule.text.split("(")[1].split(" =>")[0] for rule in rules if head in rule.text]


def test_what_a_label_depends_on_is_what_is_kept():
    """The interaction is found, and what is nearly the same column is not said again."""
    rules = sqrl.learn(people(), SCHEMA)
    bodies = said(rules, "y = yes")

    assert bodies[0] == "a and b"
    assert "c and b" not in bodies
    assert "b and c" not in bodies
    assert len(bodies) <= 5


@pytest.mark.parametrize("seed", range(5))
def test_noise_gives_no_rule(seed):
    """Where the label depends on nothing, nothing is said of it."""
    data = people(seed)
    data["y"] = np.random.default_rng(seed + 100).choice(["yes", "no"], 6000)

    assert len(sqrl.learn(data, SCHEMA)) == 0


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000))
def test_every_rule_kept_is_productive_and_unlike_the_others(seed):
    """Counted by hand: likelier than in every part, and no two bodies with nearly the same rows."""
    data = people(seed, 3000)
    rules = sqrl.learn(data, SCHEMA)
    table = sqrl.as_table(data)
    label = np.array(data["y"])
    for head in ("yes", "no"):
        masks = []
        for body in said(rules, f"y = {head}"):
            parts = [oracles.formula_mask(part, table) for part in body.split(" and ")]
            mask = np.logical_and.reduce(parts)
            rate = (label[mask] == head).mean()
            for part in [np.ones(3000, bool), *(parts if len(parts) > 1 else [])]:
                assert rate > (label[part] == head).mean()
            for other in masks:
                assert (mask & other).sum() <= 0.8 * (mask | other).sum() + 60
            masks.append(mask)


def test_a_scan_selects_the_same(tmp_path):
    """Counts and overlaps add up over parts."""
    data = people()
    table = to_arrow(data)
    import pyarrow.parquet as pq

    for part in range(3):
        pq.write_table(table.slice(part * 2000, 2000), tmp_path / f"part{part}.parquet")
    in_memory = sqrl.learn(table, SCHEMA)
    scanned = sqrl.learn(str(tmp_path / "*.parquet"), SCHEMA)

    assert [rule.text for rule in scanned] == [rule.text for rule in in_memory]


def test_only_bodies_of_statistics_can_inform():
    """Other rules with literals cannot be selected so, and the message says what can."""
    schema = {
        "let": {"L": "literals(a, b)"},
        "rules": ["L{1..2} => ? <= x <= ?"],
        "select": {"top": 5, "by": "informative"},
    }
    with pytest.raises(SchemaError) as caught:
        sqrl.learn(people(), schema)

    assert str(caught.value) == (
        "'by: informative' selects among rules such as 'precision(L{1..2} => y = Y)'.\n"
        "  where: L{1..2} => ? <= x <= ?\n"
        "  fix:   write the literals as the body of a statistic, or select by width or jaccard"
    )


def test_the_second_best_is_the_best_for_the_rows_that_are_left():
    """A body within a kept one counts half, and one with nearly its rows not at all."""
    shared = np.array([[100, 95, 40, 0], [95, 100, 40, 0], [40, 40, 40, 0], [0, 0, 0, 50]])
    score = np.array([0.5, 0.49, 0.3, 0.2])
    heads = np.zeros(4, int)

    assert cover(score, shared, heads, None) == [0, 3, 2]
    assert cover(score, shared, np.array([0, 1, 0, 0]), 2) == [0, 1]


def test_what_a_body_is_worth():
    """What it surely adds to the base rate, by the root of its share of rows; plain first."""
    counts = Counts(*(np.array([n, n]) for n in (100, 300, 80, 1000)))
    found = worth(counts, np.array([0, 1]))

    assert found[0] == pytest.approx((wilson_lower(counts.both, counts.body)[0] - 0.3) * 0.1**0.5)
    assert found[1] == pytest.approx(0.8 * found[0])
