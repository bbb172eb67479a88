"""Functions of one column of dates or of text: `days(born)`, `length(name)`.

They take a column by its name. A column of text is looked at word by word, each once: a date or a
moment in it is written as in ISO 8601, `2024-05-01` or `2024-05-01T13:45`, and what is not is
missing. Moments with an offset, and those of columns with a time zone, count in UTC.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

import numpy as np

from sqrl._kernels.arrays import Floats

NAN = float("nan")
MS_A_DAY = 86_400_000.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ColumnFunction:
    """A function of a column: of a word of text, or of days since 1970-01-01."""

    of: Literal["dates", "text"]
    of_word: Callable[[str], float]
    of_days: Callable[[Floats], Floats]
    refused: Mapping[str, str]  # by compiler, the reason

    def of_words(self, words: list[str]) -> Floats:
        """The value for each word."""
        return np.array([self.of_word(word) for word in words], np.float64)


def days_of(word: str) -> float:
    """Days since 1970-01-01 of a date or moment as ISO 8601 writes it; nan for other text.

    >>> days_of("1970-01-02"), days_of("1970-01-01T12:00"), days_of("soon")
    (1.0, 0.5, nan)
    """
    if _MOMENT.fullmatch(word) is None:
        return NAN
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:  # such as the 31st of April
        return NAN
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        since = moment - _EPOCH
    except OverflowError:
        return NAN
    return since.days + (since.seconds + since.microseconds / 1e6) / 86_400


def day_of(days: Floats) -> Floats:
    """The day, from 1970-01-01 on, that a moment lies in; to a millisecond."""
    return np.asarray(np.floor(np.rint(days * MS_A_DAY) / MS_A_DAY))


def weekday(days: Floats) -> Floats:
    """1 for Monday to 7 for Sunday.

    >>> weekday(np.array([0.0, 3.0, 4.25, np.nan])).tolist()
    [4.0, 7.0, 1.0, nan]
    """
    return np.asarray(np.mod(day_of(days) + 3, 7) + 1)


def month(days: Floats) -> Floats:
    """1 for January to 12 for December.

    >>> month(np.array([0.0, 59.0, -1.0, np.nan])).tolist()
    [1.0, 3.0, 12.0, nan]
    """
    day, known = day_of(days), np.isfinite(days)
    whole = np.where(known, day, 0.0).astype("datetime64[D]").astype("datetime64[M]")
    return np.where(known, whole.astype(np.int64) % 12 + 1.0, np.nan)


def hour(days: Floats) -> Floats:
    """The hour of the day, from 0 to 23.

    >>> hour(np.array([0.5, 1.0, -0.25])).tolist()
    [12.0, 0.0, 18.0]
    """
    in_day = np.rint(days * MS_A_DAY) - day_of(days) * MS_A_DAY
    return np.asarray(np.floor(in_day / (MS_A_DAY / 24)))


def _same(days: Floats) -> Floats:
    return days


def _dates(part: Callable[[Floats], Floats]) -> ColumnFunction:
    def of_word(word: str) -> float:
        return float(part(np.array([days_of(word)]))[0])

    return ColumnFunction("dates", of_word, part, {"sql": NO_SQL})


def _text(of_word: Callable[[str], float], refused: Mapping[str, str]) -> ColumnFunction:
    return ColumnFunction("text", of_word, _same, refused)


def _share(is_one: Callable[[str], bool]) -> Callable[[str], float]:
    """The share of the characters of a word that are of a kind; nan where there are none."""

    def of_word(word: str) -> float:
        return sum(map(is_one, word)) / len(word) if word else NAN

    return of_word


NO_SQL = "databases read dates and characters each in their own way"
COLUMN_FUNCTIONS: Mapping[str, ColumnFunction] = MappingProxyType(
    {
        "days": _dates(_same),
        "weekday": _dates(weekday),
        "month": _dates(month),
        "hour": _dates(hour),
        "length": _text(lambda word: float(len(word)), {}),
        "digits": _text(_share(str.isdecimal), {"sql": NO_SQL}),
        "letters": _text(_share(str.isalpha), {"sql": NO_SQL}),
        "blanks": _text(_share(str.isspace), {"sql": NO_SQL}),
        "words": _text(lambda word: float(len(word.split())), {"sql": NO_SQL}),
    }
)
