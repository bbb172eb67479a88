"""Bounds of sorted samples: percentiles as numpy gives them, tolerance bounds as promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import beta

from sqrl._rows.quantiles import (
    LARGE_GROUP,
    BoundMethod,
    BoundOptions,
    grouped_bounds,
    sort_groups,
    tolerance_depth,
)

PERCENTILE = BoundOptions(min_support=1)
TOLERANCE = BoundOptions(method="tolerance", confidence=0.95, min_support=1)


@given(
    values=arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    coverage=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.98, 0.99]),
    n_groups=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_grouped_bounds_are_numpys_percentiles_bit_for_bit(values, coverage, n_groups, seed):
    """One sort for all groups gives what numpy.percentile gives for each group by itself."""
    groups = np.random.default_rng(seed).integers(0, n_groups, values.size)
    delta = round(1 - coverage, 12)
    lower, upper, support = grouped_bounds(
        values, groups, n_groups, BoundMethod(delta, True, True, PERCENTILE)
    )

    for group in range(n_groups):
        mine = values[(groups == group) & ~np.isnan(values)]
        assert support[group] == mine.size
        if mine.size == 0:
            assert np.isnan(lower[group])
            assert np.isnan(upper[group])
        else:
            tail = 100 * round(delta / 2, 12)
            assert lower[group] == np.percentile(mine, tail)
            assert upper[group] == np.percentile(mine, 100 - tail)


@given(seed=st.integers(0, 10**6), n_groups=st.sampled_from([1, 2, 3, 7]), zeros=st.booleans())
def test_groups_large_and_small_are_sorted_alike(seed, n_groups, zeros):
    """As a stable sort of each by itself does it, to the sign of a zero."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, rng.integers(0, 3 * LARGE_GROUP * n_groups)) / 2
    values[rng.random(values.size) < 0.1] = np.nan
    values[values == 0] = np.where(rng.random((values == 0).sum()) < 0.5, 0.0, -0.0 * zeros)
    groups = rng.integers(0, n_groups, values.size)
    ordered, starts, counts = sort_groups(values, groups, n_groups)

    for group in range(n_groups):
        mine = sorted(values[(groups == group) & ~np.isnan(values)].tolist())
        found = ordered[starts[group] : starts[group] + counts[group]]
        assert list(map(str, found.tolist())) == list(map(str, mine))


def test_a_98_percent_interval_lies_at_the_first_and_99th_percentile():
    """The tails of a two-sided rule share delta, free of the rounding noise of 1 - 0.98."""
    values = np.random.default_rng(0).normal(size=777)
    method = BoundMethod(0.02, True, True, PERCENTILE)
    lower, upper, _ = grouped_bounds(values, np.zeros(777, np.int64), 1, method)

    assert method.tail == 0.01
    assert [lower[0], upper[0]] == np.percentile(values, [1, 99]).tolist()


@pytest.mark.parametrize(("has_lower", "has_upper"), [(True, False), (False, True)])
def test_a_one_sided_bound_leaves_all_of_delta_on_its_side(has_lower, has_upper):
    """The open end is the data's own minimum or maximum, for Jaccard to compare."""
    values = np.random.default_rng(1).normal(size=501)
    method = BoundMethod(0.02, has_lower, has_upper, PERCENTILE)
    lower, upper, _ = grouped_bounds(values, np.zeros(501, np.int64), 1, method)

    if has_lower:
        assert lower[0] == np.percentile(values, 2)
        assert upper[0] == values.max()
    else:
        assert upper[0] == np.percentile(values, 98)
        assert lower[0] == values.min()


@pytest.mark.parametrize(("coverage", "needed"), [(0.98, 50), (0.95, 20), (0.9, 10), (0.99, 100)])
def test_a_bound_needs_one_over_delta_samples_by_default(coverage, needed):
    """With fewer samples not even one is expected outside, so nothing is known of the tail."""
    method = BoundMethod(round(1 - coverage, 12), True, True, BoundOptions())
    too_few = grouped_bounds(np.arange(needed - 1.0), np.zeros(needed - 1, np.int64), 1, method)
    enough = grouped_bounds(np.arange(float(needed)), np.zeros(needed, np.int64), 1, method)

    assert method.min_support == needed
    assert np.isnan(too_few[0][0])
    assert not np.isnan(enough[0][0])


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("delta", "confidence"), [(0.02, 0.95), (0.1, 0.99), (0.05, 0.5)])
def test_tolerance_depth_is_the_deepest_that_the_beta_distribution_allows(
    two_sided, delta, confidence
):
    """The share covered is Beta distributed whatever the data; one step deeper is too deep."""
    ends = 2 if two_sided else 1
    counts = np.arange(1, 900)

    def confidence_of(n, depth):
        j = ends * depth
        return beta.sf(1 - delta, n + 1 - j, j) if j < n + 1 else 0.0

    depths = tolerance_depth(counts, delta, confidence, two_sided)

    for n, depth in zip(counts, depths, strict=True):
        assert depth == 0 or confidence_of(n, depth) >= confidence
        assert confidence_of(n, depth + 1) < confidence


def test_tolerance_bounds_keep_their_promise_in_a_thousand_draws():
    """At least 95 % of draws cover at least 98 % of the distribution, as stated."""
    rng = np.random.default_rng(3)
    n_draws, n = 1000, 400
    draws = rng.random((n_draws, n))  # of a uniform, the interval's length is the share it covers
    method = BoundMethod(0.02, True, True, TOLERANCE)
    groups = np.repeat(np.arange(n_draws), n)
    lower, upper, _ = grouped_bounds(draws.ravel(), groups, n_draws, method)
    kept = np.mean(upper - lower >= 0.98)
    percentile = BoundMethod(0.02, True, True, PERCENTILE)
    plain_lower, plain_upper, _ = grouped_bounds(draws.ravel(), groups, n_draws, percentile)

    depth = int(tolerance_depth(np.array([n]), 0.02, 0.95, True)[0])
    promised = beta.sf(0.98, n + 1 - 2 * depth, 2 * depth)
    three_sigma = 3 * np.sqrt(promised * (1 - promised) / n_draws)
    assert promised >= 0.95
    assert abs(kept - promised) <= three_sigma
    assert np.mean(plain_upper - plain_lower >= 0.98) < 0.6  # percentiles promise no such thing


def test_too_few_samples_for_a_tolerance_bound_give_none():
    """148 samples cannot carry a one-sided 98 % bound with 95 % confidence; 149 can."""
    method = BoundMethod(0.02, True, False, TOLERANCE)
    lower = [
        grouped_bounds(np.arange(float(n)), np.zeros(n, np.int64), 1, method)[0][0]
        for n in (148, 149)
    ]

    assert np.isnan(lower[0])
    assert lower[1] == 0.0
