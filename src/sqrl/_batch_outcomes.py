"""Rules about mini-batches over a table: the statistic of each mini-batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_

import numpy as np
from numpy.typing import NDArray

from sqrl._data import Table
from sqrl._evaluate import Bools, Floats, Rows
from sqrl._evidence import N_NUMBERS, add_evidence, evidence_of
from sqrl._forms import Form
from sqrl._kernels.arrays import Words64
from sqrl._language.tree import Node, Truth
from sqrl._needs import names_in, parts_of
from sqrl._sample import draw_batches, shuffle_rows
from sqrl._soft import Soft
from sqrl._stats import count_statistic, value_statistic
from sqrl._stats._ratio import ratio

Ints = NDArray[np.int64]


def make_batches(n_rows: int, size: int, n_batches: int | None, *, seed: int, where: str) -> Ints:
    """Rows of each mini-batch: disjoint ones from shuffled rows, or as many drawn as are asked for.

    Disjoint mini-batches share no row, so that each speaks for itself; rows that do not fill one
    are left out.

    >>> make_batches(7, 3, None, seed=0, where="rows").shape
    (2, 3)
    """
    if n_batches is not None:
        return draw_batches(n_rows, size, n_batches, seed=seed, where=where)
    fit = n_rows // size
    return shuffle_rows(n_rows, seed=seed)[: fit * size].reshape(fit, size)


def measure_batches(
    forms: Sequence[Form],
    table: Table,
    statistics: Mapping[str, Node],
    batches: Ints,
    *,
    soft: Soft | None = None,
    at_once: int,
) -> Floats:
    """The statistic of each `batch` or `logic` rule on each mini-batch; nan where undefined.

    With `soft`, a head counts by its probability: the expected statistic under the predicted
    distribution; nan where a rule speaks of the label elsewhere.

    Shapes: batches (k, size), result (n_forms, k). Cost: one pass over the rows of the mini-batches
    for each rule; memory for `at_once` rows, or those of one mini-batch.
    """
    n_batches, size = batches.shape
    values = np.full((len(forms), n_batches), np.nan)
    step = max(1, at_once // size)
    for first in range(0, n_batches, step):
        chosen = batches[first : first + step].ravel()
        rows = Rows(take_rows(table, chosen, forms, statistics), statistics)
        here = None if soft is None else soft.take(chosen)
        part = _Batches(rows, chosen.size // size)
        for index, form in enumerate(forms):
            values[index, first : first + step] = _measure(form, part, here)
    return values


def gather_evidence(
    forms: Sequence[Form], table: Table, statistics: Mapping[str, Node], *, at_once: int
) -> list[list[float]]:
    """What all rows say of each rule: see `evidence_of`."""
    found = [[0.0] * N_NUMBERS[form.kind] for form in forms]
    for first in range(0, table.n_rows, at_once):
        chosen = slice(first, min(first + at_once, table.n_rows))
        rows = Rows(take_rows(table, chosen, forms, statistics), statistics)
        whole = _Batches(rows, 1)
        found = [
            add_evidence(before, _evidence(form, whole))
            for form, before in zip(forms, found, strict=True)
        ]
    return found


def _evidence(form: Form, whole: "_Batches") -> list[float]:
    """What `evidence_of` gives, from bits where there are many rules about the same formulas."""
    if form.kind != "logic":
        return evidence_of(form, whole.rows)
    return [float(count[0]) for count in _counts(form, whole)]


def take_rows(
    table: Table, chosen: slice | Ints, forms: Sequence[Form], statistics: Mapping[str, Node]
) -> Table:
    """Only these rows, and only the columns that the rules name; a slice copies nothing."""
    nodes = {node for form in forms for part in parts_of(form) for node in part}
    names = names_in(nodes, statistics)
    columns = {
        name: replace(column, values=column.values[chosen])
        for name, column in table.columns.items()
        if name in names
    }
    n_rows = chosen.stop - chosen.start if isinstance(chosen, slice) else chosen.size
    return Table(columns, n_rows, table.source)


def _measure(form: Form, batches: "_Batches", soft: Soft | None) -> Floats:
    """The statistic of each mini-batch."""
    assert form.statistic is not None
    rows = batches.rows
    if soft is not None and not soft.can_weigh(form, rows.statistics):
        return np.full(batches.n, np.nan)
    if form.kind == "batch":
        assert form.subject is not None
        here = rows.all_true(form.given)
        values = np.where(here, rows.numbers(form.subject), np.nan).reshape(batches.n, -1)
        result = np.asarray(value_statistic(form.statistic)(values), np.float64)
        return np.where(np.isfinite(result), result, np.nan)
    if form.head is None:
        inside, *_, total = _counts(form, batches)
        return ratio(inside, total)
    count = count_statistic(form.statistic)
    if soft is not None and soft.names((form.head,), rows.statistics):
        return np.asarray(count(*_soft_counts(form, batches, soft.chance((form.head,)))))
    return np.asarray(count(*_counts(form, batches)))


def _counts(form: Form, batches: "_Batches") -> tuple[Floats, Floats, Floats, Floats]:
    """How many rows of each mini-batch are in the body, the head, both and in all."""
    here = batches.all_true(form.given)
    if form.head is None:
        inside = count_bits(here & batches.all_true(form.body))
        return inside, inside, inside, count_bits(here)
    here = here & batches.known(form.head)
    body, head = here & batches.all_true(form.body), here & batches.true(form.head)
    return count_bits(body), count_bits(head), count_bits(body & head), count_bits(here)


def _soft_counts(form: Form, batches: "_Batches", chance: Floats) -> Iterator[Floats]:
    """The same, with the head counted by its probability."""
    here = batches.rows.all_true(form.given) & ~np.isnan(chance)
    body = here & batches.rows.all_true(form.body)
    heads = np.where(here, chance, 0.0), np.where(body, chance, 0.0)
    for weight in (body.astype(np.float64), *heads, here.astype(np.float64)):
        yield np.asarray(weight.reshape(batches.n, -1).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Batches:
    """Mini-batches that follow one another in `rows`, and formulas on them as bits.

    Shapes: a formula is (n, words), a bit for each row of a mini-batch.
    """

    rows: Rows
    n: int
    _true: dict[Node, Words64] = field(default_factory=dict)
    _known: dict[Node, Words64] = field(default_factory=dict)

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
        """Where all the formulas are true."""
        if not nodes:
            return self._everywhere()
        return reduce(and_, map(self.true, nodes))

    def _everywhere(self) -> Words64:
        everything = Truth(True)
        if everything not in self._true:
            self._true[everything] = pack_rows(np.ones((self.n, self.rows.n // self.n), np.bool_))
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
    if hasattr(np, "bitwise_count"):
        counts = np.bitwise_count(words)
    else:  # numpy 1
        counts = _BITS_OF_BYTE[words.view(np.uint8)]
    return np.asarray(counts.sum(axis=1, dtype=np.float64))


_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).sum(axis=1)
