"""E-values against their definition, and what they promise: a mean of at most 1."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, binom

from sqrl._check.null_tests import share_test
from sqrl._history.e_values import (
    SHIFTS,
    e_bh,
    either_way,
    normal_evidence,
    share_evidence,
    z_of,
)


def of_shares(rows, hits, new_rows, new_hits):
    """Log e-values of numbers or arrays."""
    arrays = np.broadcast_arrays(rows, hits, new_rows, new_hits)
    return share_evidence(*(np.ravel(one).astype(np.float64) for one in arrays))


@pytest.mark.parametrize(("rows", "hits"), [(999, 19), (50, 0), (40, 30)])
def test_an_e_value_is_a_ratio_of_two_urns(rows, hits):
    """Beta-binomials of as many balls: that of the past, and one with a higher share."""
    drawn, k = 100, np.arange(101)
    balls, share = rows + 1, (hits + 1) / (rows + 1)
    past = betabinom(drawn, hits + 1, rows - hits)
    for place, shift in enumerate(SHIFTS):
        moved = min(share + shift * past.std() / drawn, (1 + share) / 2)
        after = betabinom(drawn, moved * balls, (1 - moved) * balls)
        expected = after.logpmf(k) - past.logpmf(k)

        np.testing.assert_allclose(of_shares(rows, hits, drawn, k)[:, place], expected, atol=1e-8)


@pytest.mark.parametrize(("rows", "hits", "drawn"), [(999, 19, 100), (50, 0, 300), (7, 6, 9)])
def test_the_mean_of_an_e_value_over_all_draws_is_one(rows, hits, drawn):
    """Exactly so where bounds are order statistics: what is outside them is that urn."""
    k = np.arange(drawn + 1)
    weight = betabinom(drawn, hits + 1, rows - hits).pmf(k)

    mean = weight @ np.exp(of_shares(rows, hits, drawn, k))

    np.testing.assert_allclose(mean, 1.0, rtol=1e-9)


@pytest.mark.parametrize(("rows", "drawn"), [(20, 5), (100, 20), (50, 50), (30, 200)])
def test_the_mean_is_at_most_one_whatever_the_share_of_rows_held_out(rows, drawn):
    """Also where the past is counted, not bounded, and drawn from any share that stays."""
    hits, k = np.meshgrid(np.arange(rows + 1), np.arange(drawn + 1), indexing="ij")
    e = np.exp(of_shares(rows, hits, drawn, k))
    for share in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99):
        weight = binom.pmf(hits, rows, share) * binom.pmf(k, drawn, share)

        assert (weight.ravel() @ e).max() <= 1 + 1e-9


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_the_mean_of_products_over_windows_is_at_most_one(share):
    """Each window against all before it; summed over every past and three windows of 6 rows."""
    rows, drawn = 12, 6
    past, a, b, c = np.meshgrid(*map(np.arange, (13, 7, 7, 7)), indexing="ij")
    weight = binom.pmf(past, rows, share)
    log_product = 0.0
    for number, new in enumerate((a, b, c)):
        weight = weight * binom.pmf(new, drawn, share)
        before = past + sum((a, b)[:number])
        log_product += of_shares(rows + number * drawn, before, drawn, new)

    assert (weight.ravel() @ np.exp(log_product)).max() <= 1 + 1e-9


@given(rows=st.integers(1, 60), data=st.data())
def test_tails_of_the_urn_are_p_values_of_fishers_test(rows, data):
    """So that history and check agree on what is odd."""
    hits = data.draw(st.integers(0, rows - 1))
    drawn = data.draw(st.integers(1, 30))
    k = data.draw(st.integers(0, drawn))
    tail = betabinom(drawn, hits + 1, rows - hits).sf(k - 1)

    assert share_test((rows, hits), (drawn, k))[1] == pytest.approx(tail, rel=1e-6, abs=1e-12)


def test_windows_that_say_nothing_have_an_e_value_of_one():
    """No rows before, none now, a p-value that is not known."""
    assert (of_shares([0, 10], [0, 1], [5, 0], [1, 0]) == 0).all()
    assert (normal_evidence(np.array([np.nan])) == 0).all()
    assert (either_way(z_of(np.array([np.nan]), np.array([True]))) == 0).all()


def test_normal_e_values_have_a_mean_of_one():
    """By quadrature over a standard normal variable; twice as likely a p-value counts less."""
    z = np.linspace(-12, 16, 40001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])

    np.testing.assert_allclose(density @ np.exp(normal_evidence(z)), 1.0, rtol=1e-6)
    np.testing.assert_allclose(density @ np.exp(either_way(z)), 1.0, rtol=1e-6)
    p = (np.arange(100000) + 0.5) / 100000
    larger = either_way(z_of(np.minimum(2 * p, 1.0), np.ones(p.size, np.bool_)))
    assert (np.exp(larger).mean(axis=0) < 1).all()


def test_a_p_value_of_zero_has_a_finite_e_value():
    """Rounding gives such p-values."""
    assert np.isfinite(either_way(z_of(np.array([0.0]), np.array([True])))).all()


OFF_THE_LIMITS = st.integers(0, 100_000).map(lambda whole: whole + 0.37)  # so are n / (level k)


@given(st.lists(OFF_THE_LIMITS, min_size=1, max_size=12), st.sampled_from([0.05, 0.5, 0.01]))
def test_e_bh_rejects_what_its_definition_rejects(values, level):
    """The k largest for the largest k such that the k-th is at least n / (level k)."""
    rejected = e_bh(np.log(np.array(values)), level)
    ordered = sorted(values, reverse=True)
    enough = [
        place
        for place, value in enumerate(ordered, start=1)
        if value >= len(values) / (level * place)
    ]
    k = max(enough, default=0)

    assert sorted(np.array(values)[rejected], reverse=True) == ordered[:k]


def test_e_bh_keeps_its_level_where_e_values_depend_on_one_another():
    """One variable behind all of twenty e-values: the worst case of BH with p-values."""
    rng = np.random.default_rng(0)
    u = rng.random(20000)
    same = np.where(u < 0.05 / 20, log(20 / 0.05), -50.0)  # all or nothing, the mean is 1
    false = [e_bh(np.full(20, one), 0.05).any() for one in same[:4000]]

    assert np.mean(false) <= 0.05
