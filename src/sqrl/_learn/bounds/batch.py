"""Bounds of `given => ? <= mean(subject) <= ? over n`, a statistic of a mini-batch's rows."""

from dataclasses import dataclass, field

import numpy as np

from sqrl._kernels.arrays import Int64s, Words64
from sqrl._language.forms import Form, Piece
from sqrl._language.statistics import batch_statistic
from sqrl._language.tree import Node, Number
from sqrl._learn.bounds.measure import (
    Bounds,
    Describe,
    Description,
    Sampler,
    Track,
    describe_conditions,
)
from sqrl._learn.bounds.sample import cell_rank, subjects_of
from sqrl._learn.candidates import Candidates
from sqrl._rows.cells import Grid
from sqrl._rows.quantiles import BoundMethod, grouped_bounds
from sqrl._rows.questions import Asking, Of
from sqrl._rows.rows import Rows


@dataclass(slots=True, eq=False)
class BatchMeasure:
    """Bounds of a statistic of the values that a mini-batch's rows have under a condition.

    Cost: one pass over all mini-batches for each candidate: O(candidates x mini-batches x size).
    """

    candidates: Candidates
    method: BoundMethod
    grid: Grid
    subjects: list[Node] = field(init=False)
    which_subject: Int64s = field(init=False)
    cell: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self.subjects, self.which_subject = subjects_of(self.candidates)
        self.cell = cell_rank(self.candidates)

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
            values = np.full(rows.n, np.nan)
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

    def described(self, of: Of) -> Asking[Description | None]:
        """Which rows each condition selects; None where no conjunctions are enumerated."""
        if not self.candidates.template.families:
            return None
        counts, hashes = (yield [Describe(of, self)])[0]
        return counts, hashes, self.which_subject

    def describe(self, rows: Rows, first: int) -> tuple[Int64s, Words64]:
        """The rows that each candidate's condition and bucket select."""
        return describe_conditions(self.grid, self.cell, rows, first)

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        form = self.candidates.template.form
        condition = int(self.grid.which[candidate])
        given = self.grid.conditions[condition]
        given += self.grid.cell_formulas(condition, int(self.cell[candidate]))
        return Form(
            kind="batch",
            given=given,
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
