"""What is worth stating of a table to train models by, tried out on the rows at hand.

How finely numbers are described, how strongly a model should shrink effects, and whether pairs of
facts help: rules of one half of the rows train a model on the other half, whose labels score it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sqrl._kernels.arrays import Floats, Int64s
from sqrl._language.tree import And, Call, Name, Node, is_about_missing
from sqrl._learn.column_terms import ColumnTerms, Target, choose_columns, gain_of
from sqrl._learn.facts import Facts, facts_of, facts_of_column
from sqrl._learn.number_terms import number_terms
from sqrl._learn.productive_pairs import PairOfFacts, productive_pairs
from sqrl._learn.roles import Watched
from sqrl._learn.try_training import TermsOfRows, Trial, residuals_of, try_training
from sqrl._rows.rows import Rows

BUCKETS = (8, 5, 3, 2)  # of a number: as many as the rules allowed leave room for
KNOTS = (0, 1, 3)  # quantiles at which the effect of a number may bend: what does best is stated
PAIRED_BUCKETS = 4  # of a number in a pair of facts
MOST_PAIRED = 24  # columns whose pairs are looked at


@dataclass(frozen=True, slots=True, eq=False)
class TrialData:
    """The rows that columns are chosen by, and how many rules there may be."""

    seen: Rows
    watched: Sequence[Watched]
    rows: Int64s
    target: Target
    fewest: float
    most: int

    @property
    def room(self) -> int:
        """How many rules there may be beside the rate of each class."""
        return max(self.target.n_rules, self.most - max(1, len(self.target.values_of_label)))

    def room_beside(self, chosen: Sequence[ColumnTerms]) -> int:
        """How many facts there is room for beside what is stated of these columns."""
        taken = sum(one.n_rules(self.target) for one in chosen)
        return max(0, (self.room - taken) // self.target.n_rules)

    def buckets(self) -> list[ColumnTerms]:
        """Each column by rates within facts, in as many buckets as there is room for."""
        made: list[Facts] = []
        room = max(1, self.room // self.target.n_rules)
        for n_buckets in BUCKETS:
            made = facts_of(self.seen, self.watched, self.rows, n_buckets, self.fewest)
            if sum(len(one.needed) for one in made) <= 2 * room:
                break
        return [ColumnTerms(one, one.needed) for one in made]

    def means(self, n_knots: int) -> list[ColumnTerms]:
        """Each number by means within classes, unless its few values tell as much."""
        made = []
        for column in self.watched:
            cells = facts_of_column(self.seen, column, self.rows, BUCKETS[0], self.fewest)
            if cells is None:
                continue
            subject: Node = Name(column.name)
            if column.role == "date":
                subject = Call("days", (subject,))
            elif column.role not in {"number", "few"}:
                made.append(ColumnTerms(cells, cells.needed))
                continue
            values = self.seen.numbers(subject)[self.rows]
            values = values[~np.isnan(values)]
            if np.unique(values).size <= n_knots + 2:
                made.append(ColumnTerms(cells, cells.needed))
                continue
            missing = tuple(one for one in cells.formulas if is_about_missing(one))
            made.append(ColumnTerms(cells, missing, tuple(number_terms(subject, values, n_knots))))
        return made


def best_terms(data: TrialData) -> tuple[list[ColumnTerms], Trial]:
    """The terms of columns, as fine as is best for models that are trained by them."""
    tried: list[tuple[list[ColumnTerms], Trial]] = []
    for n_knots in KNOTS:
        columns = data.means(n_knots)
        near = tried[-1][1].strength if tried else 1.0
        tried.append((columns, _try(data, columns, near)))
    return min(tried, key=lambda one: one[1].cost)


def _try(data: TrialData, columns: list[ColumnTerms], near: float) -> Trial:
    """How well a model does that is trained by these columns, with as many rules at most."""
    terms, target = _Terms(data, columns), data.target
    n_classes = len(target.values_of_label)
    return try_training(terms, target.codes[data.rows], n_classes, near=near)


def best_pairs(
    data: TrialData, columns: list[ColumnTerms], trial: Trial
) -> tuple[list[Node], Trial]:
    """Pairs of facts, if a model trained by them too does better; and how well it does.

    Which pairs is decided by the labels of each half alone, as all else is that is tried.
    """
    terms, target = _Terms(data, columns, cells_of_pairs(data)), data.target
    codes, n_classes = target.codes[data.rows], len(target.values_of_label)

    def with_pairs(some: Int64s) -> TermsOfRows:
        chosen = terms.chosen(some)
        return terms.of(chosen, terms.pairs(some, chosen, trial.strength))

    tried = try_training(with_pairs, codes, n_classes, near=trial.strength)
    if not tried.cost < trial.cost:
        return [], trial
    every = np.arange(data.rows.size)
    pairs = terms.pairs(every, terms.chosen(every), trial.strength)
    return [pair_formula(terms.cells, one) for one in pairs], tried


def cells_of_pairs(data: TrialData) -> list[Facts]:
    """The facts of the columns whose pairs are looked at: those that predict most by themselves."""
    found = facts_of(data.seen, data.watched, data.rows, PAIRED_BUCKETS, data.fewest)
    values = data.target.values[data.rows]
    gains = [gain_of(one, values - values.mean(axis=0))[0] for one in found]
    best = np.argsort(gains, kind="stable")[::-1][:MOST_PAIRED]
    return [found[place] for place in sorted(best.tolist())]


def pair_formula(cells: Sequence[Facts], pair: PairOfFacts) -> Node:
    """Both facts of a pair as a formula."""
    one, other = cells[pair.column], cells[pair.other_column]
    return And((one.formulas[pair.fact], other.formulas[pair.other_fact]))


class _Terms:
    """The terms of a table's columns as numbers, chosen by the labels of some of its rows.

    `cells` are the facts that pairs are made of.
    """

    def __init__(
        self, data: TrialData, columns: list[ColumnTerms], cells: Sequence[Facts] = ()
    ) -> None:
        self.cells = cells
        self._data, self._columns = data, columns
        self._values: dict[Node, Floats] = {}
        for one in columns:
            for node in one.facts:
                self._values[node] = data.seen.all_true((node,))[data.rows].astype(np.float64)
            for node in one.numbers:
                self._values[node] = data.seen.numbers(node)[data.rows]

    def __call__(self, some: Int64s) -> TermsOfRows:
        """The terms of all rows."""
        return self.of(self.chosen(some))

    def chosen(self, some: Int64s) -> list[ColumnTerms]:
        """The columns that tell most of the labels of some of the rows."""
        data = self._data
        part = [replace(one, cells=one.cells.take(some)) for one in self._columns]
        values = data.target.values[data.rows[some]]
        return choose_columns(part, data.target, values, data.room)[0]

    def pairs(self, some: Int64s, chosen: list[ColumnTerms], strength: float) -> list[PairOfFacts]:
        """Pairs that say more, by the labels of some of the rows, than the columns chosen."""
        data, target = self._data, self._data.target
        terms = self.of(chosen)
        if not terms.values.shape[1]:
            return []
        codes, n_classes = target.codes[data.rows], len(target.values_of_label)
        return productive_pairs(
            [one.codes[some] for one in self.cells],
            *residuals_of(terms, some, codes, n_classes, strength),
            fewest=data.fewest * len(some) / len(codes),
            most=data.room_beside(chosen),
        )

    def of(self, chosen: list[ColumnTerms], pairs: Sequence[PairOfFacts] = ()) -> TermsOfRows:
        """The terms of all rows: facts, pairs of facts, numbers."""
        facts = [node for one in chosen for node in one.facts]
        numbers = [node for one in chosen for node in one.numbers]
        both = [
            (self.cells[one.column].codes == one.fact)
            & (self.cells[one.other_column].codes == one.other_fact)
            for one in pairs
        ]
        columns = [self._values[node] for node in facts]
        columns += [one.astype(np.float64) for one in both]
        columns += [self._values[node] for node in numbers]
        missing = [is_about_missing(node) for node in facts]
        missing += [False] * len(both) + [is_about_missing(node) for node in numbers]
        made = np.stack(columns, axis=1) if columns else np.zeros((self._data.rows.size, 0))
        return TermsOfRows(made, len(facts) + len(both), np.array(missing, np.bool_))
