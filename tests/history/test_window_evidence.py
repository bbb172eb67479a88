"""Evidence of one window: each layout by the test that check has for it, against the baseline."""

import numpy as np
import pytest

from made_histories import made_record
from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._check.null_tests import counts_test, mean_test
from sqrl._history.e_values import either_way, normal_evidence, share_evidence, z_of
from sqrl._history.window_evidence import N_SHIFTS, log_weights, window_evidence

UP = np.array([True])


def evidence(layout, before, new, **other):
    """Log e-values of one rule."""
    made = {"layout": (layout,), "evidence": (new,), **other}
    return window_evidence(made_record(broken=(0,), **{"of": 0, **made}), [before])[0]


def urn(rows, hits, new_rows, new_hits):
    return share_evidence(*(np.array([float(x)]) for x in (rows, hits, new_rows, new_hits)))[0]


def test_rules_about_rows_are_urns_of_broken_rows():
    """Only more of them count."""
    found = evidence("outcomes", (900.0, 18.0), (100.0, 7.0))

    np.testing.assert_array_equal(found[:N_SHIFTS], urn(900, 18, 100, 7))
    assert (found[N_SHIFTS:] == 0).all()


def test_a_statistic_that_is_a_share_is_an_urn_both_ways():
    """F1 rises with the share of both among the rows in the body or the head."""
    found = evidence(
        "counts", (40.0, 50.0, 30.0, 100.0), (40.0, 50.0, 20.0, 100.0), statistic=("f1",)
    )

    np.testing.assert_array_equal(found[:N_SHIFTS], urn(60, 30, 70, 20))
    np.testing.assert_array_equal(found[N_SHIFTS:], urn(60, 30, 70, 50))


def test_other_statistics_of_counts_go_by_their_p_value():
    """Lift is no share; its direction is that of the statistic."""
    before, new = (400.0, 500.0, 300.0, 1000.0), (400.0, 500.0, 220.0, 1000.0)
    found = evidence("counts", before, new, statistic=("lift",))
    z = z_of(counts_test("lift", np.array([before]), np.array([new])), ~UP)

    assert z[0] < -2
    np.testing.assert_array_equal(found[:N_SHIFTS], normal_evidence(z)[0])
    np.testing.assert_array_equal(found[N_SHIFTS:], normal_evidence(-z)[0])


def test_means_go_by_students_test():
    """Upwards and downwards."""
    before, new = (500.0, 1.0, 4.0), (60.0, 1.9, 5.0)
    found = evidence("moments", before, new, statistic=("mean",))
    z = z_of(mean_test(np.array([before]), np.array([new])), UP)

    assert z[0] > 2
    np.testing.assert_array_equal(found[:N_SHIFTS], normal_evidence(z)[0])
    np.testing.assert_array_equal(found[N_SHIFTS:], normal_evidence(-z)[0])


def test_rows_beyond_the_extreme_of_held_out_rows_are_compared_with_those_of_windows_before():
    """Of a long past some are beyond it too, and then some more are nothing odd."""
    new = (100.0, 0.0, 1.0, 2.0, 4.0, 98.0, 3.0)
    fresh = evidence("moments", (200.0, 0.0, 1.0, 2.0, 4.0, 196.0, 0.0), new, statistic=("max",))
    longer = evidence("moments", (900.0, 0.0, 1.0, 2.0, 4.0, 882.0, 25.0), new, statistic=("max",))

    assert fresh[:N_SHIFTS].max() > 0.5
    assert longer.max() < 0.1


def test_shares_go_by_the_tests_of_cells():
    """Which know no direction."""
    before, new = (500.0, 500.0, 100.0), (70.0, 30.0, 0.0)
    found = evidence("cells", before, new, shape=((1, 3, 1, 1),))
    case = SharesCase(np.array([before]), np.array([new]), True, True)
    expected = either_way(z_of(shares_tests([case]), UP))[0]

    np.testing.assert_array_equal(found, np.tile(expected, 2))
    assert expected.max() > 3


