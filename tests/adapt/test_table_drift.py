"""How often conditions hold tells drifted columns from another balance of classes."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from sqrl._adapt.conditions import Body, Conditions, Remembered
from sqrl._adapt.second_opinion import form_opinion
from sqrl._adapt.standings import _moves
from sqrl._adapt.table_drift import (
    Counted,
    TableDrift,
    class_balance,
    find_drift,
    possible_move,
)
from sqrl._language import parse_formula
from sqrl._rules.ruleset import RuleSet

INSIDE = np.array([[0.2, 0.7], [0.5, 0.3], [0.6, 0.6], [0.1, 0.4]])  # P(condition | class)
BALANCE = np.array([0.6, 0.4])
N_BEFORE = 20_000


def remembered(n=N_BEFORE):
    """Four conditions, each of a column of its own, exactly as often as expected."""
    known = []
    for place, (zero, one) in enumerate(INSIDE):
        heads = n * BALANCE
        both = heads * (zero, one)
        by_class = {at: (both[at], heads[at], both.sum(), n) for at in (0, 1)}
        known.append(Remembered(frozenset({f"x{place}"}), both.sum(), n, by_class))
    bodies = tuple(Body((parse_formula(f"x{place} > 0"),)) for place in range(len(INSIDE)))
    return Conditions(bodies, tuple(known), {}, 2)


def truths(n, share, seed, wrong=None):
    """Where conditions hold in rows with a share of the second class; one may hold at random."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    made = rng.random((len(INSIDE), n)) < INSIDE[:, y]
    if wrong is not None:
        made[wrong] = rng.random(n) < 0.9
    return made, y


def test_rows_like_those_before_are_hardly_ever_refused():
    """The test keeps its level: of 300 tables without drift none or one is beyond it."""
    found = [find_drift(remembered(), Counted.of(truths(1000, 0.4, at)[0])) for at in range(300)]

    assert sum(one.drifted != frozenset() for one in found) <= 3
    assert np.mean([one.p_value < 0.1 for one in found]) == pytest.approx(0.1, abs=0.06)
    assert np.mean([one.has_moved for one in found]) < 0.12


@pytest.mark.parametrize("share", [0.05, 0.25, 0.8])
def test_the_balance_is_found_with_its_error(share):
    """Where only the balance differs, the estimate is right and its standard error too."""
    found = [find_drift(remembered(), Counted.of(truths(2000, share, at)[0])) for at in range(60)]
    estimates = np.array([one.now[1] for one in found])

    assert all(one.drifted == frozenset() and one.has_moved for one in found)
    assert estimates.mean() == pytest.approx(share, abs=0.01)
    assert 0.75 < np.mean([one.errors[1] for one in found]) / estimates.std() < 1.6


@pytest.mark.parametrize(("errors_off", "may", "has"), [(1, 0, 0), (3, 1, 0), (5, 1, 1)])
def test_a_balance_that_may_be_the_old_one_is_not_taken_for_another(errors_off, may, has):
    """Between two and four standard errors both are possible; the one remembered is likelier."""
    errors = np.array([0.01, 0.01])
    now = BALANCE + errors_off * errors * (-1, 1)
    drift = TableDrift(frozenset(), 0.5, BALANCE, now, errors, np.zeros(4))

    assert (drift.may_have_moved, drift.has_moved) == (bool(may), bool(has))
    assert (drift.likeliest is drift.now) == bool(has)


@pytest.mark.parametrize(("errors_off", "keeps_the_old"), [(3, True), (5, False)])
def test_bounds_hold_for_both_balances_where_both_are_possible(errors_off, keeps_the_old):
    """Of a precision of 1/2 at an even balance, which at a share s of the class is s itself."""
    even, errors = np.array([0.5, 0.5]), np.array([0.01, 0.01])
    now = even + errors_off * errors * (-1, 1)
    drift = TableDrift(frozenset(), 0.5, even, now, errors, np.zeros(1))
    (form,) = RuleSet.from_texts(["0.4 <= precision(x > 0 => y = 1) <= 0.6 over 100"]).forms()
    evidence = [100.0, 100.0, 50.0, 200.0]  # rows in the body, of the class, of both, all

    lower, upper = _moves(form, evidence, drift, "y", {"0": 0, "1": 1})

    assert upper == pytest.approx(now[1] + 0.01 - 0.5)
    assert lower == pytest.approx(0.0 if keeps_the_old else now[1] - 0.01 - 0.5)


