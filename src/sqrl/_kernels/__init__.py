"""The hot loops: arrays in, arrays out.

Conjunctions of signed boolean features are enumerated (`enumerate_bodies`), the rows packed into
bits (`pack`, `pack_table`), and every body counted (`body_counts`), told apart from the others
(`body_hashes`) and bounded over mini-batches (`body_bounds`). Importing this package does not
import numba: the loops in `compiled` are loaded when a kernel is first called.
"""

from sqrl._kernels.bounds import (
    STATISTICS,
    BodyBounds,
    Ranks,
    body_bounds,
    bounds_nbytes,
    percentile_ranks,
)
from sqrl._kernels.conjunctions import Bodies, count_bodies, enumerate_bodies
from sqrl._kernels.counting import body_counts
from sqrl._kernels.hashing import body_hashes
from sqrl._kernels.intervals import IntervalOutcomes, Intervals, evaluate_intervals
from sqrl._kernels.packing import Packed, pack, pack_table

__all__ = [
    "STATISTICS",
    "Bodies",
    "BodyBounds",
    "IntervalOutcomes",
    "Intervals",
    "Packed",
    "Ranks",
    "body_bounds",
    "body_counts",
    "body_hashes",
    "bounds_nbytes",
    "count_bodies",
    "enumerate_bodies",
    "evaluate_intervals",
    "pack",
    "pack_table",
    "percentile_ranks",
]
