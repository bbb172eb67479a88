"""Selection that informs: few rules of `body => head`, each of which says more than its parts.

A body is worth keeping where the head is likelier in it than elsewhere, and likelier than in every
shorter body that it is made of (productive: Webb 2007), on rows to learn from after correction for
all that were tried, and again on held-out rows. Of those the best are taken one after the other:
what a body adds to the base rate, weighed by the rows it covers, half of it where these are
covered already (weighted covering: CN2-SD, Lavrac et al. 2004).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sqrl._check.hypergeometric import at_least
from sqrl._kernels.arrays import Bools, Floats, Int16s, Int64s, distinct
from sqrl._language.forms import Form
from sqrl._language.tree import Not, Repeat
from sqrl._learn.bounds.logic import LogicMeasure
from sqrl._learn.bounds.measure import Measure
from sqrl._rows.questions import Asking, Of
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Select
from sqrl._scan.job import State
from sqrl.errors import SchemaError

MOST_CONTENDERS = 300  # of a group, whose rows are compared
TESTED = 3_000  # of a group, whose parts are looked at
LEVEL = 0.05
LEAST_GAIN = 0.02  # of probability, that another fact must be worth
LEAST_ROWS = 5  # of the body with the head, held out
ALIKE = 0.8  # Jaccard index of bodies' rows
Z = 1.96
PLAIN = 0.8  # what a body is worth for each `not` in it
SHARES = ("precision", "rate")  # statistics that the base rate can be compared with


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Of each candidate: rows of its body, of its head, of both, and rows that count at all."""

    body: Int64s
    head: Int64s
    both: Int64s
    rows: Int64s


