"""Rules about the same rows, evaluated together: what each gives by itself, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from both_loops import loops_of  # noqa: F401  (runs each test on both)
from interval_rules import Intervals, evaluate_intervals
from sqrl._kernels import intervals as module
from sqrl._kernels.buckets import cut_groups

seeds = st.integers(0, 2**32)


def made_rules(seed, n_rows=40):
    """Rules that share rows, values and cuts, some of each by themselves."""
    rng = np.random.default_rng(seed)

    def column():
        values = rng.integers(-4, 5, n_rows) / 2
        return np.where(rng.random(n_rows) < 0.15, rng.choice([np.nan, np.inf, -np.inf]), values)

    columns = [column() for _ in range(3)]
    conditions = [np.flatnonzero(rng.random(n_rows) < 0.6) for _ in range(2)] + [np.arange(0)]
    cuts = [np.empty(0), np.array([-1.0, 0.5]), np.array([0.0])]
    rules = []
    for _ in range(rng.integers(1, 12)):
        cut = cuts[rng.integers(3)]
        ends = np.sort(rng.integers(-3, 4, (cut.size + 1, 2)).astype(float), axis=1)
        ends[rng.random(cut.size + 1) < 0.2, 1] = np.inf
        picked = conditions[rng.integers(3)], columns[rng.integers(3)], columns[rng.integers(3)]
        rules.append(Intervals(*picked, cut, *ends.T.copy()))
    return rules


@settings(deadline=None)  # the first call loads the compiled loops
@given(seed=seeds, block=st.sampled_from([3, 16, 1 << 13]))
def test_rules_together_give_what_each_gives_row_by_row(seed, block):
    """Counts of each piece, broken rows in their order and how far off, however rows are cut up."""
    rules = made_rules(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "PLAIN_BLOCK", block)
        found = evaluate_intervals(rules)

    for rule, one in zip(rules, found, strict=True):
        expected = oracles.interval_outcomes(*rule)
        assert one.applicable.tolist() == expected[0]
        assert one.broken.tolist() == expected[1]
        assert one.rows.tolist() == expected[2]
        assert one.excess.tolist() == np.array(expected[3], np.float32).tolist()


@pytest.mark.parametrize("rows", [[2, 3, 4, 5], [0], [2, 4, 3, 5], [5, 4, 3, 2], [1, 1, 3, 4]])
def test_rows_that_follow_one_another_are_fetched_as_others_are(rows):
    """A run of rows is copied at once; rows that only begin and end like a run are none."""
    values = np.array([7.0, 1.0, 9.0, np.nan, -3.0, 5.0])
    rule = Intervals(
        np.array(rows), values, values, np.array([4.0]), np.array([0.0, 0.0]), np.array([2.0, 6.0])
    )
    found, expected = evaluate_intervals([rule])[0], oracles.interval_outcomes(*rule)

    assert [column.tolist() for column in found[:3]] == list(expected[:3])
    assert found.excess.tolist() == np.array(expected[3], np.float32).tolist()


def test_many_rules_are_taken_a_few_at_a_time(monkeypatch):
    """There is room for the outcomes of some rules, and all are evaluated."""
    rules = made_rules(3)
    whole = evaluate_intervals(rules)
    monkeypatch.setattr(module, "MOST_OUTCOMES", 30)

    for one, other in zip(evaluate_intervals(rules), whole, strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in other]


def test_a_rule_with_more_pieces_than_a_byte_tells_apart():
    """Pieces are numbered in a byte where that is enough."""
    values = np.arange(600.0)
    cuts, bounds = np.arange(0.0, 399.0), np.arange(400.0)
    rule = Intervals(np.arange(600), values, values, cuts, bounds, bounds)
    (found,) = evaluate_intervals([rule])

    assert found.applicable.sum() == 600
    assert found.rows.tolist() == list(range(400, 600))


@settings(deadline=None)
@given(seed=seeds, n_cuts=st.integers(0, 3))
def test_groups_are_cut_as_by_hand(seed, n_cuts):
    """Buckets count the cut points below; what is missing is nowhere, unless nothing is cut."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, 4, 30)
    values = rng.choice([np.nan, -1.0, 0.0, 0.5, 1.0, np.inf], 30)
    cuts = np.sort(rng.choice([-0.5, 0.0, 0.7, np.nan], (4, n_cuts)), axis=1)

    assert cut_groups(groups, values, cuts).tolist() == oracles.cut_groups(groups, values, cuts)
