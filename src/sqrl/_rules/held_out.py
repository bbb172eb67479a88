"""HeldOutScores: how badly rows that rules were not learned from break them, counted."""

import hashlib
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct


class ScoreCounts(Struct, frozen=True, kw_only=True):
    """How many rows have each score, in hundredths and ascending; the other rows have 0.

    >>> ScoreCounts(rows=100, scores=[460, 512], counts=[3, 1]).rows
    100
    """

    rows: int
    scores: list[int]
    counts: list[int]

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.counts):
            raise ValueError("scores of rows and their counts are not equally many")
        if min(self.scores, default=1) < 1 or any(a >= b for a, b in pairwise(self.scores)):
            raise ValueError("scores of rows are not above 0 and ascending")
        if min(self.counts, default=1) < 1 or sum(self.counts) > self.rows:
            raise ValueError("counts of scores are not those of so many rows")


class HeldOutScores(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scores of held-out rows, and of the same rows with predictions in the label's place.

    `rules` is the digest of the rules that they are scores of: sentences that were edited since
    would give other ones.
    """

    labels: ScoreCounts
    predictions: ScoreCounts | None = None
    rules: str = ""


def digest_of(texts: Iterable[str]) -> str:
    """Sixteen hex digits that change with any sentence, whatever their order.

    >>> digest_of(["x <= 3", "y <= 4"]) == digest_of(["y <= 4", "x <= 3"])
    True
    """
    lines = "\n".join(sorted(texts))
    return hashlib.sha256(lines.encode()).hexdigest()[:16]
