"""How the values of a column are spread otherwise than before, in a sentence."""

import math

import numpy as np

from sqrl._check.findings.cell_shares import CellShares, quantile_of, share_below
from sqrl._check.findings.hints import scale_factor
from sqrl._check.findings.value_words import direction, item_name, value_words
from sqrl._check.violations import Violations
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Name, Node
from sqrl._rows.rows import Rows

OF_MOVE = 0.4  # share of a move that the median must make for it to be called higher or lower
FROZEN = 0.05  # more than this share of rows at one number that few had before


def distribution_text(found: Violations, shares: CellShares, effect: float) -> str:
    """A column that is higher or lower, or of which one value or range has another share."""
    name = item_name(shares.item)
    if shares.axis.cuts is not None:
        text = _frozen(found, shares, name) or _median_text(found, shares, name, effect)
        if text is not None:
            return text
    return f"{name}: {_cell_change(shares, 0, name='')}"


def _frozen(found: Violations, shares: CellShares, name: str) -> str | None:
    """One number that far more rows have than its whole range had before."""
    if not found.has_rows:
        return None
    values = Rows(found.table, found.rules.statistics()).numbers(shares.item)
    each, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if not each.size:
        return None
    best = int(counts.argmax())
    assert shares.axis.cuts is not None
    cell = int(np.searchsorted(np.array(shares.axis.cuts), each[best]))
    was = shares.before[0][cell] / shares.before[0].sum()
    share = counts[best] / counts.sum()
    if share <= was + FROZEN:
        return None
    value = value_words(shares.item, float(each[best]))
    return f"{name} is {value} in {counts[best]:,} of {found.n_rows:,} rows"


def _median_text(found: Violations, shares: CellShares, name: str, effect: float) -> str | None:
    """The medians, where the middle of the values has moved; None where it has not."""
    before = quantile_of(shares.before[0], shares.axis, 0.5)
    after = quantile_of(shares.after[0], shares.axis, 0.5)
    if found.has_rows:
        values = Rows(found.table, found.rules.statistics()).numbers(shares.item)
        after = float(np.median(values[~np.isnan(values)]))
    moved = share_below(shares.before[0], shares.axis, after) - 0.5
    if math.isnan(moved) or abs(moved) < OF_MOVE * effect or before == after:
        return None
    factor = scale_factor(before, after) if isinstance(shares.item, Name) else None
    hint = f" (times {factor}?)" if factor is not None else ""
    way, now, then = direction(shares.item, before, after), *_both(shares.item, after, before)
    return f"{name} is {way}: median {now}, was {then}{hint}"


def _both(item: Node, one: float, other: float) -> tuple[str, str]:
    return value_words(item, one), value_words(item, other)


def shares_text(shares: CellShares) -> str:
    """The share that has changed most; within a stratum where there are several."""
    name = item_name(shares.item)
    if shares.given is None or shares.strata is None:
        return _cell_change(shares, 0, name=name)
    stratum = shares.worst_stratum()
    where = _cell(shares.strata, stratum, shares.given, name=item_name(shares.given))
    return f"where {where}, {_cell_change(shares, stratum, name=name)}"


def _cell_change(shares: CellShares, stratum: int, *, name: str) -> str:
    cell, before, after = shares.worst_cell(stratum)
    what = _cell(shares.axis, cell, shares.item, name=name)
    now = "no row" if after == 0 else f"{percent(after)} of rows"
    return f"{what} in {now}, was {'none' if before == 0 else percent(before)}"


def _cell(axis: CellAxis, cell: int, item: Node, *, name: str) -> str:
    """A cell in words, after a name if there is one.

    >>> axis = CellAxis(cuts=(30.0, 60.0))
    >>> [_cell(axis, cell, Name("age"), name="age") for cell in range(3)]
    ['age up to 30', 'age 30 to 60', 'age above 60']
    >>> words = CellAxis(words=("NO",))
    >>> _cell(words, 0, Name("city"), name="city"), _cell(words, 1, Name("city"), name="")
    ('city = NO', 'other values')
    """
    start = f"{name} " if name else ""
    if axis.cuts is not None:
        ends = [value_words(item, cut) for cut in axis.cuts]
        if not ends:
            return f"{start}any"
        if cell == 0:
            return f"{start}up to {ends[0]}"
        return (
            f"{start}above {ends[-1]}"
            if cell == len(ends)
            else f"{start}{ends[cell - 1]} to {ends[cell]}"
        )
    values = (
        [value_words(item, one) for one in axis.numbers]
        if axis.words is None and axis.numbers
        else []
    )
    values = list(axis.words) if axis.words is not None else values
    if cell >= len(values):
        return f"{start}other values" if not name else f"{name} of other values"
    return f"{name} = {values[cell]}" if name else values[cell]


def percent(share: float) -> str:
    """A share with three digits.

    >>> percent(0.40213), percent(0.0012), percent(1.0)
    ('40.2 %', '0.12 %', '100 %')
    """
    return f"{100 * share:.3g} %"
