"""Rules as a pandera schema: `schema.validate(frame)`, with what its checks are made of.

Numbers are Float64 and truths boolean, which know missing from false: a comparison with a missing
value is unknown, and a rule whose condition is unknown does not apply.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)


def number(values: Any) -> Any:
    """The values as numbers, missing where they are missing or NaN."""
    data = np.array(values.to_numpy(dtype="float64", na_value=np.nan))
    return pd.Series(pd.arrays.FloatingArray(data, np.isnan(data)), index=values.index)


def text(values: Any) -> Any:
    """The values as categories."""
    return values.astype("string")


def of_text(values: Any, function: str) -> Any:
    """How many characters or words each text has, or what share of its characters are of a kind."""
    kinds = {"digits": str.isdecimal, "letters": str.isalpha, "blanks": str.isspace}

    def compute(word: str) -> float:
        if function in {"length", "words"}:
            return len(word) if function == "length" else len(word.split())
        return sum(map(kinds[function], word)) / len(word) if word else np.nan

    return _of_words(values, compute)


def of_dates(values: Any, part: str) -> Any:
    """A part of each date or moment, in UTC, or days since 1970-01-01; missing for other text."""

    def compute(word: str) -> float:
        try:
            moment = datetime.fromisoformat(word) if MOMENT.fullmatch(word) else None
        except ValueError:
            moment = None
        if moment is None:
            return np.nan
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        days = since.days + (since.seconds + since.microseconds / 1e6) / 86_400
        parts = {"weekday": moment.isoweekday(), "month": moment.month, "hour": moment.hour}
        return parts.get(part, days)

    return _of_words(values, compute)


def _of_words(values: Any, compute: Callable[[str], float]) -> Any:
    words = text(values)
    found = {word: compute(str(word)) for word in words.dropna().unique()}
    data = [found.get(word, np.nan) if isinstance(word, str) else np.nan for word in words]
    return number(pd.Series(data, index=values.index, dtype="float64"))


def lag(frame: Any, values: Any, entity: list[str], order: list[str], n: int) -> Any:
    """What each value was n rows of its entity ago."""
    return _in_order(frame, values, entity, order, lambda groups: groups.shift(n))


def delta(frame: Any, values: Any, entity: list[str], order: list[str], n: int) -> Any:
    """How far each value has moved since n rows of its entity ago."""
    return values - lag(frame, values, entity, order, n)


def rolling_mean(frame: Any, values: Any, entity: list[str], order: list[str], n: int) -> Any:
    """The mean of the last n values of the entity, of those that are not missing."""

    def compute(groups: Any) -> Any:
        means = groups.rolling(n, min_periods=1).mean()
        return means.droplevel(list(range(len(entity)))) if entity else means

    return _in_order(frame, values.astype("float64"), entity, order, compute)


def _in_order(
    frame: Any,
    values: Any,
    entity: list[str],
    order: list[str],
    compute: Callable[[Any], Any],
) -> Any:
    """What is computed of values by entity, in order; missing where one of those is."""
    keys = frame[[*entity, *order]].reset_index(drop=True)
    keys = keys[keys.notna().all(axis=1)].sort_values(order, kind="stable")
    some = values.reset_index(drop=True).loc[keys.index]
    if entity:
        some = some.groupby([keys[name] for name in entity], sort=False, observed=True)
    found = compute(some).reindex(range(len(frame)))
    found.index = frame.index
    return found


def constant(frame: Any, value: bool | None) -> Any:
    """One truth for every row."""
    return pd.Series(pd.array([value] * len(frame), dtype="boolean"), index=frame.index)


def missing(frame: Any) -> Any:
    """A number that is missing in every row."""
    return number(pd.Series(np.full(len(frame), np.nan), index=frame.index))


def finite(values: Any) -> Any:
    """The values with what is not finite undefined: x / 0 bounds nothing."""
    data = values.to_numpy(dtype="float64", na_value=np.nan)
    return number(pd.Series(np.where(np.isfinite(data), data, np.nan), index=values.index))


def apply(function: Callable[..., Any], *arguments: Any) -> Any:
    """A function of numbers, missing where one of them is or where it is not finite."""
    series = [value for value in arguments if isinstance(value, pd.Series)]
    data = [
        value.to_numpy(dtype="float64", na_value=np.nan) if isinstance(value, pd.Series) else value
        for value in arguments
    ]
    absent = np.any(np.isnan(np.broadcast_arrays(*data)), axis=0)
    result = np.where(absent, np.nan, function(*data))
    return finite(pd.Series(result, index=series[0].index))


def smallest(*values: Any) -> Any:
    """The least of several numbers."""
    return np.minimum.reduce(np.broadcast_arrays(*values))


def largest(*values: Any) -> Any:
    """The greatest of several numbers."""
    return np.maximum.reduce(np.broadcast_arrays(*values))


def known(values: Any) -> Any:
    """Whether each value is there: true or false, never unknown."""
    return values.notna().astype("boolean")


def member(values: Any, wanted: list[Any]) -> Any:
    """Whether each value is one of those wanted; unknown where it is missing."""
    found = values.isin(wanted).to_numpy(dtype=bool)
    return _truths(found, values.isna().to_numpy(), values)


def outside(values: Any, lower: float | None, upper: float | None) -> Any:
    """Whether each value lies below or above; unknown where it is missing."""
    data = values.to_numpy(dtype="float64", na_value=np.nan)
    below = np.zeros(len(data), bool) if lower is None else data < lower
    above = np.zeros(len(data), bool) if upper is None else data > upper
    return _truths(below | above, np.isnan(data), values)


def given(condition: Any, broken: Any) -> Any:
    """What is broken where a condition holds; unknown elsewhere."""
    holds = condition.fillna(False).to_numpy(dtype=bool)
    known = broken.notna().to_numpy() & holds
    return _truths(broken.fillna(False).to_numpy(dtype=bool), ~known, broken)


def choose(pieces: list[tuple[Any, Any]], last: Any) -> Any:
    """What the first piece says whose test is true; unknown where it is unknown which that is."""
    frame = pieces[0][0]
    left, known, result = (np.full(len(frame), start) for start in (True, False, False))
    for test, broken in [*pieces, *([] if last is None else [(constant(frame, True), last)])]:
        here = left & test.fillna(False).to_numpy(dtype=bool)
        known |= here & broken.notna().to_numpy()
        result |= here & broken.fillna(False).to_numpy(dtype=bool)
        left &= ~test.fillna(True).to_numpy(dtype=bool)
    return _truths(result, ~known, frame)


def _truths(data: Any, unknown: Any, like: Any) -> Any:
    return pd.Series(pd.arrays.BooleanArray(data & ~unknown, unknown), index=like.index)


def rule(
    broken: Callable[[Any], Any], *, name: str, text: str, allowed: tuple[float, float]
) -> Any:
    """The check that no more rows break a rule than chance explains; else it names the rows.

    `allowed` is the share of rows that chance puts outside, and how many that was learned from.
    """
    import pandera.pandas

    def kept(frame: Any) -> Any:
        with np.errstate(all="ignore"):
            found = broken(frame)
        n, (share, learned_from) = int(found.count()), allowed
        spread = np.sqrt(n * share * (1 - share) * (1 + n / learned_from))
        if int(found.sum()) <= n * share + 3 * spread:
            return True
        return ~found.fillna(False).astype(bool)

    return pandera.pandas.Check(kept, name=name, error=text)
