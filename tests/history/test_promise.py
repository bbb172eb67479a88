"""Promises: how many checks there are between false alarms, and what is no promise."""

import pytest

import sqrl
from sqrl._history.promise import Promise


@pytest.mark.parametrize(
    ("false_alarms", "every", "n_checks"),
    [
        ("1/year", "day", 365.25),
        ("2/year", "week", 8766 / 168 / 2),
        ("0.5/year", "month", 24.0),
        ("1/month", "hour", 730.5),
    ],
)
def test_a_promise_is_a_number_of_checks(false_alarms, every, n_checks):
    """The average number between two false alarms."""
    assert Promise(false_alarms=false_alarms, every=every).n_checks == pytest.approx(n_checks)


@pytest.mark.parametrize(
    "text", ["often", "1", "/year", "0/year", "-1/year", "nan/year", "inf/day"]
)
def test_no_number_of_false_alarms_is_refused(text):
    """What is meant cannot be guessed."""
    with pytest.raises(sqrl.SqrlError) as caught:
        Promise(false_alarms=text)

    assert str(caught.value) == (
        f"{text!r} does not say how many false alarms there may be.\n"
        "  fix:   give such as 1/year, 2/month or 0.5/year"
    )


def test_an_unknown_unit_is_refused():
    """The ones that are known are named."""
    with pytest.raises(sqrl.SqrlError) as caught:
        Promise(false_alarms="1/decade")

    assert str(caught.value) == (
        "'1/decade' counts false alarms in an unknown unit of time.\n"
        "  fix:   give one of: hour, day, week, month, year"
    )


def test_checks_at_unknown_times_are_refused():
    """The ones that are known are named."""
    with pytest.raises(sqrl.SqrlError) as caught:
        Promise(every="monday")

    assert str(caught.value) == (
        "Rows are checked every 'monday'.\n  fix:   give one of: hour, day, week, month, year"
    )


def test_a_false_alarm_in_every_check_is_no_promise():
    """Such as one a day where there is one check a day."""
    with pytest.raises(sqrl.SqrlError) as caught:
        Promise(false_alarms="1/day", every="day")

    assert str(caught.value) == (
        "1/day allows a false alarm in every check, of which there is one a day.\n"
        "  fix:   allow fewer false alarms, such as 1/year"
    )
