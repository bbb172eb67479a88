"""Drifts: what happens to a table between the day a model was trained and the day it is used.

Each function gives the table after the drift. A drift of values leaves the labels alone; the model
sees the drifted table, and rules see it too unless only the model's own feed is broken.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl import Table, shuffle_rows
from sqrl.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Drifted:
    """The rows after a drift: as the model sees them, and as they are, in the same order."""

    seen: Table
    true: Table


def change(table: Table, name: str, values: Floats) -> Table:
    """The table with other values in a column of numbers.

    >>> from sqrl import as_table
    >>> change(as_table({"age": [40, 50]}), "age", np.array([1.0, 2.0]))["age"].values.tolist()
    [1.0, 2.0]
    """
    if table[name].kind == "category":
        what = f"Column {name!r} holds text, and drifts are of numbers."
        raise DataError(what, where=table.source, fix="choose a column of numbers")
    return table.with_columns({name: values}, replace=True)


def shift(table: Table, name: str, by: float) -> Table:
    """The table with a number added to a column, as by an instrument that lost its zero.

    >>> from sqrl import as_table
    >>> shift(as_table({"ap_hi": [120, 140]}), "ap_hi", 15)["ap_hi"].values.tolist()
    [135.0, 155.0]
    """
    return change(table, name, table[name].values + by)


def rescale(table: Table, name: str, factor: float, *, about: float = 0.0) -> Table:
    """The table with a column stretched about a point that stays where it is.

    About zero this is a change of unit, about the mean an instrument too lively or too dull.

    >>> from sqrl import as_table
    >>> table = as_table({"ap_hi": [120, 140]})
    >>> rescale(table, "ap_hi", 1.5, about=120)["ap_hi"].values.tolist()
    [120.0, 150.0]
    """
    return change(table, name, about + factor * (table[name].values - about))


def fill(table: Table, name: str, value: float) -> Table:
    """The table with the same value in all rows of a column, as where it was not delivered.

    >>> from sqrl import as_table
    >>> fill(as_table({"gluc": [1, 3]}), "gluc", 1)["gluc"].values.tolist()
    [1.0, 1.0]
    """
    return change(table, name, np.full(table.n_rows, float(value)))


def in_part(before: Table, after: Table, share: float, *, seed: int) -> Table:
    """The table `after` a drift of values in a share of its rows, and as `before` in the others.

    >>> from sqrl import as_table
    >>> before = as_table({"gluc": [1, 1, 1, 1]})
    >>> in_part(before, fill(before, "gluc", 3), 0.5, seed=0)["gluc"].values.tolist()
    [1.0, 1.0, 3.0, 3.0]
    """
    n_drifted = round(before.n_rows * share)
    drifted = np.zeros(before.n_rows, np.bool_)
    drifted[shuffle_rows(before.n_rows, seed=seed)[:n_drifted]] = True
    changed = [name for name in before if after[name] is not before[name]]
    table = before
    for name in changed:
        table = change(table, name, np.where(drifted, after[name].values, before[name].values))
    return table


def rebalance(table: Table, label: str, share: float, *, seed: int) -> Table:
    """As many of the rows as make this share of them have the label 1; none is drawn twice.

    >>> from sqrl import as_table
    >>> table = as_table({"cardio": [0, 0, 0, 1, 1, 1]})
    >>> rebalance(table, "cardio", 0.25, seed=0)["cardio"].values.tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    if not 0.0 < share < 1.0:
        raise DataError(f"A class balance of {share}.", fix="give a share between 0 and 1")
    values = table[label].values
    ones, zeros = np.flatnonzero(values == 1), np.flatnonzero(values == 0)
    n = int(min(ones.size / share, zeros.size / (1.0 - share)))
    kept = [
        rows[shuffle_rows(rows.size, seed=seed)[:count]]
        for rows, count in ((ones, round(n * share)), (zeros, n - round(n * share)))
    ]
    return table.take(np.sort(np.concatenate(kept)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A drift with a name and a strength: `make(table, seed)` gives the rows after it."""

    name: str
    strength: str
    make: Callable[[Table, int], Drifted]


def of_values(name: str, strength: str, alter: Callable[[Table], Table]) -> Drift:
    """A drift that changes what the model sees of the rows, and not the rows."""

    def make(table: Table, seed: int) -> Drifted:  # noqa: ARG001  (nothing is left to chance)
        return Drifted(alter(table), table)

    return Drift(name=name, strength=strength, make=make)


def of_some_values(name: str, share: float, alter: Callable[[Table], Table]) -> Drift:
    """A drift of values in a share of the rows, such as those of one of two clinics."""
    return Drift(
        name=name,
        strength=f"{share:.0%} of rows",
        make=lambda table, seed: Drifted(in_part(table, alter(table), share, seed=seed), table),
    )


def of_balance(label: str, share: float) -> Drift:
    """A drift to another share of rows with the label 1."""

    def make(table: Table, seed: int) -> Drifted:
        rows = rebalance(table, label, share, seed=seed)
        return Drifted(rows, rows)

    return Drift(name="class balance", strength=f"{share:.0%} with {label}", make=make)
