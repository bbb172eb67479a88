"""Formulas on mini-batches as bits: counting rows of many rules that share their formulas."""

from dataclasses import dataclass, field
from functools import reduce
from operator import and_

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Words64
from sqrl._language.forms import Form
from sqrl._language.tree import Node, Truth, conjunction
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import AxisCodes


@dataclass(frozen=True, slots=True, eq=False)
class PackedBatches:
    """Mini-batches that follow one another in `rows`, and formulas on them as bits.

    Where mini-batches differ in size, `is_row` says which of the rows are theirs; the others fill
    shorter ones up, and count nowhere.

    Shapes: is_row (n * rows,); a formula is (n, words), a bit for each row of a mini-batch.
    """

    rows: Rows
    n: int
    is_row: Bools | None = None
    _true: dict[Node, Words64] = field(default_factory=dict)
    _known: dict[Node, Words64] = field(default_factory=dict)
    codes: AxisCodes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", AxisCodes(self.rows))

    def true(self, node: Node) -> Words64:
        """Where the formula is true."""
        if node not in self._true:
            self._true[node] = pack_rows(self.rows.truths(node).true.reshape(self.n, -1))
        return self._true[node]

    def known(self, node: Node) -> Words64:
        """Where the formula is true or false."""
        if node not in self._known:
            truths = self.rows.truths(node)
            self._known[node] = pack_rows((truths.true | truths.false).reshape(self.n, -1))
        return self._known[node]

    def all_true(self, nodes: tuple[Node, ...]) -> Words64:
        """Where all the formulas are true, of rows that count."""
        if nodes and self.is_row is None:
            return reduce(and_, map(self.true, nodes))
        return reduce(and_, map(self.true, nodes), self._everywhere())

    def counts(self, mask: Bools) -> Bools:
        """The mask without rows that count nowhere. Shapes: (n * rows,)."""
        return mask if self.is_row is None else mask & self.is_row

    def _everywhere(self) -> Words64:
        everything = Truth(True)
        if everything not in self._true:
            every = self.counts(np.ones(self.rows.n, np.bool_))
            self._true[everything] = pack_rows(every.reshape(self.n, -1))
        return self._true[everything]


def pack_rows(bits: Bools) -> Words64:
    """Each line of booleans as 64-bit words, filled up with zeros.

    >>> pack_rows(np.ones((2, 65), np.bool_)).shape
    (2, 2)
    """
    packed = np.packbits(bits, axis=1)
    filled = np.zeros((len(bits), -(-bits.shape[1] // 64) * 8), np.uint8)
    filled[:, : packed.shape[1]] = packed
    return filled.view(np.uint64)


def count_bits(words: Words64) -> Floats:
    """How many bits of each line are set.

    >>> count_bits(pack_rows(np.ones((2, 65), np.bool_))).tolist()
    [65.0, 65.0]
    """
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.float64))


def count_formula(form: Form, batches: PackedBatches) -> tuple[Floats, Floats, Floats, Floats]:
    """How many rows of each mini-batch are in the body, the head, both and in all."""
    here = batches.all_true(form.given)
    if form.head is None:  # rows where it is unknown whether the formula holds do not count
        formula = conjunction(form.body)
        assert formula is not None
        inside = count_bits(here & batches.true(formula))
        return inside, inside, inside, count_bits(here & batches.known(formula))
    here = here & batches.known(form.head)
    body, head = here & batches.all_true(form.body), here & batches.true(form.head)
    return count_bits(body), count_bits(head), count_bits(body & head), count_bits(here)
