"""Reference: the cells that shares are counted in, and how many rows of the reference are in each.

A sentence such as `distance(age/10 given city) <= 0.1 over 256` says how far shares may be from
those of the reference, not what those are: that is kept beside it.
"""

import math
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

MOST_ON_AXIS = 1_000
MOST_CELLS = 100_000
LARGEST = 2**53  # rows in a cell: what a float64 counts exactly


class CellAxis(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One way to divide rows: between cut points, or by values, with a last cell for all others.

    Of `cuts` c1 < c2 < .. the cells are (-inf, c1], (c1, c2], .. (cn, inf). Exactly one of the
    three is there.

    >>> CellAxis(cuts=(30.0, 60.0)).n_cells, CellAxis(words=("NO", "SE")).n_cells
    (3, 3)
    """

    cuts: tuple[float, ...] | None = None
    numbers: tuple[float, ...] | None = None
    words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        given = [one for one in (self.cuts, self.numbers, self.words) if one is not None]
        if len(given) != 1:
            raise ValueError("an axis has cuts, numbers or words, and only one of them")
        if len(given[0]) > MOST_ON_AXIS:
            raise ValueError(f"an axis has at most {MOST_ON_AXIS:,} cuts or values")
        for line in (self.cuts, self.numbers):
            if line is not None and not all(map(math.isfinite, line)):
                raise ValueError("cuts and numbers of an axis are finite")
            if line is not None and not all(low < high for low, high in pairwise(line)):
                raise ValueError("cuts and numbers of an axis rise")
        if self.words is not None and len(set(self.words)) < len(self.words):
            raise ValueError("words of an axis differ")

    @property
    def n_cells(self) -> int:
        """How many cells there are, the one for other values too."""
        return len(self.cuts or self.numbers or self.words or ()) + 1

    @property
    def is_ordered(self) -> bool:
        """Whether cells follow one another as numbers do; that for other values is last."""
        return self.words is None

    @property
    def has_other(self) -> bool:
        """Whether the last cell is for all other values."""
        return self.cuts is None


class Reference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The axes that divide rows into cells, and how many rows of the reference are in each.

    The first axis is that of the shares, the second, if there is one, that of `given`: its cells
    are the strata. `counts` go through the strata, and within each through the cells.

    >>> Reference(axes=(CellAxis(cuts=(9.0,)), CellAxis(words=("a",))), counts=(1, 2, 3, 4)).table
    array([[1., 2.],
           [3., 4.]])
    """

    axes: tuple[CellAxis, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.axes) <= 2:
            raise ValueError("a reference has one axis, or two")
        n_cells = math.prod(axis.n_cells for axis in self.axes)
        if n_cells > MOST_CELLS:
            raise ValueError(f"a reference has at most {MOST_CELLS:,} cells")
        if len(self.counts) != n_cells:
            raise ValueError(f"a reference of {n_cells:,} cells has {len(self.counts):,} counts")
        if not all(0 <= count <= LARGEST for count in self.counts) or not sum(self.counts):
            raise ValueError("counts of a reference are rows: none below 0, and some above")

    @property
    def shape(self) -> tuple[int, int]:
        """How many strata there are, and how many cells in each."""
        n_strata = self.axes[1].n_cells if len(self.axes) > 1 else 1
        return n_strata, self.axes[0].n_cells

    @property
    def table(self) -> NDArray[np.float64]:
        """The counts, a line for each stratum."""
        return np.array(self.counts, np.float64).reshape(self.shape)
