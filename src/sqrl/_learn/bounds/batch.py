"""Bounds of `given => ? <= mean(subject) <= ? over n`, a statistic of a mini-batch's rows."""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form, Piece
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Number
from sqrl._learn.bounds.measure import Bounds, Sampler, SubjectMeasure, Track
from sqrl._rows.quantiles import BoundMethod, grouped_bounds
from sqrl._rows.questions import Asking


@dataclass(slots=True, eq=False)
class BatchMeasure(SubjectMeasure):
    """Bounds of a statistic of the values that a mini-batch's rows have under a condition.

    Cost: one pass over all mini-batches for each candidate: O(candidates x mini-batches x size).
    """

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bounds of every candidate on mini-batches of the sampler."""
        form = self.candidates.template.form
        assert form.over is not None
        assert form.statistic is not None
        statistic = batch_statistic(form.statistic)
        rows, batches = yield from sampler.draw(form.over)
        measured = np.full((self.candidates.n, len(batches)), np.nan)
        selections: dict[tuple[int, int], Int64s] = {}
        for candidate in range(self.candidates.n):
            where = int(self.grid.which[candidate]), int(self.cell[candidate])
            if where not in selections:
                selected, cell = self.grid.cells(rows, where[0])
                selections = {where: selected[cell == where[1]]}  # one at a time: they are large
            values = np.full(rows.n + 1, np.nan)  # the last for -1, no row
            chosen = selections[where]
            values[chosen] = rows.numbers(self.subjects[self.which_subject[candidate]])[chosen]
            measured[candidate] = statistic(values[batches])
            if track:
                track(candidate + 1, self.candidates.n)
        group = np.repeat(np.arange(self.candidates.n), len(batches))
        lower, upper, support = grouped_bounds(measured.ravel(), group, len(measured), method)
        exists = self.grid.exists()[self.grid.which, self.cell]
        support = np.where(exists, support, -1)
        return Bounds(lower[:, None], upper[:, None], support[:, None])

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        form = self.candidates.template.form
        return Form(
            kind="batch",
            given=self.given(candidate),
            statistic=form.statistic,
            subject=self.subjects[int(self.which_subject[candidate])],
            pieces=(finished_piece(bounds, candidate, self.method),),
            over=form.over,
        )


def finished_piece(bounds: Bounds, candidate: int, method: BoundMethod) -> Piece:
    """The one piece of a rule that is not bucketed."""
    low, high = float(bounds.lower[candidate, 0]), float(bounds.upper[candidate, 0])
    if np.isnan(low):  # too few mini-batches for bounds
        return Piece(None, None)
    return Piece(
        Number(low) if method.has_lower else None, Number(high) if method.has_upper else None
    )
