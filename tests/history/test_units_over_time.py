"""Histories of rules that were learned by unit: windows are compared by their units."""

import numpy as np
import pytest

import sqrl
from sqrl._history.record import record_of


def visits(n_patients, *, seed, shift=0.0):
    """About six visits of each patient, alike within a patient."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), 1 + rng.poisson(5, n_patients))
    rate = 70 + 10 * rng.normal(size=n_patients)[patient] + 2 * rng.normal(size=patient.size)
    return {"patient": patient + 100_000 * seed, "rate": rate + shift}


@pytest.fixture(scope="module")
def rules():
    schema = {
        "rules": ["? <= rate <= ?", "? <= mean(rate) <= ? over 64", "distance(rate/6) <= ? over 64"]
    }
    return sqrl.learn(visits(600, seed=1), schema, unit="patient")


def test_a_record_keeps_what_units_say(rules):
    """Evidence of units, of the window and of the reference, in one layout that adds up."""
    record = record_of(sqrl.check(rules, visits(50, seed=2)), at="2026-11-01")

    assert set(record.layout) == {"units"}
    assert all(len(e) == len(r) for e, r in zip(record.evidence, record.reference, strict=True))
    assert record.evidence[0][0] == 50


def alarms(rules, shifts, *, first_seed):
    """The windows at which a monitor raises an alarm."""
    monitor = sqrl.Monitor(rules, false_alarms="1/year", every="day")
    found = []
    for day, shift in enumerate(shifts):
        data = visits(40, seed=first_seed + day, shift=shift)
        if monitor.update(data, at=f"2026-10-{day + 1:02}").alarm:
            found.append(day)
    return found


def test_days_of_other_patients_raise_no_alarm_and_a_shift_does(rules):
    """Forty patients a day vary far more than their rows would; eight beats more are found."""
    assert not alarms(rules, [0.0] * 20, first_seed=100)
    found = alarms(rules, [0.0] * 8 + [8.0] * 12, first_seed=300)
    assert found
    assert found[0] >= 8


def test_a_history_keeps_units_in_its_files(rules, tmp_path):
    """What is read again is what was written."""
    history = sqrl.History(tmp_path / "history")
    found = sqrl.check(rules, visits(50, seed=2))
    history.add(found, at="2026-11-01")
    (record,) = history.records()

    assert record.layout == record_of(found, at="2026-11-01").layout
    assert record.evidence == record_of(found, at="2026-11-01").evidence
    assert record.shape == record_of(found, at="2026-11-01").shape
