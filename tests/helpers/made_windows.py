"""Windows of made-up counts, a day each."""

from datetime import date, timedelta

from made_histories import made_record


def day(number):
    """The ISO date of a day, by number from 0."""
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()


def windows(counts, first=0, **other):
    """A window a day; for each the rows of 1,000 that break each rule, 20 where nothing changes."""
    return [
        made_record(day(first + number), broken, **other) for number, broken in enumerate(counts)
    ]
