"""The hot loops: arrays in, arrays out.

Conjunctions of signed boolean features are enumerated (`enumerate_bodies`), the rows packed into
bits (`pack`, `pack_table`), and every body counted (`body_counts`), told apart from the others
(`body_hashes`) and bounded over mini-batches (`body_bounds`). Importing this package does not
import numba: the loops in `compiled` are loaded when a kernel is first called.
"""

from sqrl._kernels.bounds import STATISTICS as STATISTICS
from sqrl._kernels.bounds import BodyBounds as BodyBounds
from sqrl._kernels.bounds import Ranks as Ranks
from sqrl._kernels.bounds import body_bounds as body_bounds
from sqrl._kernels.bounds import bounds_nbytes as bounds_nbytes
from sqrl._kernels.conjunctions import Bodies as Bodies
from sqrl._kernels.conjunctions import count_bodies as count_bodies
from sqrl._kernels.conjunctions import enumerate_bodies as enumerate_bodies
from sqrl._kernels.counting import body_counts as body_counts
from sqrl._kernels.hashing import body_hashes as body_hashes
from sqrl._kernels.intervals import Bounded as Bounded
from sqrl._kernels.intervals import Family as Family
from sqrl._kernels.intervals import arrange as arrange
from sqrl._kernels.intervals import evaluate_family as evaluate_family
from sqrl._kernels.packing import Packed as Packed
from sqrl._kernels.packing import pack as pack
from sqrl._kernels.packing import pack_table as pack_table