def test_a_drifted_column_is_named_and_the_balance_still_known():
    """The other conditions say that nothing else has changed."""
    for wrong in range(len(INSIDE)):
        found = find_drift(remembered(), Counted.of(truths(4000, 0.4, 7, wrong)[0]))

        assert found.drifted == {f"x{wrong}"}
        assert abs(found.now[1] - 0.4) < 4 * found.errors[1]


def test_how_far_the_balance_may_have_moved_by_hand():
    """If x0 says what is so, 0.9 of the rows have the rate of x0, and 0.1 that of the others."""
    made, _ = truths(4000, 0.4, 7, wrong=0)
    conditions = remembered()
    found = find_drift(conditions, Counted.of(made))

    inside = 0.7 * 0.4 / 0.4
    outside = 0.3 * 0.4 / 0.6
    expected = (made[0].mean() - 0.4) * (inside - outside)
    assert possible_move(conditions, found, made) == pytest.approx(expected)


def test_what_neither_explains_is_another_population():
    """Two columns of four have drifted: then nothing is known of the others."""
    made, _ = truths(4000, 0.4, 3, wrong=0)
    made[3] = np.random.default_rng(5).random(4000) < 0.9

    assert find_drift(remembered(), Counted.of(made)).drifted is None


def test_the_fit_by_hand_for_one_condition():
    """One condition and one class: the balance is read off, and nothing is left to test."""
    n, conditions = 1000, remembered()
    one = Conditions(conditions.conditions[:1], conditions.remembered[:1], {}, 2)
    made = np.arange(n)[None] < 550  # 0.2 (1 - s) + 0.7 s = 0.55 at s = 0.7

    found = find_drift(one, Counted.of(made))

    assert class_balance(one.remembered, 2) == pytest.approx(BALANCE)
    assert found.now[1] == pytest.approx(0.7)
    moved = 0.3**2 * (1 / (N_BEFORE * 0.6) + 1 / (N_BEFORE * 0.4))
    variance = 1 / n + 1 / N_BEFORE + moved
    assert found.errors[1] == pytest.approx(np.sqrt(0.55 * 0.45 * variance) / 0.5, rel=0.01)


def test_the_statistic_is_chi_squared_by_hand():
    """Without classes: one condition, a plain test of two shares."""
    known = Remembered(frozenset({"x"}), 5_000.0, 10_000.0, {})
    one = Conditions((Body((parse_formula("x > 0"),)),), (known,), {}, 0)
    found = find_drift(one, Counted.of(np.arange(1000)[None] < 530))

    z = 0.03 / np.sqrt(0.53 * 0.47 * (1 / 1000 + 1 / 10_000))
    assert found.p_value == pytest.approx(chi2.sf(z**2, 1), rel=0.02)
    assert found.now is None


def test_an_opinion_has_the_rates_that_rules_remember():
    """Within each condition the classes are as often expected as remembered, and so in all."""
    made, _ = truths(20_000, 0.4, 11)
    opinion = form_opinion(remembered(), made, BALANCE)
    said = opinion.of_truths(made)

    for place, (zero, one) in enumerate(INSIDE):
        rate = one * 0.4 / (one * 0.4 + zero * 0.6)
        assert float(said[made[place], 1].mean()) == pytest.approx(rate, abs=0.01)
    assert float(said[:, 1].mean()) == pytest.approx(0.4, abs=1e-3)
    # Conditions are independent within classes, so the odds are products: known by hand.
    odds = np.log(0.4 / 0.6) + sum(
        np.where(made[at], np.log(one / zero), np.log((1 - one) / (1 - zero)))
        for at, (zero, one) in enumerate(INSIDE)
    )
    assert np.corrcoef(odds, torch.logit(said[:, 1]).numpy())[0, 1] > 0.999


def test_nobody_has_an_opinion_without_classes():
    """Conditions whose classes are not known say nothing of rows."""
    known = Remembered(frozenset({"x"}), 5_000.0, 10_000.0, {})
    one = Conditions((Body((parse_formula("x > 0"),)),), (known,), {}, 2)

    assert form_opinion(one, np.ones((1, 9), bool), BALANCE) is None
