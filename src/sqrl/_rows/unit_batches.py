"""Mini-batches of units: all rows of some units, drawn by the keys of the units and the seed alone.

Mini-batches differ in how many rows they have. Their rows are held side by side all the same, those
of shorter ones filled up with -1, no row: such a place counts nowhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._data.draws import SHUFFLE, check_batches, mixed_keys
from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form, sentence_of
from sqrl._language.printer import to_text
from sqrl._language.tree import Over, Units
from sqrl._rows.rows import Rows
from sqrl._rows.units import unit_keys
from sqrl.errors import DataError, LimitError, SchemaError

MOST_PLACES = 1 << 27  # of all mini-batches of a size, which take 8 bytes each


@dataclass(frozen=True, slots=True, eq=False)
class UnitSizes:
    """The units that there are: their keys, ascending, and how many rows each has."""

    keys: Int64s
    n_rows: Int64s

    @property
    def n(self) -> int:
        """How many units there are."""
        return self.keys.size


def rows_in_batch(over: Over, n_rows: int, n_units: int) -> float:
    """How many rows a mini-batch has; of units on average.

    >>> rows_in_batch(Units(4), 50, 10), rows_in_batch(4, 50, 10)
    (20.0, 4.0)
    """
    return over.n * n_rows / max(n_units, 1) if isinstance(over, Units) else float(over)


@dataclass(frozen=True, slots=True, eq=False)
class UnitBatches:
    """The units of some mini-batches, and how many rows the largest of all mini-batches has.

    Shapes: units (n_batches, size), their keys.
    """

    unit: tuple[str, ...]
    units: Int64s
    width: int

    def places(self, rows: Rows) -> Int64s:
        """The rows of each mini-batch, unit by unit; -1 where it has no more.

        Shapes: result (n_batches, width). Cost: a sort of all rows.

        >>> from sqrl._data.table import as_table
        >>> rows = Rows(as_table({"image": [7, 8, 7, 9]}), {})
        >>> seven, eight, _, nine = unit_keys(rows, ["image"]).tolist()
        >>> UnitBatches(("image",), np.array([[eight, nine], [seven, nine]]), 3).places(rows)
        array([[ 1,  3, -1],
               [ 0,  2,  3]])
        """
        keys = unit_keys(rows, self.unit)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        first = np.searchsorted(ordered, self.units)
        sizes = np.searchsorted(ordered, self.units, side="right") - first
        places = np.full((len(self.units), self.width), -1, np.int64)
        ends = np.cumsum(sizes, axis=1)
        batch = np.repeat(np.arange(len(self.units)), ends[:, -1])
        within = _counted_up(sizes.ravel())
        column = np.repeat((ends - sizes).ravel(), sizes.ravel()) + within
        places[batch, column] = order[np.repeat(first.ravel(), sizes.ravel()) + within]
        return places


def draw_units(
    sizes: UnitSizes, unit: tuple[str, ...], size: int, n_batches: int, *, seed: int, where: str
) -> UnitBatches:
    """Mini-batches of units: drawn without replacement within one, independently between them.

    Cost: O(n_batches * units).
    """
    check_enough_units(size, sizes.n, where)
    check_batches(n_batches, size, where)
    drawn = np.empty((n_batches, size), np.int64)
    for batch in range(n_batches):
        mixed = mixed_keys(sizes.keys, seed=seed, draw=batch + 1)
        chosen = np.argpartition(mixed, size - 1)[:size]
        drawn[batch] = sizes.keys[np.sort(chosen)]
    return _with_width(sizes, unit, drawn, where)


def disjoint_units(
    sizes: UnitSizes, unit: tuple[str, ...], size: int, *, seed: int, where: str
) -> UnitBatches:
    """The disjoint mini-batches that shuffled units make; units that do not fill one are left out.

    >>> sizes = UnitSizes(np.arange(7), np.ones(7, np.int64))
    >>> disjoint_units(sizes, ("image",), 3, seed=0, where="rows").units.shape
    (2, 3)
    """
    fit = sizes.n // size
    shuffled = np.argsort(mixed_keys(sizes.keys, seed=seed, draw=SHUFFLE), kind="stable")
    chosen = np.sort(shuffled[: fit * size].reshape(fit, size), axis=1)
    return _with_width(sizes, unit, sizes.keys[chosen], where)


def check_enough_units(size: int, n_units: int, where: str) -> None:
    """Raise where there are fewer units than a mini-batch has."""
    if size > n_units:
        fits = Units(2 ** max(0, int(np.log2(max(n_units, 1))) - 1))  # a round size, several times
        raise DataError(
            f"A mini-batch of {Units(size):,} cannot be drawn from {Units(n_units):,}.",
            where=where,
            fix=f"use 'over {fits}' or less, or give more data",
        )


def check_has_unit(forms: Iterable[Form], unit: Sequence[str]) -> None:
    """Raise where a rule is about mini-batches of units and nobody says which rows are one."""
    if unit:
        return
    for form in forms:
        if isinstance(form.over, Units):
            raise SchemaError(
                f"'over {form.over}' needs a column that says which rows belong together.",
                where=to_text(sentence_of(form)),
                fix="name it in the schema ('unit: image') or with --unit image; "
                f"'over {form.over.n}' is over rows",
            )


def _with_width(sizes: UnitSizes, unit: tuple[str, ...], drawn: Int64s, where: str) -> UnitBatches:
    """The mini-batches with the rows of the largest; raises where all of them take too much."""
    n_rows = sizes.n_rows[np.searchsorted(sizes.keys, drawn)].sum(axis=1)
    width = int(n_rows.max(initial=0))
    if len(drawn) * width > MOST_PLACES:
        raise LimitError(
            f"{len(drawn):,} mini-batches of {Units(drawn.shape[1]):,}, the largest of {width:,} "
            f"rows, take more than {MOST_PLACES:,} places.",
            where=where,
            fix="ask for fewer mini-batches, or for fewer units in each",
        )
    return UnitBatches(unit, drawn, width)


def _counted_up(sizes: Int64s) -> Int64s:
    """0, 1, .. for each size in turn.

    >>> _counted_up(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - sizes, sizes)
