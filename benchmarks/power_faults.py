"""Faults of real life, planted in a batch of clean rows; and changes that are none.

A fault knows its kind, how strong it comes, and which columns it can be planted in. Planting gives
the batch back with the columns that a person would name as the cause.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from pandas.api.types import is_bool_dtype, is_numeric_dtype

Frame = Any  # pandas has no types here
SHARES = (0.02, 0.2)  # of the rows that a scattered fault touches
MANY = 20  # distinct values, above which a number is measured rather than coded


@dataclass(frozen=True, slots=True, eq=False)
class Clean:
    """The clean rows that a fault is made for: the reference half, the label, a worse model."""

    reference: Frame
    label: str | None
    worse: Callable[[Frame], Any] | None = None
    _chosen: dict[str, list[str]] = field(init=False, default_factory=dict)

    def numbers(self) -> list[str]:
        """Columns of measured numbers, the row's own number left out."""
        return self._choose("numbers", self._is_measured)

    def numbers_mostly_known(self) -> list[str]:
        """Measured numbers of which at most one in twenty is missing."""
        return [name for name in self.numbers() if self.reference[name].isna().mean() <= 0.05]

    def numbers_hardly_zero(self) -> list[str]:
        """Measured numbers of which at most one in a hundred is 0."""
        return [name for name in self.numbers() if (self.reference[name] == 0).mean() <= 0.01]

    def categories(self) -> list[str]:
        """Columns of text with few values."""
        return self._choose("categories", self._is_category)

    def dates(self) -> list[str]:
        """Columns of dates as text."""
        return self._choose("dates", self._is_date)

    def _choose(self, what: str, is_wanted: Callable[[str], bool]) -> list[str]:
        """Columns other than the label, looked at once."""
        if what not in self._chosen:
            others = [name for name in self.reference if name != self.label]
            self._chosen[what] = [name for name in others if is_wanted(name)]
        return self._chosen[what]

    def _is_category(self, name: str) -> bool:
        return self._is_text(name) and bool(2 <= self.reference[name].nunique() <= MANY)

    def _is_date(self, name: str) -> bool:
        as_date = r"^\d{4}-\d\d-\d\d$"
        return self._is_text(name) and bool(
            self.reference[name].astype(str).str.match(as_date).all()
        )

    def _is_text(self, name: str) -> bool:
        return not is_numeric_dtype(self.reference[name])

    def _is_measured(self, name: str) -> bool:
        values = self.reference[name].dropna()
        if not is_numeric_dtype(values) or is_bool_dtype(values) or values.nunique() <= MANY:
            return False
        return not (values.is_unique and (values % 1 == 0).all())


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A batch with a fault, and the columns that are its cause; none where it is no column's."""

    batch: Frame
    columns: tuple[str, ...]


