"""Tests of the null hypothesis: each against its definition, scipy, or a simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, fisher_exact, norm, ttest_ind_from_stats

import naive
from sqrl._check.null_tests import (
    as_share,
    benjamini_hochberg,
    counts_test,
    fisher,
    mean_test,
    normal_below,
    outside_of_batches,
    outside_spacings,
    outside_test,
    share_test,
    worst_piece,
)
from sqrl._rows.quantiles import BoundMethod, BoundOptions, grouped_bounds, tolerance_depth

SIDES = [(True, True), (True, False), (False, True)]
PERCENTILE = BoundOptions(min_support=1)
TOLERANCE = BoundOptions(method="tolerance", confidence=0.9)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("delta", [0.02, 0.1, 0.37])
def test_gaps_outside_percentile_bounds_follow_from_numpy_percentile(sides, delta):
    """With samples at 0, 1, 2, ... a bound's value says how many gaps it leaves outside."""
    method = BoundMethod(delta, *sides, PERCENTILE)
    tail = delta / sum(sides)
    for n in (1, 2, 7, 50, 101, 999):
        lower, upper = np.percentile(np.arange(n), [100 * tail, 100 * (1 - tail)])
        expected = (lower + 1) * sides[0] + (n - upper) * sides[1]
        cut = (np.ceil(lower) + 1) * sides[0] + (n - np.floor(upper)) * sides[1]
        gaps = outside_spacings(np.array([n]), method)

        assert gaps[0][0] == pytest.approx(expected)
        assert gaps[1][0] == pytest.approx(cut, abs=1)  # rounding may cut one gap more
        assert gaps[1][0] >= gaps[0][0] - 1e-9


@pytest.mark.parametrize("sides", SIDES)
def test_gaps_outside_tolerance_bounds_are_whole(sides):
    """The k-th smallest sample leaves k gaps below it, and the k-th largest k above."""
    method = BoundMethod(0.1, *sides, TOLERANCE)
    for n in (40, 60, 200, 1000):
        depth = tolerance_depth(np.array([n]), 0.1, 0.9, all(sides))[0]
        gaps = outside_spacings(np.array([n]), method)

        assert [gaps[0][0], gaps[1][0]] == [sum(sides) * depth] * 2


def test_gaps_are_unknown_where_a_bound_has_no_support():
    """Fewer samples than a bound needs test nothing."""
    method = BoundMethod(0.02, True, True, BoundOptions())
    p = outside_test(np.array([3]), np.array([10]), np.array([12]), method)[1]

    assert np.isnan(outside_spacings(np.array([49]), method)).all()
    assert np.isnan(p).all()


@pytest.mark.parametrize("options", [PERCENTILE, TOLERANCE], ids=["percentile", "tolerance"])
@pytest.mark.parametrize("sides", SIDES)
def test_p_values_are_the_beta_binomial_of_scipy(options, sides):
    """At least k of m outside, where the share outside is Beta(gaps, n + 1 - gaps)."""
    method = BoundMethod(0.1, *sides, options)
    support = np.array([60, 100, 1000])
    broken, applicable = np.array([9, 20, 120]), np.array([50, 200, 1000])
    gaps = outside_spacings(support, method)
    expected, p = outside_test(broken, applicable, support, method)

    np.testing.assert_allclose(
        p, betabinom.sf(broken - 1, applicable, gaps[1], support + 1 - gaps[1]), rtol=1e-9
    )
    np.testing.assert_allclose(
        expected, betabinom.mean(applicable, gaps[0], support + 1 - gaps[0]), rtol=1e-9
    )


@pytest.mark.parametrize("options", [PERCENTILE, TOLERANCE], ids=["percentile", "tolerance"])
@pytest.mark.parametrize("sides", SIDES)
def test_counts_outside_follow_the_beta_binomial_whatever_the_distribution(options, sides):
    """Learn bounds from n skewed samples and count m new ones outside, many times over."""
    rng = np.random.default_rng(3)
    method = BoundMethod(0.1, *sides, options)
    n, m, runs = 61, 40, 4000
    old = rng.lognormal(0, 2, (runs, n))
    new = rng.lognormal(0, 2, (runs, m))
    lower, upper, _ = grouped_bounds(old.ravel(), np.repeat(np.arange(runs), n), runs, method)
    low = np.where(sides[0], lower, -np.inf)[:, None]
    high = np.where(sides[1], upper, np.inf)[:, None]
    broken = ((new < low) | (new > high)).sum(axis=1)
    expected, p = outside_test(broken, np.full(runs, m), np.full(runs, n), method)
    is_exact = options is TOLERANCE  # a percentile cuts gaps: its p-values err on the safe side

    assert broken.mean() == pytest.approx(expected[0], rel=0.05 if is_exact else 0.25)
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / runs)
    if is_exact:
        for k in range(1, 12):
            tail = betabinom.sf(k - 1, m, *_beta(n, method))
            assert np.mean(broken >= k) == pytest.approx(tail, abs=0.03)