@dataclass(frozen=True, slots=True)
class CountAll:
    """Asks how many rows the body, the head and both of each candidate have."""

    of: Of
    measure: LogicMeasure

    def start(self) -> State:
        """Nothing counted."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows, too."""
        return self.merge(tally, self.measure.count(rows))

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: one[name] + other[name] for name in other} if one and other else one or other

    def finish(self, tally: State) -> Counts:
        """The counts of all rows."""
        return Counts(tally["body"], tally["head"], tally["both"], tally["rows"])

    def answer(self, rows: Rows) -> Counts:
        """The counts of all rows at once."""
        return self.finish(self.measure.count(rows))


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Asks how many rows two bodies share, for all pairs within each group of candidates."""

    of: Of
    measure: LogicMeasure
    groups: tuple[Int64s, ...]

    def start(self) -> State:
        """Nothing counted."""
        return {}

    def add(self, rows: Rows, first: int, tally: State) -> State:  # noqa: ARG002
        """The tally with these rows, too."""
        shared = [self.measure.shared_rows(rows, group).ravel() for group in self.groups]
        return self.merge(tally, {"shared": np.concatenate(shared)})

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {name: one[name] + other[name] for name in other} if one and other else one or other

    def finish(self, tally: State) -> list[Int64s]:
        """A matrix of shared rows for each group; on its diagonal are the rows of each body."""
        sizes = np.cumsum([group.size**2 for group in self.groups])[:-1]
        parts = np.split(tally["shared"], sizes)
        return [p.reshape(g.size, g.size) for p, g in zip(parts, self.groups, strict=True)]

    def answer(self, rows: Rows) -> list[Int64s]:
        """The matrices of all rows at once."""
        return self.finish(self.add(rows, 0, {}))


def check_informative(form: Form, select: Select, where: str) -> None:
    """Raise where `by: informative` cannot decide between the rules of a template."""
    repeats = [part for part in (*form.given, *form.body) if isinstance(part, Repeat)]
    if select.by != "informative" or not repeats:
        return
    if form.head is None or len(form.body) != 1 or form.given:
        raise SchemaError(
            "'by: informative' selects among rules such as 'precision(L{1..2} => y = Y)'.",
            where=where,
            fix="write the literals as the body of a statistic, or select by width or jaccard",
        )


def choose_informative(
    measure: Measure,
    keep: Bools,
    lower: Floats,
    group: NDArray[np.signedinteger],
    select: Select,
    *,
    held_out: bool,
) -> Asking[Int64s]:
    """The candidates to keep, group by group, the best first.

    `lower` has the bounds of a share: one that may fall to about the base rate says nothing.

    Cost: counts of all candidates on all rows, and the rows of `MOST_CONTENDERS` of each group.
    """
    assert isinstance(measure, LogicMeasure)
    wanted: list[Of] = ["train", "valid"] if held_out else ["train"]
    train, *valid = yield [CountAll(of, measure) for of in wanted]
    bodies = _Bodies.of(measure)
    score = worth(train, bodies.negations())
    is_share = measure.candidates.template.form.statistic in SHARES
    base = train.head / np.maximum(train.rows, 1)
    keep = keep & ~bodies.repeats() & ((lower >= base + LEAST_GAIN) if is_share else True)
    groups: list[Int64s] = []
    for one in distinct(group[keep]):
        mine = np.flatnonzero(keep & (group == one) & (score > 0))
        mine = mine[np.lexsort((mine, bodies.length[mine], -score[mine]))][:TESTED]
        mine = mine[productive(bodies, mine, train, valid)]
        if mine.size:
            groups.append(mine[:MOST_CONTENDERS])
    if not groups:
        return np.empty(0, np.int64)
    shared = (yield [Overlaps("train", measure, tuple(groups))])[0]
    chosen = [
        mine[cover(score[mine], overlaps, measure.which_head[mine], select.top)]
        for mine, overlaps in zip(groups, shared, strict=True)
    ]
    return np.concatenate(chosen)


def worth(counts: Counts, negations: Int64s) -> Floats:
    """What a body adds to the base rate of its head, surely, times the root of its share of rows.

    The root is how the certainty of a difference grows with rows: it lies between favouring the
    rare (the difference alone) and the common (times the share).
    Plain facts come before negated ones.
    """
    share = counts.body / np.maximum(counts.rows, 1)
    base = counts.head / np.maximum(counts.rows, 1)
    gain = wilson_lower(counts.both, counts.body) - base
    return np.asarray(gain * np.sqrt(share) * PLAIN**negations)


def wilson_lower(hits: Int64s, n: Int64s) -> Floats:
    """The lower end of Wilson's 95 % interval of a share; 0 of no rows.

    >>> wilson_lower(np.array([8, 0]), np.array([10, 0])).round(2).tolist()
    [0.49, 0.0]
    """
    size = np.maximum(n, 1).astype(np.float64)
    p = hits / size
    middle = p + Z**2 / (2 * size)
    reach = Z * np.sqrt(p * (1 - p) / size + Z**2 / (4 * size**2))
    return np.where(n > 0, (middle - reach) / (1 + Z**2 / size), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Bodies:
    """The literals of every candidate's body, and how to find the candidate of a shorter body."""

    literals: Int16s  # (candidates, high), padded with -1
    length: Int64s
    head: Int64s
    codes: Int64s  # of head and literals, sorted
    order: Int64s
    base: int
    says_not: Bools  # by literal: whether it is said with a `not`
    group: Int64s  # by literal: features of one group exclude each other

    @classmethod
    def of(cls, measure: LogicMeasure) -> "_Bodies":
        everyone = np.arange(measure.candidates.n)
        found = measure.literals(everyone)
        assert found is not None
        family, literals = found
        group = family.literals.group
        is_not = [isinstance(family.formula(literal), Not) for literal in range(2 * group.size)]
        # `not smokes` is as plain as `smokes`: a group of one has no other value to name.
        says_not = np.array(is_not) & (np.bincount(group, minlength=1)[group] > 1).repeat(2)
        base = 2 * group.size + 1
        codes = _codes(literals, measure.which_head, base)
        order = np.argsort(codes, kind="stable")
        length = (literals >= 0).sum(axis=1)
        head = measure.which_head
        of_literal = group.repeat(2).astype(np.int64)
        return cls(literals, length, head, codes[order], order, base, says_not, of_literal)

    def negations(self) -> Int64s:
        """How many literals of each body are said with a `not`."""
        return np.asarray(((self.literals >= 0) & self.says_not[self.literals]).sum(axis=1))

    def repeats(self) -> Bools:
        """Which bodies name a column twice: what they say is said better by its other values."""
        group = np.where(self.literals >= 0, self.group[self.literals], -1)
        group.sort(axis=1)
        return np.asarray(((group[:, 1:] == group[:, :-1]) & (group[:, 1:] >= 0)).any(axis=1))

    def candidates(self, literals: Int16s, heads: Int64s) -> Int64s:
        """The candidates with these bodies and heads; -1 where there is none."""
        codes = _codes(literals, heads, self.base)
        place = np.minimum(np.searchsorted(self.codes, codes), self.codes.size - 1)
        return np.where(self.codes[place] == codes, self.order[place], -1)


