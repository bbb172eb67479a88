"""Keep only bounds that agree on held-out rows, say each thing once, and pick the best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqrl._kernels.arrays import Bools, Floats, Int64s, Words64, distinct
from sqrl._learn.bounds import Bounds, Measure
from sqrl._learn.bounds.measure import Description
from sqrl._learn.candidates import Candidates
from sqrl._rows.quantiles import BoundMethod
from sqrl._rules.schema import Schema, Select

# What becomes of a candidate. The order is that of the steps that decide it.
EMPTY, UNSUPPORTED, UNSTABLE, REDUNDANT, VALID, UNPROVEN, SELECTED = STATUSES = (
    "empty",  # no train row satisfies the condition or body, or no interval is left
    "unsupported",  # fewer samples than a bound needs
    "unstable",  # the bounds on held-out rows do not agree
    "redundant",  # another rule has the same head and the same rows in its body, or says as much
    "valid",  # agrees, but is not among the selected
    "unproven",  # held-out rows do not show that it holds as often as `validate.holds` asks for
    "selected",
)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What became of the candidates of one template: columns with an entry for each."""

    candidates: Candidates
    measure: Measure
    bounds: Bounds
    jaccard: Floats
    status: NDArray[np.int8]  # an index into STATUSES
    selected: Int64s  # best first, where there was a choice
    rows: Int64s | None
    unproven: tuple[str, ...] = ()  # sentences that say why, some of them

    def choose(self, chosen: Int64s) -> "Learned":
        """The same candidates with others selected, the best first."""
        status = np.where(
            self.status == STATUSES.index(SELECTED), STATUSES.index(VALID), self.status
        )
        status[chosen] = STATUSES.index(SELECTED)
        return replace(self, status=status.astype(np.int8), selected=chosen)

    def leave_out(self, unproven: Int64s, why: Sequence[str]) -> "Learned":
        """The same candidates without some of the selected, and why some of these are left out."""
        status = self.status.copy()
        status[unproven] = STATUSES.index(UNPROVEN)
        kept = self.selected[~np.isin(self.selected, unproven)]
        return replace(self, status=status, selected=kept, unproven=tuple(why))


def group_of(candidates: Candidates, select: Select) -> NDArray[np.signedinteger]:
    """Which candidates compete with each other: those with the same value of a hole, or all."""
    group = candidates.columns.get(select.per or "")
    return np.zeros(candidates.n, np.int32) if group is None else group


def select_candidates(
    candidates: Candidates,
    measure: Measure,
    bounds: Bounds,
    agreement: Floats,
    agrees: Bools,
    described: Description | None,
    schema: Schema,
) -> Learned:
    """The status of every candidate, decided step by step."""
    n_rows = described[0] if described else np.maximum(bounds.support, 0).sum(axis=1)
    status = np.full(candidates.n, STATUSES.index(VALID), np.int8)
    status[~agrees] = STATUSES.index(UNSTABLE)
    lacks_samples = np.isnan(bounds.lower) & (bounds.support >= 0)  # a piece that is there
    status[lacks_samples.any(axis=1)] = STATUSES.index(UNSUPPORTED)
    if not candidates.template.says_shares:
        status[_empty(bounds, n_rows, measure.method.min_support)] = STATUSES.index(EMPTY)
    keep = status == STATUSES.index(VALID)
    length = candidates.lengths()
    if bounds.repeats is not None:
        status[keep & bounds.repeats] = STATUSES.index(REDUNDANT)
        keep &= ~bounds.repeats
    if described:
        redundant = find_redundant(keep, described[1], described[2], length)
        status[redundant] = STATUSES.index(REDUNDANT)
        keep &= ~redundant
    if candidates.template.families:  # rules that compete; others each say a thing of their own
        ends = np.fmin.reduce(bounds.lower, axis=1), np.fmax.reduce(bounds.upper, axis=1)
        ranking = Ranking(*ends, n_rows, agreement, length)
        selected = select_top(keep, group_of(candidates, schema.select), ranking, schema.select)
    else:
        selected = np.flatnonzero(keep)
    status[selected] = STATUSES.index(SELECTED)
    n_described = n_rows if described else None
    return Learned(candidates, measure, bounds, agreement, status, selected, n_described)


def _empty(bounds: Bounds, n_rows: Int64s, min_support: int) -> Bools:
    """Where there is nothing to speak of: no piece, no row, or no interval of the class's own."""
    empty: Bools = (bounds.support < 0).all(axis=1) | (n_rows <= 0)
    if bounds.strict_lower is not None:
        enough = bounds.support[:, 0] >= min_support
        empty |= enough & np.isnan(bounds.lower).all(axis=1)
    return empty


