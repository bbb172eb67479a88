"""Scores of rows and their ranks among held-out rows, against loops over the definition."""

from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import sqrl
from sqrl._check.row_scores import (
    EDGES,
    CountScores,
    CountTails,
    Surprise,
    conformal_p_values,
    in_steps,
    worst_scores,
)
from sqrl._data.table import as_table
from sqrl._rows.rows import Rows
from sqrl._rules.held_out import ScoreCounts
from sqrl._rules.ruleset import RuleSet

TEXTS = [
    "0 <= x <= 4",
    "k = a => 0 <= x <= 2",
    "x > 1 => k = a",
    "1 <= x <= 3 if x <= 2 else x <= 4",
]
EXCESS = st.one_of(st.floats(0, 400, width=32), st.sampled_from([*EDGES.tolist(), inf]))


def rows_of(numbers, letters):
    return Rows(as_table({"x": numbers, "k": letters}), {})


def made_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(2, 1, n_rows), "k": rng.choice(["a", "b"], n_rows)}


@given(
    excesses=st.lists(EXCESS, max_size=20),
    more=st.integers(0, 50),
    new=st.lists(EXCESS, min_size=1, max_size=5),
)
def test_a_violation_scores_by_the_train_rows_that_are_as_bad(excesses, more, new):
    """Minus the log of their share, by octaves of the excess, and the log of one and the excess."""
    n_rows = len(excesses) + more
    counts = np.bincount(np.searchsorted(EDGES, excesses, "right"), minlength=1).tolist()
    surprise = Surprise.of_tails([[n_rows, *counts]], [None], [None])
    found = surprise.of_pairs(np.zeros(len(new), np.int64), np.array(new))

    assert found == pytest.approx([oracles.violation_score(e, excesses, n_rows) for e in new])


@pytest.mark.parametrize(
    ("coverage", "support", "score"),
    [(0.98, 100, -log(0.02)), (1.0, 99, log(100)), (None, None, -log(0.01)), (0.9, None, log(10))],
)
def test_a_rule_without_counts_goes_by_its_coverage(coverage, support, score):
    """Old rules files, and rules written by hand."""
    support = 10_000 if support is None and coverage is None else support
    surprise = Surprise.of_tails([None], [coverage], [support or 1_000])

    assert surprise.of_pairs(np.array([0]), np.array([0.0])) == pytest.approx([score])


def test_a_row_scores_by_its_worst_violation():
    """Many rules about one column would say the same thing many times."""
    found = worst_scores(np.array([1.0, 5.0, 2.0]), np.array([2, 2, 0]), 4)

    assert found.tolist() == [2.0, 0.0, 5.0, 0.0]


@given(held_out=st.lists(st.floats(0, 30), max_size=30), new=st.lists(st.floats(0, 30), max_size=5))
def test_p_values_are_ranks_among_held_out_rows(held_out, new):
    """One and the held-out rows that are at least as bad, over one and all of them; ties count."""
    steps = in_steps(np.array(held_out)).tolist()
    scores = sorted(set(steps) - {0})
    counts = ScoreCounts(
        rows=len(steps), scores=scores, counts=[steps.count(score) for score in scores]
    )
    found = conformal_p_values(np.array(new), counts)

    assert found.tolist() == [
        oracles.conformal_p_value(step, steps) for step in in_steps(np.array(new)).tolist()
    ]


@given(
    cut=st.integers(0, 60),
    stride=st.integers(1, 4),
    seed=st.integers(0, 9),
    first=st.integers(0, 9),
)
def test_parts_of_the_rows_add_up(cut, stride, seed, first):
    """Wherever rows are divided, the same rows are looked at, and the counts are the same."""
    forms = RuleSet.from_texts(TEXTS).forms()
    table = as_table(made_rows(60, seed))
    surprise = Surprise(np.random.default_rng(seed).random((4, EDGES.size + 1)))
    for question in (CountTails(forms, stride), CountScores("valid", forms, surprise, stride)):
        whole = question.add(Rows(table, {}), first, question.start())
        parts = [
            question.add(Rows(table.take(mask), {}), first + begin, question.start())
            for mask, begin in ((np.arange(60) < cut, 0), (np.arange(60) >= cut, cut))
        ]

        merged = question.finish(question.merge(*parts))
        assert merged == question.finish(whole)


def test_tails_are_counts_of_broken_rows_by_octave():
    """The rows that a rule applies to, then those in each octave up to the last that has some."""
    forms = RuleSet.from_texts(TEXTS).forms()
    found = CountTails(forms, 1).answer(
        rows_of([1.0, 5.0, 4.01, 8.0, None], ["a", "a", "b", "b", "a"])
    )

    assert found[0] == [4, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1]  # 0.0025, 0.25 and 1 width
    assert found[1] == [2, *[0] * 9, 1]  # 1.5 widths
    assert found[2] == [3, *[0] * 17, 2]  # no width at all


def test_formulas_over_the_same_columns_are_surprising_together():
    """That a country has one currency is one thing that no row breaks."""
    texts = ["k = a => c = x", "k = b => c = y", "k = a => c = z", "0 <= n <= 1"]
    rules = RuleSet.from_texts(texts, tail=[[90], [9], None, [10]])
    found = Surprise.of(rules).of_pairs(np.array([0, 1, 3]), np.array([inf, inf, 0.0]))

    assert found == pytest.approx([log(100) + log(4), log(100) + log(4), log(11)])


def test_the_scores_that_are_kept_are_those_of_a_check_of_the_held_out_rows():
    """What is counted while learning is what `row_scores` gives of the same rows."""
    train, valid = made_rows(400), made_rows(100, 1)
    schema = {"let": {"Y": "values(k)"}, "rules": ["? <= x <= ?", "k = Y => ? <= x <= ?"]}
    rules = sqrl.learn(train, {**schema, "coverage": 0.9, "validate": {"epsilon": 1}}, valid=valid)
    steps = in_steps(sqrl.check(rules, valid).row_scores())
    kept = rules.held_out.labels

    assert kept.rows == 100
    assert kept.scores == sorted(set(steps[steps > 0].tolist()))
    assert kept.counts == [int((steps == score).sum()) for score in kept.scores]
    assert rules[0].tail[0] == 400
