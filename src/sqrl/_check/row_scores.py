"""How badly a row breaks rules, in one number; and what rows to compare it with say.

    score of a violation    -log(share of train rows that break the rule at least as badly)
                            + log(1 + excess), the excess in widths of the interval
    score of a row          that of its worst violation; 0 where it breaks no rule

The worst and not the sum: many rules speak of one column, and would say the same thing many times.
Shares come from train rows and ranks from held-out rows, so that the score is a fixed function for
the latter, and a p-value by rank is exact for rows that are exchangeable with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqrl._check.row_outcomes import evaluate_rows
from sqrl._kernels.arrays import Bools, Floats, Ints
from sqrl._language.forms import Form
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._rules.held_out import ScoreCounts
from sqrl._rules.label import put_prediction
from sqrl._rules.needed_columns import columns_of
from sqrl._rules.ruleset import RuleSet
from sqrl._scan.job import State

EDGES = 2.0 ** np.arange(-8, 9)  # widths: an excess is counted by the octave it lies in
N_OCTAVES = EDGES.size + 1
FARTHEST = 1e9  # widths; what is further off is as bad
NO_WIDTH = 3.0  # widths that a rule without an interval is broken by
STEPS = 100  # scores are counted in steps of 1 / STEPS: ties are ties on every machine
MOST_STEPS = 80 * STEPS  # no score is higher
MOST_TRAIN, MOST_HELD_OUT = 100_000, 500_000  # rows that are looked at
UNKNOWN_SHARE = 0.01  # of rows that break a rule of which nothing is known


@dataclass(frozen=True, slots=True, eq=False)
class Surprise:
    """How unusual it is to break each rule by so much.

    Shapes: logs (n_rules, N_OCTAVES): minus the log of the share of rows that break a rule by as
    many octaves or more.

    >>> surprise = Surprise.of_tails([[98, 0, 3, 1]], [0.98], [98])
    >>> surprise.of_pairs(np.array([0, 0]), np.array([0.005, 3.0])).round(3).tolist()
    [2.991, 5.981]
    """

    logs: Floats

    @classmethod
    def of(cls, rules: RuleSet) -> "Surprise":
        """The surprise of each rule, as far as the rule set knows it."""
        names = ("tail", "coverage", "support")
        tails, coverage, support = (rules.table[name].to_pylist() for name in names)
        return cls.of_tails(_pooled(rules, tails), coverage, support)

    @classmethod
    def of_tails(
        cls,
        tails: Sequence[Sequence[int] | None],
        coverage: Sequence[float | None],
        support: Sequence[int | None],
    ) -> "Surprise":
        """The surprise from counts of train rows; without them the rule's coverage has to do."""
        logs = np.empty((len(tails), N_OCTAVES))
        for index, tail in enumerate(tails):
            if tail:
                counts = np.zeros(N_OCTAVES)
                counts[: len(tail) - 1] = tail[1:]
                at_least = counts[::-1].cumsum()[::-1]
                logs[index] = np.log((1.0 + tail[0]) / (1.0 + at_least))
            else:
                share = 1.0 - (coverage[index] or 1.0 - UNKNOWN_SHARE)
                logs[index] = -np.log(max(share, 1.0 / (1.0 + (support[index] or 0))))
        return cls(logs)

    def of_pairs(self, rule: Ints, excess: Floats) -> Floats:
        """The score of each violation: by which rule, and how far."""
        far = np.minimum(np.where(np.isfinite(excess), excess, NO_WIDTH), FARTHEST)
        octave = np.searchsorted(EDGES, excess, "right")
        return np.asarray(self.logs[rule, octave] + np.log1p(far))


def _pooled(rules: RuleSet, tails: Sequence[list[int] | None]) -> list[Sequence[int] | None]:
    """The counts, those of formulas over the same columns together.

    That each country has one currency is one thing that no row breaks, however few rows a country
    has.
    """
    statistics, groups = rules.statistics(), dict[frozenset[str], list[int]]()
    for index, form in enumerate(rules.forms()):
        if form.implies_class and tails[index]:
            groups.setdefault(frozenset(columns_of([form], statistics)), []).append(index)
    found: list[Sequence[int] | None] = list(tails)
    for places in groups.values():
        pooled = np.zeros(1 + N_OCTAVES, np.int64)
        for place in places:
            mine = tails[place] or []
            pooled[: len(mine)] += mine
        for place in places:
            found[place] = pooled.tolist()
    return found


def worst_scores(score: Floats, row: Ints, n_rows: int) -> Floats:
    """The score of each row: that of its worst violation, 0 where there is none."""
    worst = np.zeros(n_rows)
    np.maximum.at(worst, row, score)
    return worst