def _codes(literals: Int16s, heads: Int64s, base: int) -> Int64s:
    """A number for each head and set of literals."""
    code = heads.astype(np.int64)
    for column in np.sort(literals, axis=1).T:
        code = code * base + column + 1
    return code


def productive(bodies: _Bodies, mine: Int64s, train: Counts, valid: Sequence[Counts]) -> Bools:
    """Which bodies have the head more often than the rest of every body they are a part of.

    On rows to learn from at a level divided by the number of bodies as long, on held-out rows at
    the plain level. A body of one literal is a part of all rows.
    """
    keep = np.ones(mine.size, np.bool_)
    n_tried = np.bincount(bodies.length)
    level = LEVEL / np.maximum(n_tried[bodies.length[mine]], 1)
    for counts, limit in [(train, level), *((one, np.full(mine.size, LEVEL)) for one in valid)]:
        keep &= counts.both[mine] >= LEAST_ROWS
        everyone = counts.rows[mine], counts.head[mine]
        keep &= _is_more(counts, mine, *everyone) <= limit
        for places in _parts(bodies.literals.shape[1]):
            fewer = np.full((mine.size, bodies.literals.shape[1]), -1, np.int16)
            fewer[:, : len(places)] = bodies.literals[mine][:, places]
            is_part = (fewer[:, : len(places)] >= 0).all(axis=1) & (
                bodies.length[mine] > len(places)
            )
            parent = bodies.candidates(fewer, bodies.head[mine])
            there = np.flatnonzero(is_part & (parent >= 0) & keep)
            above = parent[there]
            p = _is_more(counts, mine[there], counts.body[above], counts.both[above])
            keep[there] &= p <= limit[there]
            if counts is train:
                keep[there] &= _rate(train, mine[there]) >= _rate(train, above) + LEAST_GAIN
    return keep


def _parts(high: int) -> list[list[int]]:
    """The places of every smaller set of literals."""
    return [list(some) for size in range(1, high) for some in combinations(range(high), size)]


def _is_more(counts: Counts, mine: Int64s, rows: Int64s, heads: Int64s) -> Floats:
    """Fisher's test: how likely so many heads are in a body that is drawn from these rows."""
    return at_least(counts.both[mine], rows, heads, counts.body[mine])


def _rate(counts: Counts, which: Int64s) -> Floats:
    return np.asarray(counts.both[which] / np.maximum(counts.body[which], 1))


def cover(score: Floats, shared: Int64s, heads: Int64s, top: int | None) -> list[int]:
    """The best of the contenders, then the best for the rows that are left, and so on.

    No two with the same head have more than `ALIKE` of their rows in common (Jaccard index).

    >>> shared = np.array([[9, 9, 0], [9, 10, 0], [0, 0, 4]])
    >>> cover(np.array([0.5, 0.4, 0.1]), shared, np.zeros(3, int), 2)
    [0, 2]
    """
    size = np.diagonal(shared)
    worth = score.astype(np.float64)
    is_free = np.ones(score.size, np.bool_)
    taken: list[int] = []
    while is_free.any() and (top is None or len(taken) < top):
        best = int(np.argmax(np.where(is_free, worth, -np.inf)))
        taken.append(best)
        both = shared[best]
        jaccard = both / np.maximum(size + size[best] - both, 1)
        is_free &= ~((jaccard > ALIKE) & (heads == heads[best]))
        is_free[best] = False
        worth = np.minimum(worth, score * (1 - 0.5 * both / np.maximum(size, 1)))
    return taken
