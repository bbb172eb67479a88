"""Exact sums: the floats nearest the true mean and variance, whatever the order of the values."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from both_loops import loops_of  # noqa: F401  (runs each test on both)
from sqrl._kernels.sums import (
    SQUARES,
    SUMS,
    add_moments,
    finish_moments,
    merge_moments,
    start_moments,
)

TINY, HUGE = 5e-324, 1.7976931348623157e308
finite = st.floats(allow_nan=False, allow_infinity=False)
floats = st.one_of(finite, st.sampled_from([TINY, -TINY, HUGE, -HUGE, 2.0**-1022, 2.0**511, -0.0]))


def state_of(values, groups=0, n_groups=1):
    state = start_moments(n_groups)
    add_moments(np.array(values, float), groups, state)
    return state


def moments(state):
    """(count, mean, variance) of each group."""
    return list(zip(*(column.tolist() for column in finish_moments(state)), strict=True))


def nearest(fraction):
    try:
        return float(fraction)
    except OverflowError:
        return np.inf


def naive_moments(values):
    """By rational numbers."""
    exact = [Fraction(value) for value in values]
    if not exact:
        return 0, 0.0, 0.0
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    return len(exact), float(mean), nearest(variance)


@settings(deadline=None)
@given(st.lists(floats, max_size=20))
@example([HUGE, HUGE, HUGE])
@example([TINY, -TINY, TINY, 0.0])
@example([1e16, 1.0, -1e16])
@example([HUGE, TINY])
def test_moments_are_the_floats_nearest_the_exact_ones(values):
    """For every finite float64: nothing is rounded before the end, nothing over- or underflows."""
    assert moments(state_of(values)) == [naive_moments(values)]


@settings(deadline=None)
@given(st.lists(floats | st.just(np.nan), max_size=20), st.data())
def test_neither_order_nor_partition_changes_the_state(values, data):
    """Any division into parts, in any order, gives the same integers."""
    order = data.draw(st.permutations(range(len(values))))
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=20, max_size=20)))
    shuffled = np.array(values, float)[order]
    one, two, three = (state_of(shuffled[part[: len(values)] == k]) for k in range(3))
    merged = merge_moments(merge_moments(three, one), two)
    add_moments(np.empty(0), 0, merged)  # which carries

    assert moments(merged) == moments(state_of(values))
    in_turn = start_moments(1)
    for value in shuffled:
        add_moments(np.array([value]), 0, in_turn)
    assert in_turn.tolist() == state_of(values).tolist()


@settings(deadline=None)
@given(st.lists(st.tuples(floats | st.just(np.nan), st.integers(-1, 2)), max_size=30))
def test_each_value_goes_to_its_group(drawn):
    """nan goes to none, nor does a value of group -1."""
    values = [value for value, _ in drawn]
    groups = np.array([group for _, group in drawn], np.int64)
    found = moments(state_of(values, groups, n_groups=3))

    for group in range(3):
        own = [value for value, its in drawn if its == group and not np.isnan(value)]
        assert found[group] == naive_moments(own)


@pytest.mark.parametrize(
    "values", [[np.inf, 1.0], [1.0, -np.inf], [np.inf, -np.inf], [np.nan, np.inf, np.inf]]
)
def test_of_infinite_values_the_moments_are_those_of_numpy(values):
    """They are counted apart, and say that no mean or variance exists."""
    present = np.array(values)[~np.isnan(values)]
    with np.errstate(invalid="ignore"):
        expected = present.size, present.mean(), present.var()

    np.testing.assert_equal(moments(state_of(values))[0], expected)


def test_many_values_of_alternating_sign_leave_nothing():
    """Digits carry and borrow: the last value is all that remains."""
    values = np.tile([HUGE, -HUGE, TINY, -TINY, 0.1, -0.1], 50_000)
    state = state_of(values)
    add_moments(np.array([TINY]), 0, state)

    digits = slice(SUMS, SQUARES)
    assert state[0, 0] == values.size + 1
    assert state[0, digits].tolist() == state_of([TINY])[0, digits].tolist()


NEAR = st.builds(
    lambda mantissa, exponent: mantissa * 2.0**exponent,
    st.integers(-(2**53), 2**53),
    st.integers(-60, 60),
)
FAR = st.sampled_from(
    [0.0, -0.0, np.nan, np.inf, TINY, HUGE, 2.0**399, 2.0**400, 2.0**-400, 1e-130]
)


@settings(deadline=None)
@given(st.lists(NEAR | FAR, max_size=30))
@example([2.0**399 * (2 - 2.0**-52), -(2.0**-399)])
@example([1.0, 0.5 - 2.0**-54, -(2.0**-19), 2.0**-20, 3 * 2.0**-21])
def test_one_group_by_pieces_gives_the_digits_that_values_of_groups_give(values):
    """Sums of pieces and of their products are exact: both ways end in the same integers."""
    one = state_of(values)
    groups = np.zeros(len(values), np.int64)
    two = state_of([*values, 1.0], np.append(groups, 1), n_groups=2)

    assert one[0].tolist() == two[0].tolist()


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 100.0])
def test_many_values_of_one_group_are_summed_exactly(spread):
    """Several blocks of pieces, and blocks that lie too far apart to be taken as such."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=20_001) * np.exp(spread * rng.normal(size=20_001))
    values[::97] = np.nan
    n, mean, variance = moments(state_of(values))[0]

    assert (n, mean, variance) == naive_moments(values[~np.isnan(values)].tolist())
