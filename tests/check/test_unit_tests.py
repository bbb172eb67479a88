"""Tests by units: sums of powers, the moments of a draw without replacement, and the level."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqrl._check.unit_lines import Line, powers, residual_sums
from sqrl._check.unit_tests import FEWEST_UNITS, Sides, unit_p_value

UPWARDS, EITHER = Sides(both=False, hits=False), Sides(both=True, hits=False)


def p_value(old, new, sides=UPWARDS):
    """The p-value from trials and hits of each unit, old and new."""
    lines = [powers(Line(np.array(a, float), np.array(b, float))).tolist() for a, b in (old, new)]
    return unit_p_value(*lines, sides)


counts = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 50)).map(lambda ab: (ab[0], min(ab))),
    min_size=1,
    max_size=12,
)


@given(counts, st.floats(0, 1))
def test_residual_sums_are_those_of_a_loop_over_units(units, share):
    """Sums of powers say all that the test needs, for any share of all units."""
    a, b = np.array(units, float).T
    found = residual_sums(powers(Line(a, b)), share)
    by_hand = [sum((y - share * x) ** power for x, y in units) for power in range(1, 5)]

    scale = [sum((x + y) ** power for x, y in units) for power in range(1, 5)]
    assert np.allclose(found, by_hand, rtol=0, atol=1e-12 * max(scale))


@given(counts, counts)
def test_powers_add_up_over_units(first, second):
    """What two files say together is the sum of what each says."""
    both, one, other = (Line(*np.array(u, float).T) for u in (first + second, first, second))

    assert np.allclose(powers(one) + powers(other), powers(both), rtol=1e-12)


def test_a_p_value_is_that_of_all_draws_of_units():
    """Against every way to choose the new units among all, the tail is close or too large."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a = rng.integers(1, 9, 14)
        b = rng.binomial(a, rng.beta(2, 3, 14))
        new = rng.choice(14, 6, replace=False)
        old = np.setdiff1d(np.arange(14), new)
        residual = b - b.sum() / a.sum() * a
        every = np.array([residual[list(c)].sum() for c in combinations(range(14), 6)])
        exact = float((every >= residual[new].sum() - 1e-9).mean())
        found = p_value((a[old], b[old]), (a[new], b[new]))

        assert found >= 0.6 * exact - 0.01
        assert found <= exact + 0.12


def test_no_p_value_is_below_one_over_the_number_of_draws():
    """Five units against five can be drawn in 252 ways: more cannot be known."""
    old, new = ([4] * 5, [0] * 5), ([400] * 5, [400] * 5)

    assert p_value(old, new) >= 1 / comb(10, 5)


@pytest.mark.parametrize("n_new", [1, FEWEST_UNITS - 1])
def test_of_too_few_units_a_move_says_nothing(n_new):
    """Nothing is claimed where nothing can be."""
    assert np.isnan(p_value(([5] * 50, [0] * 50), ([5] * n_new, [5] * n_new)))


def test_units_that_all_have_the_same_share_have_not_moved():
    """A share that nothing varies in is not divided by zero."""
    assert p_value(([5] * 9, [0] * 9), ([5] * 9, [0] * 9), EITHER) == 1.0
    assert p_value(([5, 2] * 9, [5, 2] * 9), ([5, 3] * 9, [5, 3] * 9), EITHER) == 1.0


def test_hits_of_new_units_are_counted_by_fishers_test():
    """All five hits among 25 new units of 125: C(25, 5) / C(125, 5)."""
    hits = Sides(both=False, moves=False)
    found = p_value(([1] * 100, [0] * 100), ([1] * 25, [1] * 5 + [0] * 20), hits)

    assert found == pytest.approx(comb(25, 5) / comb(125, 5))


def test_scored_lines_count_as_much_as_all_cells_together():
    """Of three lines the first is one of two questions, the cells are the other."""
    rng = np.random.default_rng(1)
    old, new = [
        [powers(Line(np.full(n, 4.0), rng.binomial(4, share, n) * 1.0)) for share in shares]
        for n, shares in ((60, (0.5, 0.5, 0.5)), (40, (0.7, 0.5, 0.5)))
    ]
    alone = unit_p_value(old[0].tolist(), new[0].tolist(), EITHER)
    sides = Sides(both=True, hits=False, scored=1)
    together = unit_p_value(np.ravel(old).tolist(), np.ravel(new).tolist(), sides)

    assert together == pytest.approx(2 * alone)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_p_value_is_a_probability(seed):
    """Whatever units there are, nothing but a share from 0 to 1, or nan, comes back."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 40, 2)
    old, new = (np.ceil(rng.lognormal(1, 2, k)) for k in (n, m))
    hits = [rng.binomial(a.astype(int), rng.random()) for a in (old, new)]
    for sides in (UPWARDS, EITHER, Sides(both=False)):
        found = p_value((old, hits[0]), (new, hits[1]), sides)
        assert np.isnan(found) or 0 <= found <= 1


@pytest.mark.parametrize(("n", "m"), [(200, 60), (60, 200), (1000, 10), (30, 30)])
def test_the_level_holds_where_rows_of_a_unit_go_together(n, m):
    """Of clean draws about 5 % are below 5 %; with rows taken one by one three times as many."""
    rng = np.random.default_rng(n + m)
    runs, by_unit, by_row = 2_000, 0, 0
    for _ in range(runs):
        sizes = [np.ceil(rng.lognormal(1.5, 1.0, k)) for k in (n, m)]
        shares = [rng.beta(0.3 * 3, 0.7 * 3, k) for k in (n, m)]
        hits = [rng.binomial(a.astype(int), q) for a, q in zip(sizes, shares, strict=True)]
        by_unit += p_value(*zip(sizes, hits, strict=True), EITHER) < 0.05
        rates = [b.sum() / a.sum() for a, b in zip(sizes, hits, strict=True)]
        pooled = sum(b.sum() for b in hits) / sum(a.sum() for a in sizes)
        error = np.sqrt(pooled * (1 - pooled) * sum(1 / a.sum() for a in sizes))
        by_row += abs(rates[0] - rates[1]) > 1.96 * error

    assert by_unit / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs) + 0.005
    assert by_row / runs > 0.15
