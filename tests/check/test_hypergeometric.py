"""Tails of the hypergeometric distribution against scipy's and against definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import betabinom, binomtest, hypergeom

from sqrl._check.hypergeometric import at_least, at_most, coin_flips, log_factorial


@st.composite
def draws(draw):
    """k, population, marked, drawn; k may be impossible."""
    population = draw(st.integers(1, 300))
    marked, drawn = draw(st.integers(0, population)), draw(st.integers(0, population))
    return draw(st.integers(-2, drawn + 2)), population, marked, drawn


@given(draws())
def test_both_tails_agree_with_scipy(case):
    """The recursion sums what scipy sums."""
    k, population, marked, drawn = case

    assert at_least(*case) == pytest.approx(
        hypergeom.sf(k - 1, population, marked, drawn), abs=1e-11
    )
    assert at_most(*case) == pytest.approx(hypergeom.cdf(k, population, marked, drawn), abs=1e-11)


@given(n=st.integers(1, 200), m=st.integers(1, 200), data=st.data())
def test_the_beta_binomial_tail_is_a_hypergeometric_one(n, m, data):
    """At least k of m new samples lie below the a-th of n old ones, written in two ways."""
    a, k = data.draw(st.integers(1, n)), data.draw(st.integers(0, m))

    assert at_least(k, n + m, m, a + k - 1) == pytest.approx(
        betabinom.sf(k - 1, m, a, n + 1 - a), abs=1e-11
    )


def test_tiny_probabilities_keep_their_digits():
    """A tail of 1e-200 is not 1 minus something."""
    assert at_least(100, 1000, 100, 100) == pytest.approx(
        hypergeom.sf(99, 1000, 100, 100), rel=1e-9
    )
    assert at_least(100, 1000, 100, 100) < 1e-130


def test_a_thousand_tests_on_millions_of_rows_are_done_at_once():
    """One vectorised sum over the terms of the widest tail, not one over each test's rows."""
    tail = at_least(np.linspace(19_500, 20_500, 1000), 2e6, 1e6, 40_000)

    assert np.all(np.diff(tail) <= 0)
    assert tail[600] == pytest.approx(hypergeom.sf(20_099, 2_000_000, 1_000_000, 40_000), rel=0.05)


@given(st.integers(0, 60), st.integers(0, 60))
def test_coin_flips_are_the_sign_test(heads, tails):
    """The two-sided binomial test at one half; nothing flipped says nothing."""
    expected = binomtest(heads, heads + tails).pvalue if heads + tails else 1.0

    assert coin_flips(heads, tails) == pytest.approx(expected)


@given(st.lists(st.integers(0, 40) | st.integers(0, 10**12) | st.floats(0, 1e6), min_size=1))
def test_logarithms_of_factorials_are_those_of_scipy(n):
    """To 1e-14, relative to what is large and absolute where it is not."""
    np.testing.assert_allclose(log_factorial(n), gammaln(np.array(n) + 1.0), rtol=1e-14, atol=1e-13)
