"""Shares of cells before and after: what a rule about shares knows of reference and new rows."""

from dataclasses import dataclass

import numpy as np

from sqrl._check.homogeneity import SharesCase, shares_tests
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Floats
from sqrl._language.reference import CellAxis
from sqrl._language.tree import Node
from sqrl._rules.label import names_label
from sqrl._rules.needed_columns import axes_of


@dataclass(frozen=True, slots=True, eq=False)
class CellShares:
    """How many rows are in each cell, before and after, a line for each stratum.

    `item` is divided by `axis`; `given`, if it is there, by the axis of strata.
    """

    item: Node
    axis: CellAxis
    given: Node | None
    strata: CellAxis | None
    before: Floats
    after: Floats

    @property
    def has_both(self) -> bool:
        """Whether there are rows on both sides."""
        return bool(self.before.sum() > 0 and self.after.sum() > 0)

    def turned(self) -> "CellShares":
        """The strata in the cells' place, and the cells in that of the strata."""
        assert self.given is not None
        assert self.strata is not None
        return CellShares(
            item=self.given,
            axis=self.strata,
            given=self.item,
            strata=self.axis,
            before=self.before.T,
            after=self.after.T,
        )

    def p_value(self) -> float:
        """How likely rows like those of the reference would be so far from it."""
        case = SharesCase(self.before, self.after, self.axis.is_ordered, self.axis.has_other)
        return float(shares_tests([case])[0])

    def distance(self) -> float:
        """The total variation distance of the shares, over strata by new rows."""
        rows = self.after.sum(axis=1)
        known = (rows > 0) & (self.before.sum(axis=1) > 0)
        if not known.any():
            return 0.0
        apart = np.abs(_shares(self.before[known]) - _shares(self.after[known])).sum(axis=1) / 2
        return float(np.average(apart, weights=rows[known]))

    def noise(self) -> float:
        """About the distance that rows like those of the reference would show."""
        rows, old = self.after.sum(axis=1), self.before.sum(axis=1)
        known = (rows > 0) & (old > 0)
        share = _shares(self.before[known])
        error = np.sqrt(share * (1 - share) * (1 / rows[known] + 1 / old[known])[:, None])
        apart = error.sum(axis=1) / np.sqrt(2 * np.pi)
        return float(np.average(apart, weights=rows[known])) if known.any() else 0.0

    def moved(self) -> float:
        """The distance beyond what rows like those of the reference would show."""
        return max(0.0, self.distance() - self.noise())

    def worst_stratum(self) -> int:
        """The stratum in which most rows have moved."""
        with np.errstate(all="ignore"):
            moved = np.abs(_shares(self.before) - _shares(self.after)).sum(axis=1)
        return int(np.nan_to_num(moved * self.after.sum(axis=1)).argmax())

    def worst_cell(self, stratum: int = 0) -> tuple[int, float, float]:
        """The cell of a stratum whose share has changed most, and its shares."""
        before, after = _shares(self.before)[stratum], _shares(self.after)[stratum]
        cell = int(np.nan_to_num(np.abs(after - before)).argmax())
        return cell, float(before[cell]), float(after[cell])


def _shares(counts: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def cell_shares(found: Violations, rule: int) -> CellShares | None:
    """The cells of a rule about shares; None for other rules, or where nothing was counted."""
    form = found.rules.form(rule)
    counts = found.evidence.get(rule)
    if form.reference is None or not counts or len(counts) != len(form.reference.counts):
        return None
    item, *given = axes_of(form)
    axes = form.reference.axes
    after = np.array(counts, np.float64).reshape(form.reference.shape)
    of_predictions = _of_predictions(found, rule)
    made = CellShares(
        item=item,
        axis=axes[0],
        given=given[0] if given else None,
        strata=axes[1] if given else None,
        before=form.reference.table if of_predictions is None else of_predictions,
        after=after,
    )
    return made if made.has_both else None


def _of_predictions(found: Violations, rule: int) -> Floats | None:
    """The counts of held-out predictions, where a rule names the label and these stand for it."""
    if found.prediction is None or found.label is None:
        return None
    said = found.rules.table["prediction_evidence"][rule].as_py()
    if said is None or not names_label(found.rules, rule, found.label):
        return None
    reference = found.rules.form(rule).reference
    assert reference is not None
    return np.array(said, np.float64).reshape(reference.shape)


def quantile_of(counts: Floats, axis: CellAxis, share: float) -> float:
    """About the value that a share of the rows is below, by the cells; nan where they are words.

    >>> quantile_of(np.array([10.0, 10.0, 20.0]), CellAxis(cuts=(3.0, 5.0)), 0.5)
    5.0
    """
    ends = axis.cuts if axis.cuts is not None else axis.numbers
    if not ends or not counts.sum():
        return float("nan")
    below = np.cumsum(counts)[: len(ends)] / counts.sum()
    if axis.cuts is None:
        return float(ends[int(np.searchsorted(below, share).clip(0, len(ends) - 1))])
    return float(np.interp(share, below, ends))


def share_below(counts: Floats, axis: CellAxis, value: float) -> float:
    """About the share of rows below a value, by the cells."""
    ends = axis.cuts if axis.cuts is not None else axis.numbers
    if not ends or not counts.sum():
        return float("nan")
    below = np.cumsum(counts)[: len(ends)] / counts.sum()
    if value < ends[0]:
        return 0.0 if axis.cuts is None else float(below[0] / 2)
    if value > ends[-1]:
        return 1.0 if axis.cuts is None else float((1 + below[-1]) / 2)
    return float(np.interp(value, ends, below))
