"""Features: columns and expressions of one column, on some rows to learn from and some held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._learn.domains import cut_points

OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A column, or an expression of it, with its values on sampled rows.

    `text` is how the language says it. A number is held as floats, nan where it is missing; a
    category by codes, -1 where it is missing.
    """

    text: str
    column: str
    is_number: bool
    train: NDArray[Any]
    valid: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A feature's value on each row as one of `n` cells; -1 where it is missing."""

    train: Int64s
    valid: Int64s
    n: int


def as_cells(feature: Feature, most: int) -> Cells:
    """At most so many cells: buckets of a number, the frequent values of a category and the rest.

    >>> ages = Feature("age", "age", True, np.arange(8.0), np.array([0.0, 9.0, np.nan]))
    >>> as_cells(ages, 2).train.tolist(), as_cells(ages, 2).valid.tolist()
    ([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, -1])
    """
    if not feature.is_number:
        return _frequent(feature, most)
    percentiles = [100.0 * cut / most for cut in range(1, most)]
    cuts = cut_points(feature.train, percentiles)
    return Cells(_bucket(feature.train, cuts), _bucket(feature.valid, cuts), cuts.size + 1)


def _bucket(values: Floats, cuts: Floats) -> Int64s:
    codes = np.searchsorted(cuts, values, side="left")
    return np.where(np.isnan(values), -1, codes).astype(np.int64)


def _frequent(feature: Feature, most: int) -> Cells:
    """The most frequent values have a cell each; what is left shares one."""
    size = int(max(feature.train.max(initial=-1), feature.valid.max(initial=-1))) + 1
    counts = np.bincount(feature.train[feature.train >= 0], minlength=size)
    order = np.argsort(-counts, kind="stable")
    n_seen = int((counts > 0).sum())
    n_cells = min(most, n_seen)
    cell = np.full(size + 1, max(n_cells - 1, 0), np.int64)
    cell[order[:n_cells]] = np.arange(n_cells)
    cell[-1] = -1  # where the code of a missing value points
    return Cells(cell[feature.train], cell[feature.valid], n_cells)


def as_values(feature: Feature, most: int) -> Cells | None:
    """A cell for each distinct value; None where there are more than `most`, or fewer than two.

    A held-out value that was never seen is in a cell of its own, the last.
    """
    if not feature.is_number:
        seen = np.unique(feature.train[feature.train >= 0])
    else:
        seen = np.unique(feature.train[~np.isnan(feature.train)])
    if not 2 <= seen.size <= most:
        return None

    def code(values: NDArray[Any]) -> Int64s:
        place = np.minimum(np.searchsorted(seen, values), seen.size - 1)
        codes = np.where(seen[place] == values, place, seen.size)
        missing = np.isnan(values) if feature.is_number else values < 0
        return np.where(missing, -1, codes).astype(np.int64)

    return Cells(code(feature.train), code(feature.valid), int(seen.size) + 1)


def numbers_of(features: Sequence[Feature]) -> list[int]:
    """Where in a list the numbers are."""
    return [index for index, feature in enumerate(features) if feature.is_number]
