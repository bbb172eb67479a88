"""Faults of measured numbers: units, sentinels, noise, frozen sensors, text in between."""

from functools import partial

import numpy as np
import pandas as pd
from numpy.random import Generator
from pandas.api.types import is_numeric_dtype

from power_planting import (
    SHARES,
    Change,
    Clean,
    Frame,
    Kinds,
    Plant,
    Planted,
    in_a_column,
    one_of,
    some_rows,
)


def number_faults() -> Kinds:
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
                in_a_column,
                Clean.numbers_mostly_known,
                float,
                lambda values, *_: [np.nan] * len(values),
            ),
            SHARES,
        ),
        "number all null": (_all_null, (1.0,)),
        "sentinel -999": (_in_a_number(lambda values, *_: [-999.0] * len(values)), SHARES),
        "sentinel 0": (
            partial(
                in_a_column,
                Clean.numbers_hardly_zero,
                float,
                lambda values, *_: [0.0] * len(values),
            ),
            SHARES,
        ),
        "unit x10": (scaled(10), SHARES),
        "unit x1000": (scaled(1000), SHARES),
        "unit x0.45": (scaled(0.4536), (0.2, 1.0)),
        "sign flip": (scaled(-1), SHARES),
        "noise of 1 sd": (_in_a_number(noise), (1.0,)),
        "shift of 0.25 sd": (_in_a_number(shifted), (1.0,)),
        "rounded": (_in_a_number(rounded), (1.0,)),
        "outliers": (_in_a_number(_outliers), (0.01, 0.05)),
        "numbers swapped": (_swap_numbers, (0.2, 1.0)),
        "column shuffled": (_shuffled, (0.2, 1.0)),
        "column frozen": (_frozen, (0.2, 1.0)),
        "number to string": (_to_string, (1.0,)),
        "text in a number": (_text_within, SHARES),
    }


def _in_a_number(change: Change) -> Plant:
    """A fault that changes some values of one measured number."""
    return partial(in_a_column, Clean.numbers, float, change)


def _sd(clean: Clean, name: str) -> float:
    """A robust standard deviation, so that a few wild values do not make every fault huge."""
    values = clean.reference[name].dropna()
    low, high = np.quantile(values, [0.16, 0.84])
    return float((high - low) / 2) or float(values.std())


def _swap_numbers(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    names = clean.numbers()
    if len(names) < 2:
        return None
    first, second = (str(name) for name in rng.choice(names, 2, replace=False))
    rows = some_rows(len(batch), share, rng)
    one, other = batch[first].copy(), batch[second].copy()
    if is_numeric_dtype(one):
        one, other = one.astype(float), other.astype(float)
    one.iloc[rows], other.iloc[rows] = other.iloc[rows].to_numpy(), one.iloc[rows].to_numpy()
    return Planted(batch.assign(**{first: one, second: other}), (first, second))


def _shuffled(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """A column's values are dealt to other rows: its relations break, its distribution stays."""
    name = one_of(_related(clean), rng)
    if name is None:
        return None
    rows = some_rows(len(batch), share, rng)
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
    name = one_of(clean.numbers(), rng)
    if name is None:
        return None
    rows = np.arange(len(batch))[-max(1, round(share * len(batch))) :]
    values = batch[name].copy()
    values.iloc[rows] = values.dropna().iloc[0]
    return Planted(batch.assign(**{name: values}), (name,))


def _outliers(values: pd.Series, clean: Clean, name: str, rng: Generator) -> np.ndarray:
    top = clean.reference[name].max()
    spread = max(_sd(clean, name), 1e-9)
    return np.asarray(top + spread * rng.uniform(2, 10, len(values)))


def _to_string(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = one_of(clean.numbers(), rng)
    if name is None:
        return None
    text = batch[name].map(lambda value: None if pd.isna(value) else f"{value} kg")
    return Planted(batch.assign(**{name: text}), (name,))


def _text_within(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    name = one_of(clean.numbers(), rng)
    if name is None:
        return None
    text = batch[name].map(lambda value: None if pd.isna(value) else str(value)).astype(object)
    text.iloc[some_rows(len(batch), share, rng)] = "unknown"  # a reader of CSV makes it all text
    return Planted(batch.assign(**{name: text}), (name,))


def _all_null(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = one_of(clean.numbers(), rng)
    return None if name is None else Planted(batch.assign(**{name: np.nan}), (name,))
