"""Units: rows that belong together, such as the boxes of an image or the visits of a patient."""

from collections.abc import Sequence

import numpy as np

from sqrl._data.draws import SPLIT, mixed_keys
from sqrl._kernels.arrays import Bools, Int64s
from sqrl._language.tree import Call, Name
from sqrl._rows.rows import KEY, Rows
from sqrl.errors import DataError


def unit_keys(rows: Rows, unit: Sequence[str]) -> Int64s:
    """A number for the unit of each row, the same just where all columns of the unit are.

    Rows whose unit is missing make a unit of their own, all together.

    >>> from sqrl._data.table import as_table
    >>> rows = Rows(as_table({"drive": [1, 1, 2], "track": ["a", "a", "a"]}), {})
    >>> keys = unit_keys(rows, ["drive", "track"])
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    named = Call(KEY, tuple(Name(name) for name in unit))
    return rows.numbers(named).astype(np.int64)


def held_out_units(keys: Int64s, share: float, *, seed: int) -> Int64s:
    """The keys of the units that are held out, ascending: a share of all units, at least one.

    `keys` are those of the units, each once. Which are chosen depends on the seed and the units
    alone, not on the order of the rows or how many rows a unit has.

    >>> held_out_units(np.arange(10), 0.2, seed=0).size
    2
    """
    n_held_out = min(max(round(keys.size * share), 1), keys.size - 1)
    order = np.argsort(mixed_keys(keys, seed=seed, draw=SPLIT), kind="stable")
    return np.sort(keys[order[:n_held_out]])


def is_among(keys: Int64s, chosen: Int64s) -> Bools:
    """Which of the keys are among some that are sorted."""
    if not chosen.size:
        return np.zeros(keys.size, np.bool_)
    place = np.minimum(np.searchsorted(chosen, keys), chosen.size - 1)
    return np.asarray(chosen[place] == keys)


def too_few_units(n_units: int, unit: Sequence[str], source: str) -> DataError:
    """The error for units of which none can be held out."""
    named = " and ".join(unit)
    return DataError(
        f"There {'is 1 unit' if n_units == 1 else f'are {n_units} units'} of {named}: too few to "
        "hold some out for validation.",
        where=source,
        fix="name a column with more values as the unit, or give a validation file (--valid)",
    )
