"""Faults of categories, labels, dates, whole rows and predictions."""

from functools import partial

import numpy as np
import pandas as pd
from numpy.random import Generator

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
    without,
)


def other_faults() -> Kinds:
    """Faults of categories, labels, dates, rows and predictions."""
    return {
        "missing in a category": (
            _in_a_category(lambda values, *_: [None] * len(values)),
            SHARES,
        ),
        "category all null": (_all_null, (1.0,)),
        "typos": (_in_a_category(_misspelt), SHARES),
        "other case": (
            _in_a_category(lambda values, *_: values.astype(str).str.swapcase()),
            SHARES,
        ),
        "trailing blank": (
            _in_a_category(lambda values, *_: values.astype(str) + " "),
            SHARES,
        ),
        "new category": (
            _in_a_category(lambda values, *_: ["brand-new"] * len(values)),
            SHARES,
        ),
        "category vanishes": (_vanished, (0.05,)),
        "categories swapped": (_swap_categories, (0.5, 1.0)),
        "dependency broken": (_dependency, SHARES),
        "labels flipped": (_labels("flip"), (0.1, 0.3)),
        "label shift": (_labels("shift"), (0.5, 1.0)),
        "group dropped": (_group_dropped, (0.2,)),
        "rows duplicated": (_duplicated, (0.1, 0.5)),
        "dates off by a year": (_dates_off("year"), SHARES),
        "months off by one": (_dates_off("month"), (0.2, 1.0)),
        "day and month swapped": (_day_and_month, (0.2, 1.0)),
        "column dropped": (_dropped, (1.0,)),
        "predictions of a worse model": (_predictions("worse"), (0.5, 1.0)),
        "predictions constant": (_predictions("constant"), (0.2, 1.0)),
        "predictions shuffled": (_predictions("shuffled"), (0.2, 1.0)),
    }


def _in_a_category(change: Change) -> Plant:
    """A fault that changes some values of one category."""
    return partial(in_a_column, Clean.categories, object, change)


def _misspelt(values: pd.Series, _clean: Clean, _name: str, rng: Generator) -> list[str]:
    spelt = []
    for value in values.astype(str):
        place = int(rng.integers(0, max(len(value) - 1, 1)))
        spelt.append(value[:place] + value[place + 1 :] + value[place : place + 1])
    return [word if word != old else f"{word}x" for word, old in zip(spelt, values, strict=True)]


def _swap_categories(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """The most frequent value of a category and one that is rarer change places: yes is no."""
    rarer = {}
    for name in clean.categories():
        shares = clean.reference[name].value_counts(normalize=True)
        rarer[name] = shares.index[(shares >= 0.05) & (shares <= shares.iloc[0] / 1.5)]
    chosen = one_of([name for name in rarer if len(rarer[name])], rng)
    if chosen is None:
        return None
    first = clean.reference[chosen].mode().iloc[0]
    second = rng.choice(rarer[chosen])
    rows = some_rows(len(batch), share, rng)
    values = batch[chosen].astype(object)
    values.iloc[rows] = values.iloc[rows].replace({first: second, second: first})
    return Planted(batch.assign(**{chosen: values}), (chosen,))


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
            rows = some_rows(len(batch), share, rng)
            values = batch[str(name)].copy()
            values.iloc[rows] = rng.permutation(values.iloc[rows].to_numpy())
            return Planted(batch.assign(**{str(name): values}), (str(name), *determined))
    return None


def _vanished(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """Rows of one value go; where few rows have it, of a value that more have."""
    names = clean.categories()
    name = one_of(names, rng)
    if name is None:
        return None
    shares = clean.reference[name].value_counts(normalize=True)
    wanted = shares[(shares >= share) & (shares <= 0.5)]
    if not len(wanted):
        return None
    return without(batch, batch[name] != rng.choice(wanted.index), (name,))


def _group_dropped(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """The rows of a range of one number go: a sensor, a region, an age group."""
    name = one_of(clean.numbers(), rng)
    if name is None:
        return None
    start = rng.uniform(0, 1 - share)
    low, high = clean.reference[name].quantile([start, start + share])
    keep = ~batch[name].between(low, high)
    return None if keep.sum() < len(batch) // 3 else without(batch, keep, (name,))


def _duplicated(batch: Frame, _clean: Clean, rng: Generator, share: float) -> Planted | None:
    rows = some_rows(len(batch), share, rng)
    kept = batch.drop(batch.index[rows])
    if not len(kept):
        return None
    again = kept.iloc[rng.integers(0, min(len(kept), 5 + len(kept) // 10), len(rows))]
    return Planted(pd.concat([kept, again], ignore_index=True), ())


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
        rows = some_rows(len(batch), share, rng)
        following = dict(zip(classes, classes[1:] + classes[:1], strict=True))
        values.iloc[rows] = values.iloc[rows].map(following).to_numpy()
        return Planted(batch.assign(**{label: values}), (label,))

    return plant


def _dates_off(unit: str) -> Plant:
    """Dates a year off, either way; or a month early, as where months are counted from zero."""

    def plant(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
        name = one_of(clean.dates(), rng)
        if name is None:
            return None
        rows = some_rows(len(batch), share, rng)
        values = batch[name].astype(object)
        off = {"months": -1} if unit == "month" else {"years": int(rng.choice([-1, 1]))}
        days = pd.to_datetime(values.iloc[rows]) + pd.DateOffset(**off)
        values.iloc[rows] = days.dt.strftime("%Y-%m-%d").to_numpy()
        return Planted(batch.assign(**{name: values}), (name,))

    return plant


def _day_and_month(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
    """Day and month change places where both can."""
    name = one_of(clean.dates(), rng)
    if name is None:
        return None
    rows = some_rows(len(batch), share, rng)
    values = batch[name].astype(object)
    parts = values.iloc[rows].str.split("-", expand=True)
    can = parts[2].astype(int) <= 12
    swapped = parts[0] + "-" + parts[2] + "-" + parts[1]
    values.iloc[rows] = np.where(can, swapped, values.iloc[rows])
    return Planted(batch.assign(**{name: values}), (name,))


def _dropped(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = one_of(clean.numbers() + clean.categories(), rng)
    return None if name is None else Planted(batch.drop(columns=name), (name,))


def _predictions(change: str) -> Plant:
    def plant(batch: Frame, clean: Clean, rng: Generator, share: float) -> Planted | None:
        if clean.worse is None or clean.label is None:
            return None
        rows = some_rows(len(batch), share, rng)
        values = batch[clean.label].copy()
        if change == "worse":
            values.iloc[rows] = clean.worse(batch.iloc[rows])
        elif change == "constant":
            values.iloc[rows] = clean.reference[clean.label].mode().iloc[0]
        else:
            values.iloc[rows] = rng.permutation(values.iloc[rows].to_numpy())
        return Planted(batch.assign(**{clean.label: values}), (clean.label,))

    return plant


def _all_null(batch: Frame, clean: Clean, rng: Generator, _share: float) -> Planted | None:
    name = one_of(clean.categories(), rng)
    return None if name is None else Planted(batch.assign(**{name: None}), (name,))
