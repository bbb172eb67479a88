"""What is remembered of rules: starts of changes at the time of an alarm, and when one is over."""

import numpy as np
import pytest

from made_histories import made_record
from sqrl._history.e_values import normal_evidence
from sqrl._history.rule_states import NO_KIND, RuleStates
from sqrl._history.window_evidence import N_KINDS, N_SHIFTS

THRESHOLD = np.log(365.25)


def states_of(n):
    """States of so many rules, each by itself."""
    states = RuleStates()
    return states, states.places_of(made_record(broken=(0,) * n))


def add_normal(states, places, z, window):
    """Take in z-values upwards."""
    log_e = np.zeros((len(places), N_KINDS))
    log_e[:, :N_SHIFTS] = normal_evidence(z)
    states.add(places, log_e, np.zeros(len(places), np.bool_), window)


@pytest.mark.parametrize("shift", [0.7, 1.4, 2.1, 4.0])
def test_the_start_of_a_change_is_in_its_interval_when_it_alarms(shift):
    """In 95 of 100 cases, whatever its size; and the interval is not the whole past."""
    rng = np.random.default_rng(0)
    n, before = 300, 30
    states, places = states_of(n)
    held, widths, is_waiting = [], [], np.ones(n, np.bool_)
    for window in range(before + 120):
        add_normal(states, places, rng.standard_normal(n) + shift * (window >= before), window)
        sums = np.logaddexp.reduce(states.log_sum[:, :N_SHIFTS], axis=1) - np.log(N_SHIFTS)
        found = is_waiting & (sums >= THRESHOLD + np.log(50))
        for place in np.flatnonzero(found).tolist():
            states.alarmed[place] = states.log_sum[place, :N_SHIFTS].argmax()
            start, first, last = states.interval(place)
            assert first <= start <= last
            if window >= before:
                held.append(first <= before <= last)
                widths.append(last - first)
        is_waiting &= ~found

    assert len(held) > 0.95 * n
    assert np.mean(held) >= 0.95
    assert np.median(widths) < 60 / shift**2


@pytest.mark.parametrize("shift", [0.7, 1.26, 2.0, 4.0])
def test_a_change_that_lasts_is_hardly_ever_called_over(shift):
    """In the 100 windows after its alarm."""
    rng = np.random.default_rng(1)
    n = 200
    states, places = states_of(n)
    since, is_over = np.full(n, np.inf), np.zeros(n, np.bool_)
    for window in range(220):
        add_normal(states, places, rng.standard_normal(n) + shift, window)
        now = states.over(places, THRESHOLD)
        is_over[now] |= window - since[now] <= 100
        sums = np.logaddexp.reduce(states.log_sum[:, :N_SHIFTS], axis=1) - np.log(N_SHIFTS)
        new = (states.alarmed == NO_KIND) & (sums >= THRESHOLD + np.log(50))
        states.alarmed[new] = states.log_sum[new, :N_SHIFTS].argmax(axis=1)
        since[new] = window

    assert np.isfinite(since).all()
    assert is_over.mean() < 0.03


@pytest.mark.parametrize(("shift", "most"), [(4.0, 5), (2.0, 15), (1.0, 60)])
def test_a_change_that_is_over_is_soon_called_so(shift, most):
    """Sooner if it was large."""
    rng = np.random.default_rng(2)
    n = 100
    states, places = states_of(n)
    states.alarmed[:] = int(np.log2(shift / 0.25))
    for window in range(10):
        add_normal(states, places, rng.standard_normal(n) + shift, window)
    over_after = np.full(n, np.inf)
    for window in range(10, 110):
        add_normal(states, places, rng.standard_normal(n), window)
        now = states.over(places, THRESHOLD)
        over_after[now] = np.minimum(over_after[now], window - 9)

    assert np.median(over_after) <= most


def test_nothing_is_remembered_of_a_change_after_a_restart():
    """But the baseline is."""
    states, places = states_of(2)
    add_normal(states, places, np.array([5.0, 5.0]), 0)
    states.alarmed[:] = 3
    states.held[0] = (5.0, 1.0)
    states.restart(np.array([0]))

    assert states.alarmed.tolist() == [NO_KIND, 3]
    assert states.held == [None, None]
    assert states.baselines[0] == (5000.0, 100.0)
    assert states.log_sum[0].max() < -50 < states.log_sum[1].max()
