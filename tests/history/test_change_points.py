"""Change points against a search over all starts, and how often the interval holds the true one."""

import numpy as np

from sqrl._history.change_points import WITHIN, ChangePoints
from sqrl._history.e_values import SHIFTS, normal_evidence
from sqrl._history.window_evidence import N_KINDS, N_SHIFTS


def naive_interval(log_e):
    """The likeliest start and the first and last start that are within the constant of it."""
    likelihood = np.cumsum(log_e[::-1])[::-1]
    near = np.flatnonzero(likelihood >= likelihood.max() - WITHIN)
    return int(likelihood.argmax()), int(near[0]), int(near[-1])


def test_the_interval_is_that_of_a_search_over_all_starts():
    """In constant memory; its first window may be early by what a level's width allows."""
    rng = np.random.default_rng(0)
    drifts = rng.choice([-1.0, -0.1, 0.5], (40, N_KINDS))
    log_e = rng.normal(drifts, 1.0, (60, 40, N_KINDS))
    points = ChangePoints.new(40)
    for window in range(60):
        points.add(log_e[window], window)

    for rule in range(40):
        for kind in range(N_KINDS):
            start, first, last = points.interval(rule, kind)
            likely, earliest, latest = naive_interval(log_e[:, rule, kind])
            assert (start, last) == (likely, latest)
            near = np.cumsum(log_e[::-1, rule, kind])[::-1]
            assert first <= earliest
            assert near[first] >= near.max() - WITHIN - 1.0


def test_the_interval_holds_the_true_start_in_95_of_100_cases():
    """Of changes of the size that the kind is for, some windows after they began."""
    rng = np.random.default_rng(1)
    n_runs, before, after = 400, 40, 12
    z = rng.standard_normal((before + after, n_runs))
    for kind, shift in enumerate(SHIFTS[2:], start=2):
        points = ChangePoints.new(n_runs)
        for window in range(before + after):
            log_e = np.zeros((n_runs, N_KINDS))
            log_e[:, :N_SHIFTS] = normal_evidence(z[window] + shift * (window >= before))
            points.add(log_e, window)
        found = [points.interval(run, kind) for run in range(n_runs)]
        held = np.mean([first <= before <= last for _, first, last in found])

        assert held >= 0.95
