"""Where faults can be planted: the clean rows of a table, and what planting gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
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
Kinds = dict[str, tuple[Plant, tuple[float, ...]]]  # how it is planted, and how strong
Change = Callable[[pd.Series, Clean, str, Generator], object]


def one_of(names: list[str], rng: Generator) -> str | None:
    """A name drawn at random; None where there is none."""
    return str(rng.choice(names)) if names else None


def some_rows(n: int, share: float, rng: Generator) -> np.ndarray:
    """A share of n rows drawn at random, at least one."""
    return rng.choice(n, max(1, round(share * n)), replace=False)


def in_a_column(
    names: Callable[[Clean], list[str]],
    kind: type,
    change: Change,
    batch: Frame,
    clean: Clean,
    rng: Generator,
    share: float,
) -> Planted | None:
    """Some values of one column changed."""
    name = one_of(names(clean), rng)
    if name is None:
        return None
    rows = some_rows(len(batch), share, rng)
    values = batch[name].astype(kind)
    values.iloc[rows] = np.asarray(change(values.iloc[rows], clean, name, rng), kind)
    return Planted(batch.assign(**{name: values}), (name,))


def without(batch: Frame, keep: pd.Series, columns: tuple[str, ...]) -> Planted:
    """The rows that are kept."""
    return Planted(batch[keep.to_numpy()].reset_index(drop=True), columns)
