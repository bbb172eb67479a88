"""What every kind of rule has in common when its bounds are inferred."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqrl._evaluate import Floats, Rows
from sqrl._forms import Form
from sqrl._grid import Grid
from sqrl._quantiles import BoundMethod
from sqrl._sample import draw_batches

Ints = NDArray[np.int64]
Track = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds of all candidates of a template, in as many pieces as a candidate can have.

    Shapes: lower, upper and support (n, pieces); nan bounds where too few samples support them,
    and a support of -1 where a candidate has no such piece. `strict_lower`
    and `strict_upper`, where given, say which ends do not belong to the interval.
    """

    lower: Floats
    upper: Floats
    support: Ints
    strict_lower: NDArray[np.bool_] | None = None
    strict_upper: NDArray[np.bool_] | None = None


# For each candidate: how many rows its condition or body holds on, a hash that is equal where these
# are the same rows, and a number that is equal where the same is claimed of them.
Description = tuple[Ints, NDArray[np.uint64], Ints]


def row_weights(n_rows: int) -> NDArray[np.uint64]:
    """A random 64-bit number for each row; the sum over a set of rows tells the set apart."""
    return np.random.default_rng(0).integers(0, 2**64, n_rows, np.uint64)


def describe_conditions(grid: Grid, cell: Ints, claim: Ints, rows: Rows) -> Description:
    """The rows that each candidate's condition and bucket select."""
    weights = row_weights(rows.n)
    shape = len(grid.conditions), int(cell.max(initial=0)) + 1
    counts, hashes = np.zeros(shape, np.int64), np.zeros(shape, np.uint64)
    n_each = grid.n_cells // shape[1]
    for condition in range(shape[0]):
        selected, cells = grid.cells(rows, condition)
        np.add.at(counts[condition], cells // n_each, 1)
        np.add.at(hashes[condition], cells // n_each, weights[selected])
    return counts[grid.which, cell], hashes[grid.which, cell], claim


@dataclass(slots=True, eq=False)
class Sampler:
    """Mini-batches of a table, drawn once for each size: rules of one size share them."""

    n_batches: int
    seed: int
    _drawn: dict[int, Ints] = field(default_factory=dict)

    def batches(self, rows: Rows, size: int) -> Ints:
        """Rows of each mini-batch of this size."""
        if size not in self._drawn:
            self._drawn[size] = draw_batches(
                rows.n, size, self.n_batches, seed=self.seed, where=rows.table.source
            )
        return self._drawn[size]


class Measure(Protocol):
    """Bounds of all candidates of a template on any table, and the rules they make."""

    method: BoundMethod

    def __call__(
        self, rows: Rows, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Bounds:
        """The bounds of every candidate on these rows."""

    def describe(self, rows: Rows) -> Description | None:
        """Which rows each candidate is about; None for kinds whose rules cannot be redundant."""

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