def _beta(n, method):
    gaps = outside_spacings(np.array([n]), method)[1][0]
    return gaps, n + 1 - gaps


def test_equal_values_make_p_values_larger_never_smaller():
    """A value on the bound holds, so ties only lose violations."""
    rng = np.random.default_rng(4)
    method = BoundMethod(0.1, True, True, PERCENTILE)
    n, m, runs = 80, 60, 1500
    old, new = rng.integers(0, 12, (runs, n)) * 1.0, rng.integers(0, 12, (runs, m))
    lower, upper, _ = grouped_bounds(old.ravel(), np.repeat(np.arange(runs), n), runs, method)
    broken = ((new < lower[:, None]) | (new > upper[:, None])).sum(axis=1)
    p = outside_test(broken, np.full(runs, m), np.full(runs, n), method)[1]

    assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 / runs)


def test_no_samples_and_nothing_broken_have_p_value_one():
    """Nothing seen is no surprise."""
    method = BoundMethod(0.02, True, True, BoundOptions())
    expected, p = outside_test(np.array([0, 0]), np.array([0, 50]), np.array([100, 100]), method)

    assert p.tolist() == [1.0, 1.0]
    assert expected[0] == 0


def test_the_worst_piece_speaks_for_its_rule():
    """Bonferroni over the pieces that were tested; a rule without any has no p-value."""
    p = worst_piece(np.array([0.02, 0.5, np.nan, np.nan, 0.9]), np.array([0, 0, 0, 1, 2]), 4)

    np.testing.assert_array_equal(p, [0.04, np.nan, 0.9, np.nan])


# Against held-out rows


@given(
    seen=st.tuples(st.integers(1, 60), st.floats(0, 1)),
    new=st.tuples(st.integers(1, 60), st.floats(0, 1)),
)
def test_shares_are_compared_by_fishers_exact_test(seen, new):
    """One-sided for more broken, two-sided as twice the smaller tail."""
    (n, a), (m, b) = [(rows, int(share * rows)) for rows, share in (seen, new)]
    table = [[b, m - b], [a, n - a]]
    above, below = (fisher_exact(table, side).pvalue for side in ("greater", "less"))
    both = fisher(*((np.array([x * 1.0]), np.array([y * 1.0])) for x, y in ((n, a), (m, b))))

    assert share_test((n, a), (m, b))[1] == pytest.approx(above, abs=1e-9)
    assert both[0] == pytest.approx(min(1, 2 * min(above, below)), abs=1e-9)


def test_shares_without_rows_are_not_compared():
    """No held-out rows, or no new ones, is no evidence."""
    assert np.isnan(share_test((0.0, 0.0), (9.0, 3.0))).all()
    assert share_test((9.0, 3.0), (0.0, 0.0))[0] == 0
    assert np.isnan(share_test((9.0, 3.0), (0.0, 0.0))[1])
    assert np.isnan(fisher((np.array([0.0]), np.array([0.0])), (np.array([5.0]), np.array([1.0]))))


