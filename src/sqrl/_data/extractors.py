"""Statistics computed by Python functions or neural networks: samples in, named columns out.

Extractors are registered in Python and handed to `learn`; a schema or rules file names the columns
they give, never the function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqrl._data.table import Table, as_table
from sqrl.errors import SchemaError

Batch = dict[str, NDArray[np.generic]]
Extract = Callable[[Batch], Mapping[str, NDArray[np.generic]]]
MOST_CACHED = 8


@dataclass(slots=True, eq=False)
class Extractor:
    """A function that adds columns to a table, called on batches of rows and cached.

    >>> @extractor(inputs=["w", "h"], outputs=["ratio"])
    ... def shape(batch):
    ...     return {"ratio": batch["w"] / batch["h"]}
    >>> shape({"w": [1.0, 4.0], "h": [2.0, 2.0]})["ratio"].values.tolist()
    [0.5, 2.0]
    """

    function: Extract
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    batch_size: int
    _cache: dict[str, dict[str, NDArray[np.generic]]] = field(default_factory=dict)

    def __call__(self, data: Any) -> Table:
        """The table, or any data that `as_table` takes, with the extractor's columns added."""
        table = as_table(data)
        if all(name in table for name in self.outputs):
            return table
        key = table.fingerprint(self.inputs)
        if key not in self._cache:
            while len(self._cache) >= MOST_CACHED:
                self._cache.pop(next(iter(self._cache)))
            self._cache[key] = self._extract(table)
        return table.with_columns(self._cache[key])

    def _extract(self, table: Table) -> dict[str, NDArray[np.generic]]:
        values = {name: _plain(table, name) for name in self.inputs}
        pieces: dict[str, list[NDArray[np.generic]]] = {name: [] for name in self.outputs}
        for start in range(0, table.n_rows, self.batch_size):
            stop = min(start + self.batch_size, table.n_rows)
            made = self.function({name: column[start:stop] for name, column in values.items()})
            self._check(made, stop - start)
            for name in self.outputs:
                pieces[name].append(np.asarray(made[name]))
        return {
            name: np.concatenate(parts) if parts else np.empty(0) for name, parts in pieces.items()
        }

    def _check(self, made: object, n_rows: int) -> None:
        where = f"extractor {self.name!r}"
        if not isinstance(made, Mapping) or set(made) != set(self.outputs):
            got = sorted(made) if isinstance(made, Mapping) else type(made).__name__
            raise SchemaError(
                f"The extractor gave {got}, not {sorted(self.outputs)}.",
                where=where,
                fix="return a dict with exactly the names in outputs=",
            )
        for name in self.outputs:
            try:
                shape = np.shape(made[name])
            except ValueError:  # lists of several lengths
                shape = ()
            if shape != (n_rows,):
                raise SchemaError(
                    f"Column {name!r} has shape {shape} for {n_rows} rows.",
                    where=where,
                    fix="give one value for each row of the batch",
                )


def extractor(
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    name: str | None = None,
    batch_size: int = 1024,
) -> Callable[[Extract], Extractor]:
    """Make a function from a batch of samples to named columns an extractor.

    The function gets a dict of arrays, `batch_size` rows at a time (numbers as floats, categories
    as strings), and returns a dict of arrays with the names in `outputs`. It is called once for
    the same inputs.
    """
    if batch_size < 1 or not outputs:
        raise SchemaError("An extractor needs outputs and a batch size of 1 or more.")

    def wrap(function: Extract) -> Extractor:
        return Extractor(
            function, name or function.__name__, tuple(inputs), tuple(outputs), batch_size
        )

    return wrap


def _plain(table: Table, name: str) -> NDArray[np.generic]:
    """A column's values as a function expects them: numbers, or strings with None for missing."""
    column = table[name]
    if column.kind == "category":
        named: NDArray[np.generic] = np.array([*column.categories, None], dtype=object)
        return np.asarray(named[column.values])
    return column.values