def jaccard(train: Bounds, valid: Bounds, method: BoundMethod) -> Floats:
    """How far the intervals on train and on held-out rows overlap: 1 the same, 0 apart.

    Over the pieces of a rule the least counts. nan where the held-out rows tell nothing.

    >>> one = np.array([[0.0]]), np.array([[4.0]]), np.array([[9]])
    >>> other = np.array([[1.0]]), np.array([[5.0]]), np.array([[9]])
    >>> from sqrl._rules.schema import BoundOptions
    >>> jaccard(Bounds(*one), Bounds(*other), BoundMethod(0.02, True, True, BoundOptions()))
    array([0.6])
    """
    if train.strict_lower is not None:
        return _union_jaccard(train, valid)
    lower_a, lower_b, upper_a, upper_b = train.lower, valid.lower, train.upper, valid.upper
    if not method.has_lower:  # the open end is the smallest value of the whole data
        lower_a = lower_b = np.fmin(lower_a, lower_b)
    if not method.has_upper:
        upper_a = upper_b = np.fmax(upper_a, upper_b)
    overlap = np.minimum(upper_a, upper_b) - np.maximum(lower_a, lower_b)
    hull = np.maximum(upper_a, upper_b) - np.minimum(lower_a, lower_b)
    # PAPER: Algorithm 1 takes the absolute value of Appendix A's quotient, which is negative for
    # disjoint intervals, so that narrow intervals far apart would agree. We clip it at 0.
    agreement = np.divide(
        np.maximum(overlap, 0.0), hull, out=np.ones_like(hull), where=~(hull == 0.0)
    )
    agreement[train.support < 0] = np.inf  # no such piece
    least = agreement.min(axis=1)
    return np.where(np.isinf(least), np.nan, least)


def touches(train: Bounds, valid: Bounds) -> Bools:
    """Whether the intervals have a point in common.

    That is all that can be asked of shares near 0 or 1: where one row of thousands lacks a value,
    some mini-batches have it and others have not, and the Jaccard index of their shares is 0.
    """
    apart = (train.upper < valid.lower) | (valid.upper < train.lower)
    known = ~np.isnan(train.lower) & ~np.isnan(valid.lower)
    return np.asarray((known & ~apart).all(axis=1))


def _union_jaccard(train: Bounds, valid: Bounds) -> Floats:
    """The agreement of bodies of several disjoint intervals: shared length over joint length."""
    low_a, high_a = train.lower[:, :, None], train.upper[:, :, None]
    low_b, high_b = valid.lower[:, None, :], valid.upper[:, None, :]
    overlaps = np.minimum(high_a, high_b) - np.maximum(low_a, low_b)
    shared = np.nansum(np.maximum(overlaps, 0.0), axis=(1, 2))
    length_a = np.nansum(train.upper - train.lower, axis=1)
    length_b = np.nansum(valid.upper - valid.lower, axis=1)
    joint = length_a + length_b - shared
    agreement = np.divide(shared, joint, out=np.zeros_like(joint), where=joint > 0)
    points = (joint == 0) & (train.lower[:, 0] == valid.lower[:, 0])
    agreement[points] = 1.0
    agreement[np.isnan(train.lower).all(axis=1)] = np.nan
    return np.asarray(agreement)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What decides between candidates: each a column over all candidates of a template."""

    lower: Floats
    upper: Floats
    rows: Int64s
    jaccard: Floats
    length: Int64s

    def score(self, by: str) -> Floats | Int64s:
        """The column that decides, higher is better."""
        if by == "width":
            return self.lower - self.upper
        if by == "support":
            return self.rows
        return self.jaccard if by == "jaccard" else self.lower


def find_redundant(keep: Bools, same: Words64, head: Int64s, length: Int64s) -> Bools:
    """Which of the kept candidates repeat another: same head, same train rows in the body.

    Of those the shortest stays, then the first.

    >>> find_redundant(np.ones(3, bool), np.array([7, 7, 9], np.uint64), np.zeros(3, int),
    ...                np.array([2, 1, 1])).tolist()
    [True, False, False]
    """
    index = np.flatnonzero(keep)
    order = index[np.lexsort((length[index], same[index], head[index]))]
    repeats = np.zeros(order.size, np.bool_)
    repeats[1:] = (same[order[1:]] == same[order[:-1]]) & (head[order[1:]] == head[order[:-1]])
    redundant = np.zeros(keep.size, np.bool_)
    redundant[order[repeats]] = True
    return redundant


def select_top(
    keep: Bools, group: NDArray[np.signedinteger], ranking: Ranking, select: Select
) -> Int64s:
    """The top candidates of each group, best first; all kept candidates where no top is asked for.

    Ties go to the narrower, the more common, the shorter, the first.

    Cost: a partition of the kept candidates, and a sort of those that reach their group's top.
    """
    if select.top is None:
        return np.flatnonzero(keep)
    score = ranking.score(select.by)
    index = _contenders(np.flatnonzero(keep), group, score, select.top)
    width = ranking.upper[index] - ranking.lower[index]
    ties = (index, ranking.length[index], -ranking.rows[index], width, -score[index], group[index])
    order = index[np.lexsort(ties)]
    groups = group[order]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    place = np.arange(order.size) - np.repeat(starts, np.diff([*starts, order.size]))
    return order[place < select.top]


def _contenders(
    index: Int64s, group: NDArray[np.signedinteger], score: Floats | Int64s, top: int
) -> Int64s:
    """The candidates that are no worse than the top-th of their group, ties included."""
    groups, values = group[index], score[index]
    contend = np.ones(index.size, np.bool_)
    for one in distinct(groups):
        mine = np.flatnonzero(groups == one)
        if mine.size > top:
            least = np.partition(values[mine], mine.size - top)[mine.size - top]
            contend[mine] = values[mine] >= least
    return index[contend]