def in_steps(scores: Floats) -> Ints:
    """Scores as they are counted and compared."""
    return np.minimum(np.floor(scores * STEPS), MOST_STEPS).astype(np.int64)


def conformal_p_values(scores: Floats, held_out: ScoreCounts) -> Floats:
    """(1 + held-out rows with at least this score) / (1 + held-out rows), for each score.

    Ties count against the row.

    >>> held_out = ScoreCounts(rows=9, scores=[300, 500], counts=[2, 1])
    >>> conformal_p_values(np.array([0.0, 3.0, 3.5, 5.0, 6.0]), held_out).tolist()
    [1.0, 0.4, 0.2, 0.2, 0.1]
    """
    values = np.array([0, *held_out.scores], np.int64)
    counts = np.array([held_out.rows - sum(held_out.counts), *held_out.counts], np.int64)
    at_least = np.append(counts[::-1].cumsum()[::-1], 0)
    place = np.searchsorted(values, in_steps(scores), "left")
    return np.asarray((1.0 + at_least[place]) / (1.0 + held_out.rows))


@dataclass(frozen=True, slots=True)
class CountTails:
    """Counts the train rows that break each rule, by the octave of how far.

    Shapes of a tally: counts (n_forms, 1 + N_OCTAVES), the first the rows it applies to. Of many
    rows every `stride`-th is looked at.
    """

    forms: Sequence[Form]
    stride: int
    of: Of = "train"

    def start(self) -> State:
        """Nothing counted."""
        return {"counts": np.zeros((len(self.forms), 1 + N_OCTAVES), np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        found = evaluate_rows(self.forms, every(rows, first, self.stride))
        applicable = np.bincount(found.piece_of, found.applicable, len(self.forms))
        tally["counts"][:, 0] += applicable.astype(np.int64)
        octave = np.searchsorted(EDGES, found.excess, "right")
        np.add.at(tally["counts"], (found.rule, 1 + octave), 1)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"counts": one["counts"] + other["counts"]}

    def finish(self, tally: State) -> list[list[int]]:
        """For each rule the rows it applies to, and those in each octave up to the last."""
        return [
            counts[: 1 + int(np.flatnonzero(counts).max(initial=0))].tolist()
            for counts in tally["counts"]
        ]

    def answer(self, rows: Rows) -> list[list[int]]:
        """The counts of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


@dataclass(frozen=True, slots=True)
class CountScores:
    """Counts how many rows have each score, with a prediction in the label's place if asked.

    Shapes of a tally: counts (1 + MOST_STEPS,).
    """

    of: Of
    forms: Sequence[Form]
    surprise: Surprise
    stride: int
    label: str | None = None
    prediction: str | None = None

    def start(self) -> State:
        """Nothing counted."""
        return {"counts": np.zeros(1 + MOST_STEPS, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with these rows too."""
        some = every(rows, first, self.stride)
        table = put_prediction(some.table, self.label, self.prediction)
        some = Rows(table, some.statistics)
        found = evaluate_rows(self.forms, some)
        rule, row = found.rule.astype(np.int64), found.row.astype(np.int64)
        score = self.surprise.of_pairs(rule, found.excess.astype(np.float64))
        np.add.at(tally["counts"], in_steps(worst_scores(score, row, some.n)), 1)
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"counts": one["counts"] + other["counts"]}

    def finish(self, tally: State) -> ScoreCounts:
        """The scores above 0 that some row has, and how many rows have them."""
        counts = tally["counts"]
        scores = 1 + np.flatnonzero(counts[1:])
        return ScoreCounts(
            rows=int(counts.sum()), scores=scores.tolist(), counts=counts[scores].tolist()
        )

    def answer(self, rows: Rows) -> ScoreCounts:
        """The counts of all rows at once."""
        return self.finish(self.add(rows, 0, self.start()))


def every(rows: Rows, first: int, stride: int) -> Rows:
    """The rows whose number is a multiple of `stride`, where `first` is that of the first."""
    if stride == 1:
        return rows
    return Rows(rows.table.take(np.arange(-first % stride, rows.n, stride)), rows.statistics)


def scored_rules(rules: RuleSet) -> Bools:
    """Which rules count in the scores of rows.

    Those about rows; where some were learned with what train rows say of them, only these: the
    scores of held-out rows are made of no others.
    """
    single = np.array([form.is_single for form in rules.forms()], np.bool_)
    known = np.array([tail is not None for tail in rules.table["tail"].to_pylist()], np.bool_)
    return single & known if known.any() else single
