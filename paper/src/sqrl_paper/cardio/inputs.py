"""TableInputs: what a network is given of a table's rows, with all it needs taken from train."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sqrl import Column, Table
from sqrl.errors import DataError

MIDDLE = (2.0, 98.0)  # percentiles: what lies outside is pulled in before the spread is taken
FARTHEST = 10.0  # spreads from the centre; the rest are slips of the pen, such as ap_hi = 16020


@dataclass(frozen=True, slots=True, eq=False)
class TableInputs:
    """Turns tables into a network's inputs: numbers standardised, categories numbered.

    A category that train has not seen is taken for the most frequent one.

    Shapes: centres and spreads (n_numbers,); values and most_frequent have an entry a category.
    """

    numbers: tuple[str, ...]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    categories: tuple[str, ...]
    values: tuple[NDArray[np.float64], ...]
    most_frequent: tuple[int, ...]

    def __call__(self, table: Table) -> tuple[Tensor, Tensor]:
        """The numbers and the categories of each row, as the network takes them."""
        return self._standardised(table), self._numbered(table)

    @property
    def cardinalities(self) -> list[int]:
        """How many values each category has."""
        return [len(values) for values in self.values]

    def spread(self, name: str) -> float:
        """The standard deviation of a number, not counting what lies far out."""
        return float(self.spreads[self.numbers.index(name)])

    def _standardised(self, table: Table) -> Tensor:
        raw = _stack([table[name].values for name in self.numbers], table.n_rows)
        scaled = np.clip((raw - self.centres) / self.spreads, -FARTHEST, FARTHEST)
        return torch.from_numpy(scaled.astype(np.float32))

    def _numbered(self, table: Table) -> Tensor:
        codes = [
            _codes(table[name].values, values, otherwise)
            for name, values, otherwise in zip(
                self.categories, self.values, self.most_frequent, strict=True
            )
        ]
        return torch.from_numpy(_stack(codes, table.n_rows).astype(np.int64))


def fit_inputs(train: Table, *, numbers: Sequence[str], categories: Sequence[str]) -> TableInputs:
    """The inputs whose centres, spreads and categories are those of the train rows.

    >>> from sqrl import as_table
    >>> train = as_table({"age": [40, 50, 60], "gender": [1, 2, 2]})
    >>> inputs = fit_inputs(train, numbers=["age"], categories=["gender"])
    >>> inputs.centres.tolist(), inputs(train)[1].tolist()
    ([50.0], [[0], [1], [1]])
    """
    for name in (*numbers, *categories):
        _check_numbers(train[name], train.source)
    middles = [_middle(train[name].values) for name in numbers]
    found = [np.unique(train[name].values, return_counts=True) for name in categories]
    spreads = np.array([middle.std() for middle in middles])
    return TableInputs(
        numbers=tuple(numbers),
        centres=np.array([middle.mean() for middle in middles]),
        spreads=np.where(spreads > 0, spreads, 1.0),
        categories=tuple(categories),
        values=tuple(values for values, _ in found),
        most_frequent=tuple(int(counts.argmax()) for _, counts in found),
    )


def labels_of(table: Table, name: str) -> Tensor:
    """The label's class on each row, as a number from 0."""
    return torch.from_numpy(table[name].values.astype(np.int64))


def _check_numbers(column: Column, source: str) -> None:
    if column.kind != "number" or column.missing().any():
        raise DataError(
            f"Column {column.name!r} has values that are not numbers.",
            where=source,
            fix="fill in or leave out the rows without a number",
        )


def _middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = np.percentile(values, MIDDLE)
    return np.clip(values, low, high)


def _codes(
    raw: NDArray[np.float64], values: NDArray[np.float64], otherwise: int
) -> NDArray[np.int64]:
    places = np.searchsorted(values, raw).clip(max=len(values) - 1)
    return np.where(values[places] == raw, places, otherwise)


def _stack(columns: Sequence[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0))
