"""RuleStates: what a detector remembers of each rule, in columns over rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from sqrl._history.baseline import add_evidence, identity_of
from sqrl._history.change_points import ChangePoints
from sqrl._history.record import CheckRecord, Numbers
from sqrl._history.window_evidence import N_KINDS, N_SHIFTS
from sqrl._kernels.arrays import Array, Bools, Floats, Int64s

NOTHING = -100.0  # the log of no evidence: a finite number, so that a file can hold it
NO_KIND = -1
OF_THRESHOLD = 0.75  # what makes a change be over that may be of half the size
LIKELY = 2.0  # of sizes of a change: in logs from the likeliest


@dataclass(slots=True, eq=False)
class RuleStates:
    """The baseline and the detectors of each rule that was ever checked.

    Shapes: log_sum (n_rules, kinds): for each kind of change the log of the sum, over all starts,
    of products of e-values since. alarmed (n_rules,): the kind of change of a rule in an open
    alarm, or -1; doubt: log-likelihood that this change is over; is_silent: its alarm was waived.
    `held` is the evidence of windows since the alarm, which the baseline does not have.
    """

    ids: list[str] = field(default_factory=list)
    identities: list[str] = field(default_factory=list)
    baselines: list[Numbers | None] = field(default_factory=list)
    held: list[Numbers | None] = field(default_factory=list)
    log_sum: Floats = field(default_factory=lambda: np.zeros((0, N_KINDS)))
    alarmed: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    doubt: Floats = field(default_factory=lambda: np.zeros(0))
    is_silent: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    points: ChangePoints = field(default_factory=lambda: ChangePoints.new(0))

    def places_of(self, record: CheckRecord) -> Int64s:
        """Where the rules of a record are, after those that are new, or learned anew, were put in.

        A rule that was learned anew has other bounds, so that its evidence does not add up with
        that of before: it starts from the reference that it was learned with.
        """
        known = {one: place for place, one in enumerate(self.ids)}
        places = np.empty(len(record.ids), np.int64)
        parts = zip(record.texts, record.layout, record.statistic, record.evidence, strict=True)
        for index, (rule, part) in enumerate(zip(record.ids, parts, strict=True)):
            place, identity = known.get(rule), identity_of(*part)
            reference = record.reference[index]
            if place is None:
                place = len(self.ids)
                self.ids.append(rule)
                self.identities.append(identity)
                self.baselines.append(reference)
                self.held.append(None)
            elif self.identities[place] != identity:
                self.identities[place], self.baselines[place] = identity, reference
                self.restart(np.array([place]))
            places[index] = place
        self._grow()
        return places

    def _grow(self) -> None:
        """Room for rules that were added."""
        more = len(self.ids) - len(self.alarmed)
        if more:
            self.log_sum = _joined(self.log_sum, np.full((more, N_KINDS), NOTHING))
            self.alarmed = _joined(self.alarmed, np.full(more, NO_KIND))
            self.doubt = _joined(self.doubt, np.zeros(more))
            self.is_silent = _joined(self.is_silent, np.zeros(more, np.bool_))
            self.points = self.points.joined(ChangePoints.new(more))

    def restart(self, places: Int64s) -> None:
        """Forget all evidence for a change of some rules, but not their baselines."""
        self.log_sum[places] = NOTHING
        self.points.put(places, ChangePoints.new(len(places)))
        self.alarmed[places], self.doubt[places] = NO_KIND, 0.0
        self.is_silent[places] = False
        for place in places.tolist():
            self.held[place] = None

    def add(self, places: Int64s, log_e: Floats, stands_alone: Bools, window: int) -> None:
        """Take in the log e-values of a window.

        Those that stand alone are not multiplied with those of other windows.
        """
        alone = places[stands_alone]
        self.log_sum[alone] = NOTHING
        self.points.put(alone, ChangePoints.new(len(alone)))
        self.log_sum[places] = np.logaddexp(self.log_sum[places], 0.0) + log_e
        points = self.points.take(places)
        points.add(log_e, window)
        self.points.put(places, points)
        self._doubt(places, log_e)

    def _doubt(self, places: Int64s, log_e: Floats) -> None:
        """Count what speaks against a change that has alarmed, and see how large it is.

        Its size is mostly taken for too large at the time of the alarm: while there is no doubt
        that it lasts, it is estimated anew.
        """
        of_half = np.take_along_axis(log_e, _half(self.alarmed[places])[:, None], 1)[:, 0]
        is_alarmed = self.alarmed[places] != NO_KIND
        self.doubt[places] = np.where(is_alarmed, np.maximum(self.doubt[places] - of_half, 0), 0)
        sure = places[is_alarmed & (self.doubt[places] == 0)]
        first = self.alarmed[sure] // N_SHIFTS * N_SHIFTS  # of its direction
        sums = np.take_along_axis(self.log_sum[sure], first[:, None] + np.arange(N_SHIFTS), 1)
        self.alarmed[sure] = first + sums.argmax(axis=1)

    def over(self, places: Int64s, threshold: float) -> Int64s:
        """Those of some rules in an open alarm whose change is over.

        Windows are likelier without a change than with one of half its size; half, as a size that
        was taken for too large would soon be doubted though the change lasts. Less than the
        threshold is then enough (decision 25).
        """
        kinds = self.alarmed[places]
        needed = np.where(_half(kinds) == kinds, threshold, OF_THRESHOLD * threshold)
        return np.asarray(places[(kinds != NO_KIND) & (self.doubt[places] >= needed)])

    def interval(self, place: int) -> tuple[int, int, int]:
        """The likeliest start of a rule's change, and the first and the last that are likely.

        Of all sizes of the change that are likely, in its direction: at the time of an alarm one
        that is too large is often the likeliest, and began later.
        """
        first = int(self.alarmed[place]) // N_SHIFTS * N_SHIFTS
        sums = self.log_sum[place, first : first + N_SHIFTS]
        likely = np.flatnonzero(sums >= sums.max() - LIKELY).tolist()
        found = [self.points.interval(place, first + kind) for kind in likely]
        start, _, _ = self.points.interval(place, first + int(sums.argmax()))
        return start, min(low for _, low, _ in found), max(high for _, _, high in found)

    def learn(self, record: CheckRecord, places: Int64s) -> None:
        """Add the rows of a window to the baselines; of rules in an open alarm they are held."""
        parts = zip(record.layout, record.statistic, record.evidence, strict=True)
        for place, (layout, statistic, new) in zip(places.tolist(), parts, strict=True):
            if new is not None and all(map(isfinite, new)):
                into = self.baselines if self.alarmed[place] == NO_KIND else self.held
                into[place] = add_evidence(layout, statistic, into[place], new)

    def accept(self, places: Sequence[int]) -> None:
        """Take what some rules found since their alarm for how rows are from now on."""
        for place in places:
            if self.held[place] is not None:
                self.baselines[place] = self.held[place]
        self.restart(np.array(places, np.int64))


def _half(kinds: Int64s) -> Int64s:
    """The kind of change of half the size, where there is one; shifts double from one to the next.

    >>> _half(np.array([0, 3, N_SHIFTS, N_KINDS - 1])).tolist()
    [0, 2, 5, 8]
    """
    return np.where(kinds % N_SHIFTS == 0, kinds, np.maximum(kinds - 1, 0))


def _joined(one: Array, other: Array) -> Array:
    return np.concatenate([one, other]).astype(one.dtype)
