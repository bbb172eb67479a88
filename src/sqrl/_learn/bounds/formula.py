"""Rules that are formulas: `given => known(x)`, and `given => x in ?`, whose values are learned.

The values are those that train rows have where the condition holds. There are no bounds: 0 stands
for them where the rule can be said, nan where it cannot.
"""

from dataclasses import dataclass

import numpy as np

from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._language.forms import Form, learned_values
from sqrl._language.tree import Compare, In, Name, Node, walk
from sqrl._learn.bounds.measure import Bounds, Description, Sampler, SubjectMeasure, Track
from sqrl._learn.bounds.value_counts import Counted, ValueCounts
from sqrl._rows.quantiles import BoundMethod
from sqrl._rows.questions import Asking, Of


@dataclass(frozen=True, slots=True, eq=False)
class Seen(Bounds):
    """What rows say of formulas: the values of each subject, and how many rows have them."""

    counted: tuple[Counted, ...] = ()


@dataclass(slots=True, eq=False)
class FormulaMeasure(SubjectMeasure):
    """Formulas that hold, and sets of values that are never left.

    Cost: one pass over the rows of each condition for each subject that it says something of.
    """

    def bounds(
        self,
        sampler: Sampler,
        method: BoundMethod,
        *,
        track: Track | None = None,
    ) -> Asking[Bounds]:
        """The values that every candidate's subject takes on the rows that the sampler names."""
        wanted = tuple(
            tuple(sorted(set(self.grid.which[self.which_subject == subject].tolist())))
            for subject in range(len(self.subjects))
        )
        answers = yield [ValueCounts(sampler.of, self.grid, tuple(self.subjects), wanted)]
        counted: tuple[Counted, ...] = tuple(answers[0])
        support = np.zeros(self.candidates.n, np.int64)
        can_say = np.zeros(self.candidates.n, np.bool_)
        repeats = np.zeros(self.candidates.n, np.bool_)
        for candidate in range(self.candidates.n):
            mine = counted[int(self.which_subject[candidate])]
            if mine.counts is None:  # how many rows it is about is not known either
                support[candidate] = 1
                continue
            here = mine.counts[self._group(candidate)]
            support[candidate] = here.sum()
            can_say[candidate] = here.sum() >= max(1, method.min_support)
            repeats[candidate] = self._says_no_more(candidate, here > 0, mine.counts[0] > 0)
        if track:
            track(self.candidates.n, self.candidates.n)
        level = np.where(can_say, 0.0, np.nan)[:, None]
        return Seen(level, level, support[:, None], repeats=repeats, counted=counted)

    def agreement(self, train: Bounds, valid: Bounds | None) -> tuple[Floats, Bools]:
        """The share of held-out rows on which each rule holds, and whether that is enough.

        A formula that was not learned must hold on all train rows.
        """
        assert isinstance(train, Seen)
        share = np.full(self.candidates.n, np.nan)
        enough = np.ones(self.candidates.n, np.bool_)
        for candidate in range(self.candidates.n):
            values = set(self._values(candidate, train))
            if self._learned is None:
                mine = train.counted[int(self.which_subject[candidate])]
                enough[candidate] = _share(mine, self._group(candidate), values) == 1.0
            if isinstance(valid, Seen):
                mine = valid.counted[int(self.which_subject[candidate])]
                share[candidate] = _share(mine, self._group(candidate), values)
                enough[candidate] &= share[candidate] >= 1.0 - self.method.delta
        return share, enough

    def described(self, of: Of) -> Asking[Description | None]:  # noqa: ARG002
        """None: which formulas say no more than others is found with their values."""
        return None
        yield  # it asks nothing, but is a generator as the others are

    def form(self, candidate: int, bounds: Bounds) -> Form:
        """The finished rule of one candidate, taken apart."""
        assert isinstance(bounds, Seen)
        subject = self.subjects[int(self.which_subject[candidate])]
        head = subject
        if self._learned is not None:
            values = self._values(candidate, bounds)
            one = len(values) == 1
            head = Compare(subject, "=", values[0]) if one else In(subject, values)
        return Form(kind="class", given=self.given(candidate), head=head)

    def alone(self, candidate: int, bounds: Bounds) -> int:
        """How many train rows would break the rule if it were learned without them.

        They are those that alone have their value. By them Good and Turing estimate how many new
        rows will have a value that no train row has; none where the values were not learned.
        """
        assert isinstance(bounds, Seen)
        mine = bounds.counted[int(self.which_subject[candidate])]
        if self._learned is None or mine.counts is None:
            return 0
        return int(np.count_nonzero(mine.counts[self._group(candidate)] == 1))

    @property
    def _learned(self) -> Node | None:
        return learned_values(self.candidates.template.form.head)

    def _group(self, candidate: int) -> int:
        return int(1 + self.grid.which[candidate] * self.grid.n_cells + self.cell[candidate])

    def _values(self, candidate: int, seen: Seen) -> tuple[Node, ...]:
        """The values that the rule allows: of a formula that was not learned, true."""
        mine = seen.counted[int(self.which_subject[candidate])]
        if self._learned is None:
            return mine.values[1:]
        if mine.counts is None:
            return ()
        here = mine.counts[self._group(candidate)] > 0
        return tuple(value for value, is_seen in zip(mine.values, here, strict=True) if is_seen)

    def _says_no_more(self, candidate: int, here: Bools, everywhere: Bools) -> bool:
        """Whether a condition leaves all values there are, or is itself about the values."""
        given = self.given(candidate)
        if self._learned is None or not given:
            return False
        subject = _names((self.subjects[int(self.which_subject[candidate])],))
        return bool((here == everywhere).all()) or subject <= _names(given)


def _names(nodes: tuple[Node, ...]) -> set[str]:
    return {part.name for node in nodes for part in walk(node) if isinstance(part, Name)}


def _share(counted: Counted, group: int, values: set[Node]) -> float:
    """The share of the group's rows that have one of the values; nan where there are none."""
    if counted.counts is None:
        return np.nan
    here: Int64s = counted.counts[group]
    allowed = np.array([value in values for value in counted.values], np.bool_)
    return float(here[allowed].sum() / here.sum()) if here.sum() else np.nan
