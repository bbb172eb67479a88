"""Whether a column looks like a unit that rows belong to, though nobody has said so."""

import re
from collections.abc import Collection, Iterator
from itertools import islice
from math import sqrt

import numpy as np

from sqrl._data.column import Column
from sqrl._data.table import Table
from sqrl._kernels.arrays import Floats, Int64s

LOOKED_AT = 20_000  # rows, the first ones: in their order, since units often come in runs
FEWEST_UNITS, FEWEST_ROWS = 10, 1.5  # and rows in a unit, on average
NAMED = re.compile(
    r"(?i)(^|[_ .-])(id|key|uuid|image|frame|patient|subject|user|customer|session|visit|track)$"
)
ALIKE = 0.1  # of the variance of a column lies between units
SURE = 6.0  # standard deviations beyond what rows in no unit would show
IN_RUNS = 0.5  # of neighbours have the same unit


def unit_hint(table: Table, *, skip: Collection[str] = ()) -> str | None:
    """A sentence for a reader where rows of a column's values go together; None where none do.

    The column has many values, most of them several times; it is called as units are, or its values
    come in runs; and rows with one value are more alike in another column than rows are.

    Cost: a look at each column, of at most 20,000 rows, and a sort of those that may be units.

    >>> from sqrl._data.table import as_table
    >>> images = np.repeat(np.arange(40), 5)
    >>> boxes = as_table({"image": images, "width": np.sin(images) + np.tile([0, 0.1], 100)})
    >>> unit_hint(boxes)[:44]
    "rows with the same 'image' are alike in 'wid"
    """
    some = table.take(np.arange(min(table.n_rows, LOOKED_AT)))
    for name, codes in _candidates(some, skip):
        for other, values in _numbers(some, {*skip, name}):
            if _is_alike(codes, values):
                return (
                    f"rows with the same {name!r} are alike in {other!r}, and p-values take rows "
                    f"to be drawn one by one: learn with --unit {name}"
                )
    return None


def _candidates(table: Table, skip: Collection[str]) -> Iterator[tuple[str, Int64s]]:
    """Columns that may be a unit, and the unit of each row: those called as units are first."""
    if table.n_rows < FEWEST_ROWS * FEWEST_UNITS:
        return
    named = sorted(table.names, key=lambda name: NAMED.search(name) is None)
    for name in named:
        column = table[name]
        if name in skip or column.kind not in {"number", "category"} or column.missing().any():
            continue
        found = column.values
        if column.kind == "number" and not (np.floor(found) == found).all():
            continue
        runs = float(np.mean(found[1:] == found[:-1]))
        if NAMED.search(name) is None and runs <= IN_RUNS:  # known before anything is sorted
            continue
        values, codes = np.unique(found, return_inverse=True)
        if values.size < FEWEST_UNITS or table.n_rows < FEWEST_ROWS * values.size:
            continue
        if NAMED.search(name) or _is_in_runs(codes, runs):
            yield name, codes.astype(np.int64)


def _is_in_runs(codes: Int64s, runs: float) -> bool:
    """Whether equal values follow one another far more often than in a shuffled order."""
    shares = np.bincount(codes) / codes.size
    return runs > IN_RUNS and runs > 5.0 * float((shares**2).sum())


def _numbers(table: Table, skip: Collection[str]) -> Iterator[tuple[str, Floats]]:
    """Columns that units may be alike in, as numbers; of categories the most frequent or not."""
    usable = (c for c in table.columns.values() if c.name not in skip and c.kind != "other")
    for column in islice(usable, 30):
        yield column.name, _as_numbers(column)


def _as_numbers(column: Column) -> Floats:
    if column.kind != "category":
        return column.values.astype(np.float64)
    known = column.values[~column.missing()]
    most = np.bincount(known).argmax() if known.size else 0
    return np.where(column.missing(), np.nan, column.values == most)


def _is_alike(codes: Int64s, values: Floats) -> bool:
    """Whether rows of a unit differ less than rows do: a one-way analysis of variance."""
    known = np.isfinite(values)
    codes, values = codes[known], values[known]
    sizes = np.bincount(codes)
    n_units, n_rows = int(np.count_nonzero(sizes)), values.size
    within = n_rows - n_units
    if n_units < FEWEST_UNITS or within < FEWEST_UNITS:
        return False
    # Ranks, so that a few wild values do not decide.
    ranks = np.unique(values, return_inverse=True)[1].astype(np.float64)
    means = np.bincount(codes, ranks)[sizes > 0] / sizes[sizes > 0]
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float((sizes[sizes > 0] * (means - ranks.mean()) ** 2).sum())
    if total <= 0.0:
        return False
    noise = (total - between) / within
    if noise <= 0.0:
        return True
    ratio = between / (n_units - 1) / noise
    usual = (n_rows - float((sizes.astype(np.float64) ** 2).sum()) / n_rows) / (n_units - 1)
    share = (ratio - 1) / (ratio - 1 + usual)
    return share > ALIKE and ratio > 1 + SURE * sqrt(2 / (n_units - 1) + 2 / within)