def test_a_p_value_is_all_there_is_of_some_rules():
    """And where that is not known there is nothing."""
    found = evidence("p", None, None, p_value=np.array([0.001]))
    np.testing.assert_array_equal(found, np.tile(either_way(z_of(np.array([0.001]), UP))[0], 2))
    assert (evidence("p", None, None, p_value=np.array([np.nan])) == 0).all()


@pytest.mark.parametrize("before", [None, (0.0, 0.0), (3.0, 1.0, 2.0)])
def test_without_a_baseline_a_window_says_nothing(before):
    """Nor with one of another layout."""
    assert (evidence("outcomes", before, (100.0, 7.0)) == 0).all()


def test_a_change_that_no_mini_batch_of_many_breaks_adds_no_evidence():
    """It is too small to matter, however sure it is; evidence against it still counts."""
    before, new = (5000.0, 1.0, 4.0), (6000.0, 1.9, 5.0)
    many = {"statistic": ("mean",), "of": 50}  # mini-batches, of which none breaks it

    assert evidence("moments", before, new, statistic=("mean",))[:N_SHIFTS].max() > 5
    held = evidence("moments", before, new, **many)
    assert (held <= 0).all()
    assert (held[N_SHIFTS:] < 0).all()


def test_weights_are_those_of_the_moves_that_break_a_rule():
    """They add up to 1."""
    weights = np.exp(log_weights(["up", "down", "both"]))

    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights[0, N_SHIFTS:] == 0).all()
    assert (weights[1, :N_SHIFTS] == 0).all()
    np.testing.assert_allclose(weights[2], 0.5 / N_SHIFTS)


def z_values(is_pooled, *, n_runs=4000, n_windows=4):
    """The z-values of two dependent means in successive windows, shape (windows, 2, runs).

    100 held-out rows, then 200 a window: the mean of either is drawn, not its rows.
    """
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.0], [0.8, 0.6]])

    def draw(n):
        return mix @ rng.standard_normal((2, n_runs)) / np.sqrt(n)

    def test(n, mean, m, new):
        sides = [
            np.stack([np.full(x.shape, size), x, np.ones(x.shape)], 1)
            for size, x in ((n, mean), (m, new))
        ]
        return z_of(mean_test(*sides), new > mean)

    n, mean, found = 100.0, draw(100), []
    for _ in range(n_windows):
        new = draw(200)
        found.append([test(n, mean[one], 200.0, new[one]) for one in range(2)])
        if is_pooled:
            mean, n = (n * mean + 200 * new) / (n + 200), n + 200
    return np.array(found)


def test_windows_against_all_rows_before_are_independent_and_also_those_of_other_rules():
    """Recursive residuals are; against the same held-out rows all are as odd as these."""
    pooled, fixed = z_values(is_pooled=True), z_values(is_pooled=False)
    for one, other in [((0, 0), (1, 0)), ((0, 0), (3, 0)), ((1, 0), (2, 1)), ((0, 1), (3, 0))]:
        apart = np.corrcoef(pooled[one], pooled[other])[0, 1]
        assert abs(apart) < 0.05

    assert np.corrcoef(fixed[0, 0], fixed[1, 0])[0, 1] > 0.5
    assert np.corrcoef(pooled[0, 0], pooled[0, 1])[0, 1] > 0.7


def test_e_values_of_cells_have_a_mean_of_at_most_one():
    """Windows of 200 rows in four cells, each against 300 held-out rows and all windows before."""
    rng = np.random.default_rng(0)
    shares, n_runs = [0.4, 0.3, 0.2, 0.1], 150
    before, e = rng.multinomial(300, shares, n_runs).astype(np.float64), []
    for _ in range(10):
        new = rng.multinomial(200, shares, n_runs).astype(np.float64)
        pairs = zip(before, new, strict=True)
        cases = [SharesCase(one[None], other[None], True, False) for one, other in pairs]
        e.append(np.exp(either_way(z_of(shares_tests(cases), np.ones(n_runs, np.bool_)))))
        before = before + new

    assert (np.concatenate(e).mean(axis=0) <= 1.0).all()
