"""Batch and Batches: a model's inputs beside the columns that rules speak of, in mini-batches."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sqrl._data.draws import draw_batches, shuffle_rows
from sqrl._data.table import Column, as_table
from sqrl._kernels.arrays import Int64s
from sqrl._rows.rows import Rows
from sqrl._rows.units import unit_keys
from sqrl.errors import AdaptError


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A column of categories: each row's place in `names`, -1 where the value is missing."""

    codes: Tensor
    names: tuple[str, ...]

    def __getitem__(self, rows: Any) -> "Categories":
        return Categories(self.codes[rows], self.names)

    def to(self, device: torch.device) -> "Categories":
        """The column on another device."""
        return Categories(self.codes.to(device), self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What a model takes of a mini-batch, and the columns of its rows.

    `inputs` is a tensor, a tuple of tensors (the model's arguments) or a dict (by keyword).
    """

    inputs: Any
    columns: Mapping[str, Tensor | Categories] = field(default_factory=dict)
    rows: Tensor | None = None

    def to(self, device: torch.device) -> "Batch":
        """The mini-batch on another device."""
        columns = {name: column.to(device) for name, column in self.columns.items()}
        return Batch(to_device(self.inputs, device), columns, self.rows)


class Batches:
    """A table and the model's inputs for its rows, in mini-batches, as often as one likes.

    Rows are shuffled by the seed, so that mini-batches are alike; with `reshuffle` (the default)
    differently each time they are gone through, and those that do not fill a mini-batch are left
    out that time. `inputs` is what the model takes of all rows: a tensor, a tuple (its arguments)
    or a dict (by keyword). Arrays of numpy and frames become tensors, doubles in torch's default
    precision. Fewer rows than `size` make one mini-batch. Rows that belong to one `unit`, a
    column of the table or several, stay together: mini-batches are then of about that size.

    >>> batches = Batches(torch.zeros(5, 2), {"age": [1, 2, 3, 4, 5]}, size=2, seed=0)
    >>> [len(batch.inputs) for batch in batches], len(batches)
    ([2, 2], 2)
    """

    def __init__(
        self,
        inputs: Any,
        table: Any = None,
        *,
        size: int,
        seed: int = 0,
        reshuffle: bool = True,
        unit: str | Sequence[str] | None = None,
    ) -> None:
        self.inputs = _as_tensors(inputs)
        self.columns = {} if table is None else columns_of(table)
        self.size, self.seed, self.reshuffle = size, seed, reshuffle
        self.n_rows = _count_rows(self.inputs)
        self._turn = 0
        for name, column in self.columns.items():
            n = len(column.codes if isinstance(column, Categories) else column)
            if n != self.n_rows:
                raise AdaptError(
                    f"Column {name!r} has {n:,} rows, the model's inputs {self.n_rows:,}.",
                    fix="give the table the rows of the inputs, in the same order",
                )
        self._units = None if unit is None else _codes_of_units(table, unit)
        if size < 1:
            raise AdaptError(f"Mini-batches of {size} rows.", fix="give a size of at least 1")

    def __len__(self) -> int:
        return max(1, self.n_rows // self.size) if self.n_rows else 0

    def __iter__(self) -> Iterator[Batch]:
        seed = self.seed + (self._turn if self.reshuffle else 0)
        self._turn += 1
        for rows in self.cut(seed):
            yield self.take(rows)

    def cut(self, seed: int) -> Iterator[Tensor]:
        """The rows of each mini-batch of one time through; a subclass may cut them otherwise."""
        if self._units is not None:
            yield from _cut_units(self._units, len(self), seed)
            return
        order = torch.from_numpy(shuffle_rows(self.n_rows, seed=seed))
        for index in range(len(self)):
            yield order[index * self.size : (index + 1) * self.size]

    def draw(self, n_batches: int, *, seed: int) -> Iterator[Batch]:
        """So many mini-batches, each drawn from all rows without replacement: a bootstrap.

        A row may be in several of them. Fewer rows than `size` are all in each.

        >>> batches = Batches(torch.zeros(5, 2), size=3)
        >>> [len(batch.inputs) for batch in batches.draw(4, seed=0)]
        [3, 3, 3, 3]
        """
        size = min(self.size, self.n_rows)
        drawn = draw_batches(self.n_rows, size, n_batches, seed=seed, where="batches")
        for rows in torch.from_numpy(drawn):
            yield self.take(rows)

    def from_start(self) -> "Batches":
        """These mini-batches, shuffled as if they had not been gone through before."""
        fresh = copy.copy(self)
        fresh._turn = 0
        return fresh

    def in_order(self) -> Iterator[Batch]:
        """Every row once, in the order of the table; the last mini-batch may be short."""
        for first in range(0, self.n_rows, self.size):
            yield self.take(torch.arange(first, min(first + self.size, self.n_rows)))

    def take(self, rows: Tensor) -> Batch:
        """The mini-batch of these rows, in this order."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Batch(_take_rows(self.inputs, rows), columns, rows)


def _codes_of_units(table: Any, unit: str | Sequence[str]) -> Int64s:
    """The number of each row's unit, from 0."""
    names = (unit,) if isinstance(unit, str) else tuple(unit)
    if table is None:
        what = f"Rows belong to the unit {' and '.join(names)}, and there is no table to say which."
        raise AdaptError(what, fix="give the table that has the column")
    rows = Rows(as_table(table), {})
    for name in names:
        rows.table[name]  # raises where there is no such column
    return np.unique(unit_keys(rows, names), return_inverse=True)[1].astype(np.int64)


def _cut_units(units: Int64s, n_batches: int, seed: int) -> Iterator[Tensor]:
    """Mini-batches of about the same size that hold whole units, in a shuffled order.

    >>> units = np.array([0, 1, 0, 2, 2, 1])
    >>> [len(set(units[rows].tolist())) for rows in _cut_units(units, 3, seed=0)]
    [1, 1, 1]
    """
    sizes = np.bincount(units)
    shuffled = shuffle_rows(sizes.size, seed=seed)
    rank = np.empty_like(shuffled)
    rank[shuffled] = np.arange(shuffled.size)
    order = np.argsort(rank[units], kind="stable")
    ends = np.cumsum(sizes[shuffled])
    wanted = np.arange(1, n_batches + 1) * (units.size / n_batches)
    stops = ends[np.minimum(np.searchsorted(ends, wanted - 0.5), ends.size - 1)]
    for begin, end in pairwise([0, *np.unique(stops).tolist()]):
        yield torch.from_numpy(order[begin:end])


def columns_of(table: Any) -> dict[str, Tensor | Categories]:
    """The columns of any table as tensors: numbers in double precision, nan where missing.

    >>> columns_of({"age": [50, None], "type": ["Car", None]})["type"].codes.tolist()
    [0, -1]
    """
    columns = as_table(table).columns.values()
    return {column.name: _tensor(column) for column in columns if column.kind != "other"}


def _tensor(column: Column) -> Tensor | Categories:
    if column.kind == "category":
        codes = torch.from_numpy(np.array(column.values, np.int64))
        return Categories(codes, tuple(column.categories))
    return torch.from_numpy(np.array(column.values, np.float64))


def run_model(model: nn.Module, batch: Any) -> Any:
    """The model's output on a batch of the usual shapes; `adapt(..., forward=...)` for others."""
    inputs = batch.inputs if isinstance(batch, Batch) else batch
    if isinstance(inputs, Tensor):
        return model(inputs)
    if isinstance(inputs, Mapping):
        return model(**inputs)
    if isinstance(inputs, tuple | list) and (isinstance(batch, Batch) or len(inputs) == 1):
        return model(*inputs)
    raise AdaptError(
        f"A batch is a {type(inputs).__name__}, and it is not clear what of it the model takes.",
        fix="pass forward=lambda model, batch: model(batch[0]), or make batches with sqrl.Batches",
    )


def to_device(value: Any, device: torch.device) -> Any:
    """Tensors within a batch moved to a device; anything else as it is."""
    if isinstance(value, Tensor | Batch | Categories):
        return value.to(device)
    if isinstance(value, Mapping):
        return {name: to_device(item, device) for name, item in value.items()}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(to_device(item, device) for item in value)
    return value


def _as_tensors(inputs: Any) -> Any:
    """The model's inputs with arrays and frames as tensors; what else there is as it is."""
    if isinstance(inputs, Mapping):
        return {name: _as_tensor(part) for name, part in inputs.items()}
    if isinstance(inputs, tuple | list):
        return tuple(_as_tensor(part) for part in inputs)
    return _as_tensor(inputs)


def _as_tensor(values: Any) -> Any:
    if isinstance(values, list | tuple | int | float | str):
        raise AdaptError(
            f"A part of the model's inputs is a {type(values).__name__}.",
            where="inputs",
            fix="give torch.tensor(inputs), with a row for each sample",
        )
    if isinstance(values, Tensor) or not hasattr(values, "__array__"):
        return values
    array = np.ascontiguousarray(values)
    if array.dtype.kind not in "biuf":
        raise AdaptError(
            f"The model's inputs hold {array.dtype}, not numbers.",
            where="inputs",
            fix="encode words and dates as numbers; what rules speak of belongs in the table",
        )
    precise = torch.get_default_dtype() if array.dtype == np.float64 else None
    return torch.tensor(array, dtype=precise)


def _count_rows(inputs: Any) -> int:
    if isinstance(inputs, Tensor):
        return len(inputs)
    parts = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
    counts = {len(part) for part in parts if part is not None}
    if len(counts) != 1:
        raise AdaptError(
            f"The model's inputs have different numbers of rows: {sorted(counts)}.",
            fix="give tensors with a row for each sample",
        )
    return int(counts.pop())


def _take_rows(inputs: Any, rows: Tensor) -> Any:
    if isinstance(inputs, Tensor):
        return inputs[rows]
    if isinstance(inputs, Mapping):
        return {name: part if part is None else part[rows] for name, part in inputs.items()}
    return tuple(part if part is None else part[rows] for part in inputs)


def join(parts: Sequence[Any]) -> Any:
    """Tensors of mini-batches as one, within dicts and tuples too; else the list of the parts.

    >>> join([torch.zeros(2, 3), torch.ones(1, 3)]).shape
    torch.Size([3, 3])
    """
    first, parts = parts[0], list(parts)
    if all(part is None for part in parts):
        return None
    if all(isinstance(part, Categories) for part in parts):
        return Categories(torch.cat([part.codes for part in parts]), first.names)
    if all(isinstance(part, Tensor) and part.ndim for part in parts):
        fits = all(part.shape[1:] == first.shape[1:] for part in parts)
        return torch.cat(parts) if fits else parts
    if all(isinstance(part, Mapping) and part.keys() == first.keys() for part in parts):
        return {name: join([part[name] for part in parts]) for name in first}
    if all(isinstance(part, tuple) and len(part) == len(first) for part in parts):
        return tuple(join(some) for some in zip(*parts, strict=True))
    return parts


def join_batches(batches: Sequence[Batch]) -> Batch:
    """One mini-batch with the rows of several: inputs, for names may be made of them, and columns.

    >>> joined = join_batches([Batch(torch.zeros(2, 1)), Batch(torch.ones(3, 1))])
    >>> joined.inputs.flatten().tolist()
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """
    columns: dict[str, Tensor | Categories] = join([batch.columns for batch in batches])
    return Batch(join([batch.inputs for batch in batches]), columns)
