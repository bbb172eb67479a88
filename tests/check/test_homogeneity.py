"""Tests of shares: against brute force, at their level, and with the power they are there for."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

import oracles
from sqrl._check.homogeneity import SharesCase, chi_square_above, shares_tests


def case(reference, new, *, is_ordered=True, has_other=False):
    """What one rule compares."""
    lines = [np.atleast_2d(np.array(counts, np.float64)) for counts in (reference, new)]
    return SharesCase(*lines, is_ordered, has_other)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 50, 201])
def test_the_tail_of_chi_square_is_that_of_scipy(freedom):
    """A finite sum, far into the tail."""
    for value in (0.0, 0.5, freedom, 3.0 * freedom + 20.0):
        expected = chi2.sf(value, freedom)

        assert chi_square_above(value, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_two_cells_are_fishers_exact_test():
    """Nothing else is done, so that nothing is multiplied."""
    found = shares_tests([case([90, 10], [20, 9])])[0]

    assert found == pytest.approx(oracles.fisher_twice(90, 10, 20, 9))


@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_close_to_those_of_all_permutations(seed):
    """Rows of both samples dealt out anew: as extreme a least p-value is about as frequent."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(5))
    reference, new = rng.multinomial(400, shares), rng.multinomial(100, shares + 0)
    new = new + np.array([8, 0, 0, 0, 0]) * seed
    found = shares_tests([case(reference, new)])[0]
    dealt = oracles.dealt_anew(reference, new, 2000, rng)
    others = shares_tests([case(*one) for one in dealt])

    assert (others <= found).mean() <= found + 0.03


def test_strata_are_permuted_each_by_itself():
    """How many rows a stratum has plays no part: a column whose own shares moved breaks nothing."""
    rng = np.random.default_rng(0)
    within = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    reference = np.stack([rng.multinomial(n, p) for n, p in zip((900, 100), within, strict=True)])
    new = np.stack([rng.multinomial(n, p) for n, p in zip((100, 900), within, strict=True)])
    apart = shares_tests([case(reference.sum(axis=0), new.sum(axis=0))])[0]

    assert apart < 1e-20
    assert shares_tests([case(reference, new)])[0] > 0.05


def test_a_column_shuffled_in_a_fifth_of_the_rows_is_seen():
    """No share of either column moves; the mixture is what sees it."""
    rng = np.random.default_rng(1)

    def rows(n, shuffled):
        x = rng.normal(size=n)
        y = 0.7 * x + 0.7 * rng.normal(size=n)
        some = rng.random(n) < shuffled
        y[some] = rng.permutation(y[some])
        cells = [np.searchsorted([-0.7, 0.0, 0.7], one) for one in (x, y)]
        return np.bincount(cells[0] * 4 + cells[1], minlength=16).reshape(4, 4)

    found = shares_tests([case(rows(20_000, 0), rows(2000, 0.2)) for _ in range(20)])

    assert np.median(found) < 1e-3


def test_samples_that_cannot_be_compared_have_no_p_value():
    """Without rows on one side, in every stratum, nothing can be said."""
    lone = case([[5, 5], [0, 0]], [[0, 0], [3, 4]])

    assert np.isnan(shares_tests([case([5, 5], [0, 0]), lone])).all()
    assert shares_tests([case([5, 5], [1, 0])]) == [1.0]
    assert shares_tests([case([50, 0], [1, 0])]) == [1.0]


def test_other_values_have_no_place_in_the_order():
    """A value never seen is news by itself, not because it comes last."""
    found = shares_tests([case([300, 300, 300, 0], [30, 30, 30, 9], has_other=True)])[0]

    assert found < 1e-6


@pytest.mark.parametrize("rows", [(3000, 50), (3000, 500), (500, 2000)])
@pytest.mark.parametrize(
    "shares",
    [np.array([0.99, 0.01]), np.full(10, 0.1), 1 / np.arange(1, 21) ** 2, 1 / np.arange(1, 51)],
    ids=["rare", "even", "skewed", "many"],
)
def test_shares_hold_their_level(shares, rows):
    """Two samples of one distribution: p-values below a level are no more frequent than it."""
    rng = np.random.default_rng(0)
    n, m = rows
    drawn = [rng.multinomial(size, shares / shares.sum(), 1500) for size in (n, m)]
    found = shares_tests([case(*one) for one in zip(*drawn, strict=True)])

    for level in (0.05, 0.01):
        assert (found <= level).mean() <= level + 3 * np.sqrt(level / 1500)


def test_strata_hold_their_level():
    """With strata too, of a column that depends on them."""
    rng = np.random.default_rng(0)
    within = rng.dirichlet(np.ones(4), size=4).ravel() / 4
    drawn = [rng.multinomial(size, within, 1500).reshape(-1, 4, 4) for size in (3000, 500)]
    found = shares_tests([case(*one) for one in zip(*drawn, strict=True)])

    for level in (0.05, 0.01):
        assert (found <= level).mean() <= level + 3 * np.sqrt(level / 1500)


def test_the_variance_of_a_rank_sum_is_that_of_all_orders():
    """Draws without replacement, enumerated."""
    from sqrl._check.homogeneity import _normal

    reference, new, scores = np.array([[2.0, 1.0]]), np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]])
    values = [0.0] * 3 + [1.0] * 3
    sums = [sum(order[:3]) for order in permutations(values)]

    assert _normal(reference, new, scores) == []  # too few rows to be nearly normal
    many = _normal(40 * reference, 40 * new, scores)[0]
    n = 240
    variance = np.var(sums)  # of 3 of 6: 3 * 3 / (6 * 5) * 6 / 4
    assert variance == pytest.approx(9 / 30 * 1.5)
    expected = 120 * 120 / (n * (n - 1)) * 60
    assert many == pytest.approx(oracles.normal_twice(20 / np.sqrt(expected)))