def test_means_are_compared_by_students_test_with_the_greater_variance():
    """From the moments alone, what scipy finds from two samples that both have it."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1, 40), rng.normal(0.4, 3, 90)
    moments = [[x.size, x.mean(), x.var()] for x in (one, other)]
    widest = max(one.std(ddof=1), other.std(ddof=1))
    sides = [(x.mean(), widest, x.size) for x in (one, other)]

    assert mean_test(*(np.array([x]) for x in moments)) == pytest.approx(
        ttest_ind_from_stats(*sides[0], *sides[1]).pvalue, rel=1e-3
    )


@pytest.mark.parametrize(
    ("seen", "new", "p"),
    [
        ([5.0, 1.0, 1.0], [50.0, 9.0, 1.0], np.nan),
        ([50.0, 1.0, 0.0], [50.0, 1.0, 0.0], 1.0),
        ([50.0, 1.0, 0.0], [50.0, 2.0, 0.0], 0.0),
    ],
    ids=["too few", "constant and equal", "constant and not"],
)
def test_means_that_no_test_suits(seen, new, p):
    """Too few rows say nothing; constants are equal or not."""
    assert mean_test(np.array([seen]), np.array([new])) == pytest.approx(p, nan_ok=True)


COUNTS = ["f1", "f1_given", "precision", "recall", "accuracy", "support", "rate"]


@pytest.mark.parametrize("statistic", [*COUNTS, "lift"])
def test_statistics_of_counts_keep_their_level(statistic):
    """Two samples of the same rows: p-values below a level are no more frequent than the level."""
    rng = np.random.default_rng(5)
    p = counts_test(statistic, _tables(rng, 300, 4000), _tables(rng, 900, 4000))

    assert not np.isnan(p).any()
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / p.size)
    assert np.mean(p <= 0.2) > 0.1  # and not much less


def _tables(rng, n_rows, runs):
    """[body, head, both, rows] of random rows."""
    cells = rng.multinomial(n_rows, [0.15, 0.2, 0.25, 0.4], runs).astype(float)
    both, body, head = cells[:, 0], cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    return np.stack([body, head, both, np.full(runs, float(n_rows))], axis=1)


@given(st.lists(st.integers(0, 30), min_size=8, max_size=8))
def test_the_share_behind_a_statistic_rises_and_falls_with_it(cells):
    """Where the statistic is larger the share is, so a test of one is a test of the other."""
    counts = []
    for both, body, head, neither in (cells[:4], cells[4:]):
        counts.append([both + body, both + head, both, both + body + head + neither])
    for statistic in COUNTS[:-1]:
        values = [naive.count_statistic(statistic, *one) for one in counts]
        if None in values:
            continue
        (n, m), (a, b) = as_share(statistic, np.array(counts))

        assert np.sign(values[0] - values[1]) == np.sign(a * m - b * n) or values[
            0
        ] == pytest.approx(values[1])


def test_lift_is_not_tested_on_few_rows():
    """A normal approximation of a handful of rows is worth nothing."""
    few = np.array([[4.0, 5.0, 3.0, 50.0]])

    assert np.isnan(counts_test("lift", few, few))


def test_the_share_of_mini_batches_outside_is_that_of_a_simulation():
    """Held-out rows say how often new mini-batches fall outside."""
    rng = np.random.default_rng(6)
    seen = _tables(rng, 4000, 1)
    cells = rng.multinomial(400, [0.15, 0.2, 0.25, 0.4], 4000)
    f1 = 2 * cells[:, 0] / (2 * cells[:, 0] + cells[:, 1] + cells[:, 2])
    found = outside("f1", seen, 0.34, 0.42, 400)

    assert found == pytest.approx(np.mean((f1 < 0.34) | (f1 > 0.42)), abs=0.06)
    assert outside("mean", [[1e9, 0.0, 1.0]], -np.inf, 0.2, 100) == pytest.approx(norm.sf(2), 1e-3)
    assert outside("mean", [[99, 1.0, 0.0]], 0.0, 2.0, 100) == 0
    assert outside("mean", [[99, 3.0, 0.0]], 0.0, 2.0, 100) == 1
    assert np.isnan(outside("mean", [[3, 1.0, 1.0]], 0.0, 2.0, 100))


def outside(statistic, seen, lower, upper, size):
    """The share outside for one rule."""
    ends = [np.array([float(end)]) for end in (lower, upper, size)]
    return outside_of_batches(statistic, np.array(seen), *ends)[0]


# Many rules


def naive_benjamini_hochberg(p, level):
    """Reject the k smallest, k the largest for which the k-th is at most level k / m."""
    known = sorted(x for x in p if not np.isnan(x))
    passing = [k for k, x in enumerate(known, start=1) if x <= level * k / len(known)]
    limit = known[passing[-1] - 1] if passing else -1.0
    return [bool(x <= limit) for x in p]


@given(
    st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.05, 0.3, 1.0, np.nan]), max_size=12),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_benjamini_hochberg_by_definition(p, level):
    """The step-up procedure, ties and unknown p-values included."""
    rejected = benjamini_hochberg(np.array(p, float), level)

    assert rejected.tolist() == naive_benjamini_hochberg(p, level)


@given(st.lists(st.floats(-40, 40) | st.sampled_from([np.nan, np.inf, -np.inf]), min_size=1))
def test_normal_probabilities_are_those_of_scipy(x):
    """Deep tails keep their digits, down to where scipy has 0; nan stays nan."""
    np.testing.assert_allclose(normal_below(np.array(x)), norm.cdf(x), rtol=1e-12, atol=1e-300)
