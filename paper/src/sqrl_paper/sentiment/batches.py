"""AlikeBatches: mini-batches of sentences of about the same length, drawn anew each time."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from sqrl import Batches, shuffle_rows
from sqrl_paper.sentiment.text_training import N_ALIKE


class AlikeBatches(Batches):
    """Mini-batches of rows that are near each other in the table, which is sorted by length.

    A mini-batch costs what its longest sentence costs: of sentences drawn at random nearly twice as
    much. Some rows are drawn, sorted and cut into mini-batches, which come in any order.

    >>> batches = AlikeBatches(torch.arange(6), size=2, seed=0)
    >>> sorted(batch.inputs.tolist() for batch in batches)
    [[0, 1], [2, 3], [4, 5]]
    """

    def cut(self, seed: int) -> Iterator[Tensor]:
        """The rows of each mini-batch."""
        drawn = shuffle_rows(self.n_rows, seed=seed)[: len(self) * self.size]
        pool = self.size * N_ALIKE
        alike = [
            rows
            for first in range(0, len(drawn), pool)
            for rows in _cut(np.sort(drawn[first : first + pool]), self.size)
        ]
        for place in shuffle_rows(len(alike), seed=seed):
            yield torch.from_numpy(alike[place])


def _cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[first : first + size] for first in range(0, len(rows), size)]