Plant = Callable[[Frame, Clean, Generator, float], Planted | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault in one strength; planting gives None where the table has no place for it."""

    kind: str
    strength: float
    plant: Plant
    must_alarm: bool = True


def faults() -> list[Fault]:
    """Every kind in every strength, and the changes that are no faults."""
    return [
        Fault(kind, strength, plant, must_alarm)
        for kind, (plant, strengths, must_alarm) in _KINDS.items()
        for strength in strengths
    ]


def _one(names: list[str], rng: Generator) -> str | None:
    return str(rng.choice(names)) if names else None


def _some(n: int, share: float, rng: Generator) -> np.ndarray:
    return rng.choice(n, max(1, round(share * n)), replace=False)


def _in_a_number(change: Callable[[pd.Series, Clean, str, Generator], object]) -> Plant:
    """A fault that changes some values of one measured number."""
    return partial(_in_a_column, Clean.numbers, float, change)


def _in_a_category(change: Callable[[pd.Series, Clean, str, Generator], object]) -> Plant:
    """A fault that changes some values of one category."""
    return partial(_in_a_column, Clean.categories, object, change)


def _in_a_column(
    names: Callable[[Clean], list[str]],
    kind: type,
    change: Callable[[pd.Series, Clean, str, Generator], object],
    batch: Frame,
    clean: Clean,
    rng: Generator,
    share: float,
) -> Planted | None:
    name = _one(names(clean), rng)
    if name is None:
        return None
    rows = _some(len(batch), share, rng)
    values = batch[name].astype(kind)
    values.iloc[rows] = np.asarray(change(values.iloc[rows], clean, name, rng), kind)
    return Planted(batch.assign(**{name: values}), (name,))


def _sd(clean: Clean, name: str) -> float:
    """A robust standard deviation, so that a few wild values do not make every fault huge."""
    values = clean.reference[name].dropna()
    low, high = np.quantile(values, [0.16, 0.84])
    return float((high - low) / 2) or float(values.std())


def _misspelt(values: pd.Series, _clean: Clean, _name: str, rng: Generator) -> list[str]:
    spelt = []
    for value in values.astype(str):
        place = int(rng.integers(0, max(len(value) - 1, 1)))
        spelt.append(value[:place] + value[place + 1 :] + value[place : place + 1])
    return [word if word != old else f"{word}x" for word, old in zip(spelt, values, strict=True)]


def _swap(names: list[str], batch: Frame, rng: Generator, share: float) -> Planted | None:
    if len(names) < 2:
        return None
    first, second = (str(name) for name in rng.choice(names, 2, replace=False))
    rows = _some(len(batch), share, rng)
    one, other = batch[first].copy(), batch[second].copy()
    if is_numeric_dtype(one):
        one, other = one.astype(float), other.astype(float)
    one.iloc[rows], other.iloc[rows] = other.iloc[rows].to_numpy(), one.iloc[rows].to_numpy()
    return Planted(batch.assign(**{first: one, second: other}), (first, second))


def _swap_numbers(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    return _swap(clean.numbers(), batch, rng, share)


def _swap_categories(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """The most frequent value of a category and one that is rarer change places: yes is no."""
    rarer = {}
    for name in clean.categories():
        shares = clean.reference[name].value_counts(normalize=True)
        rarer[name] = shares.index[(shares >= 0.05) & (shares <= shares.iloc[0] / 1.5)]
    chosen = _one([name for name in rarer if len(rarer[name])], rng)
    if chosen is None:
        return None
    first = clean.reference[chosen].mode().iloc[0]
    second = rng.choice(rarer[chosen])
    rows = _some(len(batch), share, rng)
    values = batch[chosen].astype(object)
    values.iloc[rows] = values.iloc[rows].replace({first: second, second: first})
    return Planted(batch.assign(**{chosen: values}), (chosen,))


def _all_null(kind: str) -> Plant:
    def plant(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
        name = _one(clean.numbers() if kind == "number" else clean.categories(), rng)
        if name is None:
            return None
        nothing = np.nan if kind == "number" else None
        return Planted(batch.assign(**{name: nothing}), (name,))

    return plant


def _shuffled(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """A column's values are dealt to other rows: its relations break, its distribution stays."""
    name = _one(_related(clean), rng)
    if name is None:
        return None
    rows = _some(len(batch), share, rng)
    values = batch[name].copy()
    values.iloc[rows] = rng.permutation(values.iloc[rows].to_numpy())
    return Planted(batch.assign(**{name: values}), (name,))


def _related(clean: Clean) -> list[str]:
    """Numbers that another number tells much of: rank correlation of a half and more."""
    names = clean.numbers()
    if len(names) < 2:
        return []
    ranks = clean.reference[names][:5000].rank().corr().abs().to_numpy().copy()
    np.fill_diagonal(ranks, 0)
    return [name for name, best in zip(names, np.nanmax(ranks, axis=1), strict=True) if best >= 0.5]


def _frozen(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    name = _one(clean.numbers(), rng)
    if name is None:
        return None
    rows = np.arange(len(batch))[-max(1, round(share * len(batch))) :]
    values = batch[name].copy()
    values.iloc[rows] = values.dropna().iloc[0]
    return Planted(batch.assign(**{name: values}), (name,))


def _duplicated(batch: Frame, _clean: Clean, rng: Generator, share: float) -> Planted | None:
    rows = _some(len(batch), share, rng)
    kept = batch.drop(batch.index[rows])
    if not len(kept):
        return None
    again = kept.iloc[rng.integers(0, min(len(kept), 5 + len(kept) // 10), len(rows))]
    return Planted(pd.concat([kept, again], ignore_index=True), ())


def _vanished(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """Rows of one value go; where few rows have it, of a value that more have."""
    names = clean.categories()
    name = _one(names, rng)
    if name is None:
        return None
    shares = clean.reference[name].value_counts(normalize=True)
    wanted = shares[(shares >= share) & (shares <= 0.5)]
    if not len(wanted):
        return None
    return _without(batch, batch[name] != rng.choice(wanted.index), (name,))


def _without(batch: Frame, keep: pd.Series, columns: tuple[str, ...]) -> Planted:
    return Planted(batch[keep.to_numpy()].reset_index(drop=True), columns)


def _group_dropped(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """The rows of a range of one number go: a sensor, a region, an age group."""
    name = _one(clean.numbers(), rng)
    if name is None:
        return None
    start = rng.uniform(0, 1 - share)
    low, high = clean.reference[name].quantile([start, start + share])
    keep = ~batch[name].between(low, high)
    return None if keep.sum() < len(batch) // 3 else _without(batch, keep, (name,))


def _labels(change: str) -> Plant:
    """Half or all rows of the second class go; or some rows get the label that is next frequent."""

    def plant(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
        if clean.label is None:
            return None
        label, values = clean.label, batch[clean.label].copy()
        classes = list(clean.reference[label].value_counts().index)
        if change == "shift":
            of_second = np.flatnonzero((values == classes[1]).to_numpy())
            n_gone = round(share * len(of_second))
            gone = rng.choice(of_second, n_gone, replace=False)
            return Planted(batch.drop(batch.index[gone]).reset_index(drop=True), (label,))
        rows = _some(len(batch), share, rng)
        following = dict(zip(classes, classes[1:] + classes[:1], strict=True))
        values.iloc[rows] = values.iloc[rows].map(following).to_numpy()
        return Planted(batch.assign(**{label: values}), (label,))

    return plant


def _dates_off(unit: str) -> Plant:
    """Dates a year off, either way; or a month early, as where months are counted from zero."""

    def plant(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
        name = _one(clean.dates(), rng)
        if name is None:
            return None
        rows = _some(len(batch), share, rng)
        values = batch[name].astype(object)
        off = {"months": -1} if unit == "month" else {"years": int(rng.choice([-1, 1]))}
        days = pd.to_datetime(values.iloc[rows]) + pd.DateOffset(**off)
        values.iloc[rows] = days.dt.strftime("%Y-%m-%d").to_numpy()
        return Planted(batch.assign(**{name: values}), (name,))

    return plant


def _predictions(change: str) -> Plant:
    def plant(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
        if clean.worse is None or clean.label is None:
            return None
        rows = _some(len(batch), share, rng)
        values = batch[clean.label].copy()
        if change == "worse":
            values.iloc[rows] = clean.worse(batch.iloc[rows])
        elif change == "constant":
            values.iloc[rows] = clean.reference[clean.label].mode().iloc[0]
        else:
            values.iloc[rows] = rng.permutation(values.iloc[rows].to_numpy())
        return Planted(batch.assign(**{clean.label: values}), (clean.label,))

    return plant


def _day_and_month(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """Day and month change places where both can."""
    name = _one(clean.dates(), rng)
    if name is None:
        return None
    rows = _some(len(batch), share, rng)
    values = batch[name].astype(object)
    parts = values.iloc[rows].str.split("-", expand=True)
    can = parts[2].astype(int) <= 12
    swapped = parts[0] + "-" + parts[2] + "-" + parts[1]
    values.iloc[rows] = np.where(can, swapped, values.iloc[rows])
    return Planted(batch.assign(**{name: values}), (name,))


def _outliers(values: pd.Series, clean: Clean, name: str, rng: Generator) -> np.ndarray:
    top = clean.reference[name].max()
    spread = max(_sd(clean, name), 1e-9)
    return np.asarray(top + spread * rng.uniform(2, 10, len(values)))


def _to_string(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = _one(clean.numbers(), rng)
    if name is None:
        return None
    text = batch[name].map(lambda value: None if pd.isna(value) else f"{value} kg")
    return Planted(batch.assign(**{name: text}), (name,))


def _text_within(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    name = _one(clean.numbers(), rng)
    if name is None:
        return None
    text = batch[name].map(lambda value: None if pd.isna(value) else str(value)).astype(object)
    text.iloc[_some(len(batch), share, rng)] = "unknown"  # a reader of CSV makes it all text
    return Planted(batch.assign(**{name: text}), (name,))


def _dropped(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = _one(clean.numbers() + clean.categories(), rng)
    return None if name is None else Planted(batch.drop(columns=name), (name,))


def _dependency(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """A category that another one determines, dealt anew: Norway pays in roubles."""
    names = clean.categories()
    for name in rng.permutation(names) if names else ():
        determined = [
            other
            for other in names
            if other != name and (clean.reference.groupby(name)[other].nunique() == 1).all()
        ]
        if determined:
            rows = _some(len(batch), share, rng)
            values = batch[str(name)].copy()
            values.iloc[rows] = rng.permutation(values.iloc[rows].to_numpy())
            return Planted(batch.assign(**{str(name): values}), (str(name), *determined))
    return None


def _column_order(batch: Frame, _clean: Clean, rng: Generator, _share: float) -> Planted:
    return Planted(batch[list(rng.permutation(batch.columns))], ())


def _floats(batch: Frame, _clean: Clean, _rng: Generator, _share: float) -> Planted:
    whole = batch.select_dtypes("integer").columns
    return Planted(batch.astype(dict.fromkeys(whole, float)), ())


def _row_order(batch: Frame, _clean: Clean, rng: Generator, _share: float) -> Planted:
    return Planted(batch.iloc[rng.permutation(len(batch))].reset_index(drop=True), ())


def _categorical(batch: Frame, _clean: Clean, _rng: Generator, _share: float) -> Planted:
    text = batch.select_dtypes(["object", "string"]).columns
    return Planted(batch.astype(dict.fromkeys(text, "category")), ())


def _numbers() -> dict[str, tuple[Plant, tuple[float, ...], bool]]:
    """Faults of a measured number."""

    def scaled(factor: float) -> Plant:
        return _in_a_number(lambda values, *_: values * factor)

    def noise(values: pd.Series, clean: Clean, name: str, rng: Generator) -> pd.Series:
        return values + rng.normal(0, _sd(clean, name), len(values))

    def shifted(values: pd.Series, clean: Clean, name: str, _rng: Generator) -> pd.Series:
        return values + 0.25 * _sd(clean, name)

    def rounded(values: pd.Series, clean: Clean, name: str, _rng: Generator) -> pd.Series:
        step = 10.0 ** np.ceil(np.log10(max(_sd(clean, name), 1e-9)))
        return (values / step).round() * step

    return {
        "missing in a number": (
            partial(
                _in_a_column,
                Clean.numbers_mostly_known,
                float,
                lambda values, *_: [np.nan] * len(values),
            ),
            SHARES,
            True,
        ),
        "number all null": (_all_null("number"), (1.0,), True),
        "sentinel -999": (_in_a_number(lambda values, *_: [-999.0] * len(values)), SHARES, True),
        "sentinel 0": (
            partial(
                _in_a_column,
                Clean.numbers_hardly_zero,
                float,
                lambda values, *_: [0.0] * len(values),
            ),
            SHARES,
            True,
        ),
        "unit x10": (scaled(10), SHARES, True),
        "unit x1000": (scaled(1000), SHARES, True),
        "unit x0.45": (scaled(0.4536), (0.2, 1.0), True),
        "sign flip": (scaled(-1), SHARES, True),
        "noise of 1 sd": (_in_a_number(noise), (1.0,), True),
        "shift of 0.25 sd": (_in_a_number(shifted), (1.0,), True),
        "rounded": (_in_a_number(rounded), (1.0,), True),
        "outliers": (_in_a_number(_outliers), (0.01, 0.05), True),
        "numbers swapped": (_swap_numbers, (0.2, 1.0), True),
        "column shuffled": (_shuffled, (0.2, 1.0), True),
        "column frozen": (_frozen, (0.2, 1.0), True),
        "number to string": (_to_string, (1.0,), True),
        "text in a number": (_text_within, SHARES, True),
    }


def _others() -> dict[str, tuple[Plant, tuple[float, ...], bool]]:
    """Faults of categories, labels, dates and rows; and changes that are no faults."""
    return {
        "missing in a category": (
            _in_a_category(lambda values, *_: [None] * len(values)),
            SHARES,
            True,
        ),
        "category all null": (_all_null("category"), (1.0,), True),
        "typos": (_in_a_category(_misspelt), SHARES, True),
        "other case": (
            _in_a_category(lambda values, *_: values.astype(str).str.swapcase()),
            SHARES,
            True,
        ),
        "trailing blank": (
            _in_a_category(lambda values, *_: values.astype(str) + " "),
            SHARES,
            True,
        ),
        "new category": (
            _in_a_category(lambda values, *_: ["brand-new"] * len(values)),
            SHARES,
            True,
        ),
        "category vanishes": (_vanished, (0.05,), True),
        "categories swapped": (_swap_categories, (0.5, 1.0), True),
        "dependency broken": (_dependency, SHARES, True),
        "labels flipped": (_labels("flip"), (0.1, 0.3), True),
        "label shift": (_labels("shift"), (0.5, 1.0), True),
        "group dropped": (_group_dropped, (0.2,), True),
        "rows duplicated": (_duplicated, (0.1, 0.5), True),
        "dates off by a year": (_dates_off("year"), SHARES, True),
        "months off by one": (_dates_off("month"), (0.2, 1.0), True),
        "day and month swapped": (_day_and_month, (0.2, 1.0), True),
        "column dropped": (_dropped, (1.0,), True),
        "predictions of a worse model": (_predictions("worse"), (0.5, 1.0), True),
        "predictions constant": (_predictions("constant"), (0.2, 1.0), True),
        "predictions shuffled": (_predictions("shuffled"), (0.2, 1.0), True),
        "columns in another order": (_column_order, (1.0,), False),
        "whole numbers as floats": (_floats, (1.0,), False),
        "rows in another order": (_row_order, (1.0,), False),
        "text as categories": (_categorical, (1.0,), False),
    }


_KINDS = _numbers() | _others()
