"""When a window was: a date, or a moment in UTC, spelt one way so that text sorts by time.

The spelling is made from a parsed date, never copied from what was given: it is safe in a file's
name whatever somebody types.
"""

import re
from datetime import UTC, date, datetime

from sqrl.errors import DataError

When = str | date  # a datetime is a date too
_ISO = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?:T\d{2}:?\d{2}(?::?\d{2})?Z?)?(?!\d)")
_FIX = "give a date such as 2026-11-16, or a moment such as 2026-11-16T13:00:00Z"


def spell_at(when: When) -> str:
    """The window's time as histories spell it: a date, or a moment in UTC to the second.

    Moments without an offset are taken to be in UTC.

    >>> spell_at("2026-11-16"), spell_at("2026-11-16 14:30+02:00")
    ('2026-11-16', '2026-11-16T12:30:00Z')
    """
    if isinstance(when, str):
        when = _parse(when.strip())
    if not isinstance(when, datetime):
        return when.isoformat()
    if when.microsecond:
        what = f"The time of the window has a fraction of a second: {str(when)!r}."
        raise DataError(what, fix="give whole seconds")
    try:
        moment = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except OverflowError:
        raise DataError(f"The window's time {str(when)!r} is no date.", fix=_FIX) from None
    return f"{moment.replace(tzinfo=None).isoformat()}Z"


def _parse(text: str) -> date:
    if text.isascii():
        for parse in (date.fromisoformat, datetime.fromisoformat):
            try:
                return parse(text)
            except ValueError:
                continue
    raise DataError(f"The window's time {text[:40]!r} is no date.", fix=_FIX)


def day_of(at: str) -> str:
    """The date of a window's time, as `spell_at` spells it.

    >>> day_of("2026-11-16T12:30:00Z")
    '2026-11-16'
    """
    return at[:10]


def at_in(text: str) -> str | None:
    """The one date or moment that stands in a text, such as a file's name; None where none does.

    Where several stand there, none is the window's for sure.

    >>> at_in("day=2026-11-16.parquet"), at_in("2026-11-16T1300Z"), at_in("v2.csv")
    ('2026-11-16', '2026-11-16T13:00:00Z', None)
    """
    found = _ISO.findall(text)
    if len(set(found)) != 1:
        return None
    try:
        return spell_at(found[0])
    except DataError:  # such as 2026-13-01
        return None


def file_stem(at: str) -> str:
    """The name of a window's file without its suffix: no system minds its letters.

    >>> file_stem("2026-11-16T12:30:00Z")
    '2026-11-16T123000Z'
    """
    return at.replace(":", "")
