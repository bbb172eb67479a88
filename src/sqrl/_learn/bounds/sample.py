"""Bounds of `given => ? <= subject <= ?`, each row by itself, perhaps bucketed."""

from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from sqrl._kernels.arrays import Int64s
from sqrl._language.forms import Form, Piece
from sqrl._language.tree import Between, Compare, Node, Number, conjunction, conjuncts
from sqrl._learn.bounds.measure import Bounds, Sampler, SubjectMeasure, Track
from sqrl._rows.order_statistics import ForBounds, OrderStatistics
from sqrl._rows.quantiles import BoundMethod
from sqrl._rows.questions import Asking


@dataclass(slots=True, eq=False)
class SampleMeasure(SubjectMeasure):
    """Bounds of a statistic of single rows.

    Cost: see `OrderStatistics`; conditions that share their subjects are asked about together.
    """

    def bounds(
        self, sampler: Sampler, method: BoundMethod, *, track: Track | None = None
    ) -> Asking[Bounds]:
        """The bounds of every candidate on the rows that the sampler draws from."""
        shape = (self.candidates.n, self.n_pieces)
        lower, upper = np.full(shape, np.nan), np.full(shape, np.nan)
        support = np.zeros(shape, np.int64)
        shared, wants = _shared(self.grid.which, self.which_subject), ForBounds((method,))
        pieces = self.cell[:, None] * self.n_pieces + np.arange(self.n_pieces)
        answers = yield [
            OrderStatistics(
                sampler.of,
                self.grid,
                tuple(conditions.tolist()),
                tuple(self.subjects[subject] for subject in used),
                wants,
            )
            for conditions, used in shared
        ]
        for (conditions, used), found in zip(shared, answers, strict=True):
            for subject, ordered in zip(used, found, strict=True):
                mine = np.flatnonzero(
                    np.isin(self.grid.which, conditions) & (self.which_subject == subject)
                )
                first = np.searchsorted(conditions, self.grid.which[mine]) * self.grid.n_cells
                cells = first[:, None] + pieces[mine]
                bounds = wants.bounds(ordered)
                lower[mine], upper[mine] = bounds[0][cells], bounds[1][cells]
                support[mine] = bounds[2][cells]
        if track:
            track(self.candidates.n, self.candidates.n)
        support[~self.grid.exists()[self.grid.which[:, None], pieces]] = -1
        return Bounds(lower, upper, support)

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        return Form(
            kind="sample",
            given=self.given(candidate),
            subject=self.subjects[int(self.which_subject[candidate])],
            pieces=self._pieces(candidate, bounds),
        )

    def _pieces(self, candidate: int, bounds: Bounds) -> tuple[Piece, ...]:
        """The pieces that are there; one without bounds where any of them lacks support."""
        there = np.flatnonzero(bounds.support[candidate] >= 0)
        if np.isnan(bounds.lower[candidate, there]).any():
            return (Piece(None, None),)
        n_each = len(self.candidates.template.cells)
        condition, first = int(self.grid.which[candidate]), int(self.cell[candidate])
        pieces = []
        for index in there.tolist():
            cell = first * self.n_pieces + index
            tests = self.grid.cell_formulas(condition, cell)[n_each:]
            pieces.append(
                Piece(
                    _number(bounds.lower[candidate, index], self.method.has_lower),
                    _number(bounds.upper[candidate, index], self.method.has_upper),
                    conjunction(tuple(part for test in tests for part in conjuncts(test))),
                    int(bounds.support[candidate, index]) if self.n_pieces > 1 else None,
                )
            )
        return tuple(simplify_tests(pieces))


def _shared(which: Int64s, subject: Int64s) -> list[tuple[Int64s, Int64s]]:
    """Conditions that bound the same subjects, together, and these subjects."""
    pairs = np.unique(np.stack([which, subject], axis=1), axis=0)
    by_subjects: dict[bytes, list[int]] = {}
    used: dict[bytes, Int64s] = {}
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    for block in np.split(pairs, starts[1:]) if pairs.size else []:
        key = block[:, 1].tobytes()
        by_subjects.setdefault(key, []).append(int(block[0, 0]))
        used[key] = block[:, 1]
    return [(np.array(conditions), used[key]) for key, conditions in by_subjects.items()]


def _number(value: float, bounded: bool) -> Number | None:
    return Number(float(value)) if bounded else None


def simplify_tests(pieces: list[Piece]) -> list[Piece]:
    """The pieces with every test reduced to what earlier tests leave open.

    A bucket `3 < a <= 5` that comes after `a <= 3` needs only `a <= 5`, and the last needs none.
    """
    if len(pieces) == 1 and pieces[0].test is None:
        return pieces
    simplified = []
    for position, piece in enumerate(pieces):
        parts: list[Node] = []
        for part in conjuncts(piece.test):
            if isinstance(part, Between):
                parts.append(Compare(part.item, "<=", part.upper))
            elif isinstance(part, Compare) and part.op == "<=":
                parts.append(part)
        test = conjunction(tuple(parts)) if position < len(pieces) - 1 else None
        simplified.append(replace(piece, test=test))
    return simplified
