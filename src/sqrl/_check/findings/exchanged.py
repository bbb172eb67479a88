"""Two columns in each other's place: each now has the values that the other had in training."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sqrl._check.findings.cell_shares import CellShares, cell_shares
from sqrl._check.findings.groups import Group
from sqrl._check.violations import Violations
from sqrl._rows.rows import Rows
from sqrl._rows.share_cells import axis_codes, count_codes, is_words

FITS = 0.25  # of how far a column has moved, what may be left where the other is in its place
FEWEST_MOVED = 0.1  # share of rows; columns that have hardly moved fit anything


def exchanged_with(found: Violations, group: Group, others: Sequence[Group]) -> Group | None:
    """The column, among others that have changed, that this one has been exchanged with.

    Both must have moved, and each must have, in the cells that the other had in training, the
    other's shares. Needs rows; a scan, which keeps none, says what each column shows by itself.
    """
    if not found.has_rows:
        return None
    mine = _own_shares(found, group)
    if mine is None:
        return None
    rows = Rows(found.table, found.rules.statistics())
    for other in others:
        theirs = _own_shares(found, other)
        if theirs is not None and _fits(rows, mine, theirs) and _fits(rows, theirs, mine):
            return other
    return None


def _own_shares(found: Violations, group: Group) -> CellShares | None:
    """The shares of a column's own values that have moved; None where no rule knows them."""
    for rule in group.rules:
        shares = cell_shares(found, rule)
        is_plain = shares is not None and shares.given is None and not found.rules.form(rule).given
        if shares is not None and is_plain and shares.moved() >= FEWEST_MOVED:
            return shares
    return None


def _fits(rows: Rows, place: CellShares, taken: CellShares) -> bool:
    """Whether the values of `taken`, put in the place of another column, look like its own did."""
    if is_words(place.item, rows) != is_words(taken.item, rows):
        return False
    codes = axis_codes(rows, taken.item, place.axis)
    counts = count_codes(codes, place.axis.n_cells).astype(np.float64)
    there = replace(place, after=counts[None, :])
    return there.has_both and there.moved() <= FITS * place.moved()
