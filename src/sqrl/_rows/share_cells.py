"""Which cell of a reference each row is in, and how many rows of each mini-batch are in each."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.forms import Form
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Bucket, Name, Node
from sqrl._rows.rows import Rows

Codes = NDArray[np.int32]
MOST_KEPT = 1 << 28  # bytes of codes
FEW_CUTS = 24  # of which comparing with each is quicker than searching


def axis_item(axis: Node) -> Node:
    """What an axis of shares divides: of `age/10` the age."""
    return axis.item if isinstance(axis, Bucket) else axis


def is_words(item: Node, rows: Rows) -> bool:
    """Whether an expression is a column of categories."""
    return (
        isinstance(item, Name)
        and item.name not in rows.statistics
        and item.name in rows.table
        and rows.table[item.name].kind == "category"
    )


def axis_codes(rows: Rows, item: Node, axis: CellAxis) -> Codes:
    """The cell of an axis that each row is in, -1 where its value is missing.

    Cost: a comparison a row and cut, where these are few; one look-up a row for words.

    >>> from sqrl._data.table import as_table
    >>> rows = Rows(as_table({"x": [1.0, 5.0, None, 9.0]}), {})
    >>> axis_codes(rows, Name("x"), CellAxis(cuts=(5.0, 7.0))).tolist()
    [0, 0, -1, 2]
    >>> axis_codes(rows, Name("x"), CellAxis(numbers=(1.0, 9.0))).tolist()
    [0, 2, -1, 1]
    """
    if axis.words is not None:
        return _word_codes(rows, item, axis.words)
    values = rows.numbers(item)
    missing = np.isnan(values)
    if axis.cuts is not None:
        code = _between(values, np.array(axis.cuts))
    else:
        numbers = np.array(axis.numbers)
        place = np.minimum(np.searchsorted(numbers, values), max(numbers.size - 1, 0))
        is_known = numbers[place] == values if numbers.size else np.zeros(values.size, np.bool_)
        code = np.where(is_known, place, numbers.size).astype(np.int32)
    code[missing] = -1
    return code


def _between(values: Floats, cuts: Floats) -> Codes:
    """How many of the cuts each value is above."""
    if cuts.size > FEW_CUTS:
        return np.searchsorted(cuts, values, side="left").astype(np.int32)
    code = np.zeros(values.size, np.uint8)
    for cut in cuts:
        code += values > cut
    return code.astype(np.int32)


def _word_codes(rows: Rows, item: Node, words: tuple[str, ...]) -> Codes:
    assert isinstance(item, Name)
    if not is_words(item, rows):  # a column of numbers that are all missing, or none of the words
        return np.where(np.isnan(rows.numbers(item)), -1, len(words)).astype(np.int32)
    column = rows.table[item.name]
    known = {word: place for place, word in enumerate(words)}
    cells = [known.get(word, len(words)) for word in column.categories]
    codes: Codes = np.array([*cells, -1], np.int32)[column.values]  # code -1 picks the last
    return codes


@dataclass(frozen=True, slots=True, eq=False)
class AxisCodes:
    """The cells of some rows, each axis of many rules looked at once."""

    rows: Rows
    _codes: dict[tuple[Node, CellAxis], Codes] = field(default_factory=dict)

    def of(self, form: Form) -> Codes:
        """The cell of a rule's reference that each row is in, -1 where it is in none."""
        assert form.reference is not None
        axes = form.reference.axes
        codes = map(self.axis, map(axis_item, form.axes), axes)
        code = joined(next(codes), next(codes, None), axes[0].n_cells)
        if not form.given:
            return code
        return np.where(self.rows.all_true(form.given), code, np.int32(-1))

    def axis(self, item: Node, axis: CellAxis) -> Codes:
        """The cell of an axis that each row is in."""
        if (item, axis) not in self._codes:
            if 4 * self.rows.n * len(self._codes) > MOST_KEPT:
                self._codes.clear()
            self._codes[item, axis] = axis_codes(self.rows, item, axis)
        return self._codes[item, axis]


def joined(cell: Codes, stratum: Codes | None, n_cells: int) -> Codes:
    """The cell within all strata, if there are such, -1 where either is not known."""
    if stratum is None:
        return cell
    return np.where((cell < 0) | (stratum < 0), np.int32(-1), stratum * np.int32(n_cells) + cell)


def count_codes(codes: Codes, n_cells: int) -> Int64s:
    """How many rows are in each cell."""
    return np.bincount(codes + 1, minlength=n_cells + 1)[1:].astype(np.int64)


def count_batches(codes: Codes, n_cells: int) -> Int64s:
    """How many rows of each mini-batch are in each cell.

    Shapes: codes (mini-batches, rows), result (mini-batches, cells).

    >>> count_batches(np.array([[0, 1, 1], [-1, 0, 0]], np.int32), 2).tolist()
    [[1, 2], [2, 0]]
    """
    n_batches = len(codes)
    firsts = np.arange(n_batches, dtype=np.int64)[:, None] * (n_cells + 1) + 1
    counts = np.bincount((codes + firsts).ravel(), minlength=n_batches * (n_cells + 1))
    return counts.reshape(n_batches, n_cells + 1)[:, 1:].astype(np.int64)
