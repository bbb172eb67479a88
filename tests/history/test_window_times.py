"""The times of windows: one spelling, which sorts by time and is safe in a file's name."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqrl._history.window_times import at_in, day_of, file_stem, spell_at
from sqrl._rules.decisions import today
from sqrl.errors import DataError


@pytest.mark.parametrize(
    ("given", "spelt"),
    [
        ("2026-11-16", "2026-11-16"),
        (" 20261116 ", "2026-11-16"),
        (date(2026, 11, 16), "2026-11-16"),
        ("2026-11-16T13:00", "2026-11-16T13:00:00Z"),
        ("2026-11-16T1300Z", "2026-11-16T13:00:00Z"),
        ("2026-11-16 00:30:05+02:00", "2026-11-15T22:30:05Z"),
        (datetime(2026, 11, 16, 13, tzinfo=UTC), "2026-11-16T13:00:00Z"),
        (datetime(2026, 11, 16, 13), "2026-11-16T13:00:00Z"),
    ],
)
def test_a_time_has_one_spelling(given, spelt):
    """However it is written, so that a window checked twice is one window."""
    assert spell_at(given) == spelt
    assert spell_at(spelt) == spelt


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-01", "../../etc/passwd", "2026-11-16/../x", "\uff12026-11-16", "\0"],
)
def test_what_is_no_time_is_refused(text):
    """Whatever is typed, no other spelling than that of a date reaches a file's name."""
    with pytest.raises(DataError) as caught:
        spell_at(text)

    assert str(caught.value) == (
        f"The window's time {text!r} is no date.\n"
        "  fix:   give a date such as 2026-11-16, or a moment such as 2026-11-16T13:00:00Z"
    )


def test_fractions_of_seconds_are_refused():
    """They would not sort as text."""
    with pytest.raises(DataError) as caught:
        spell_at("2026-11-16T13:00:00.5Z")

    assert str(caught.value) == (
        "The time of the window has a fraction of a second: '2026-11-16 13:00:00.500000+00:00'.\n"
        "  fix:   give whole seconds"
    )


def test_a_moment_before_the_first_year_is_refused():
    """In UTC it would have no date."""
    with pytest.raises(DataError, match="is no date"):
        spell_at("0001-01-01T00:00:00+05:00")


MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1),
    max_value=datetime(9998, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7)), timezone(timedelta(hours=5.5))]),
).map(lambda moment: moment.replace(microsecond=0))


@given(st.lists(MOMENTS, min_size=2, max_size=5))
def test_spellings_sort_by_time(moments):
    """Windows are in the order of their names, and of their files."""
    by_time = [spell_at(moment) for moment in sorted(moments)]

    assert by_time == sorted(by_time)
    assert [file_stem(at) for at in by_time] == sorted(file_stem(at) for at in by_time)
    assert [spell_at(file_stem(at)) for at in by_time] == by_time


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("day=2026-11-16.parquet", "2026-11-16"),
        ("rows_2026-11-16T13:00:00Z.csv", "2026-11-16T13:00:00Z"),
        ("2026-11-16/2026-11-16.csv", "2026-11-16"),
        ("from 2026-11-01 to 2026-11-16.csv", None),
        ("today.csv", None),
        ("12026-11-161.csv", None),
        ("2026-19-19.csv", None),
    ],
)
def test_the_time_in_a_name(name, at):
    """Where there is just one."""
    assert at_in(name) == at


def test_today_is_a_date():
    """In UTC, as all times are."""
    assert spell_at(today()) == day_of(today()) == today()
