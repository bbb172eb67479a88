"""Draw: the question that asks for mini-batches."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqrl._data.draws import draw_batches
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows


@dataclass(frozen=True, slots=True)
class Draw:
    """Asks for mini-batches: rows that hold them all, and which of these are in each."""

    of: Of
    size: int
    n_batches: int
    seed: int

    def answer(self, rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
        """All the rows, and those of each mini-batch. Shapes: (n_batches, size)."""
        where = rows.table.source
        return rows, draw_batches(rows.n, self.size, self.n_batches, seed=self.seed, where=where)
