"""The detector of changes over checks, whose average time to a false alarm is what was asked.

For each rule and each kind of change it holds the sum, over all windows that the change may have
begun with, of the product of e-values since: an e-detector of the Shiryaev-Roberts kind (Shin,
Ramdas, Rinaldo). Their mean over kinds and rules, whatever the dependence between these, grows by
at most 1 with each window on average while nothing changes. So it takes on average at least A
windows to come to A, which is when the alarm is raised (decision 25).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from types import MappingProxyType

import numpy as np

from sqrl._history.causes import cause_of
from sqrl._history.e_values import e_bh
from sqrl._history.null_band import null_band
from sqrl._history.past_alarms import Fact, PastAlarm, PastAlarms, waived_rules
from sqrl._history.promise import Promise
from sqrl._history.record import CheckRecord
from sqrl._history.rule_states import NO_KIND, RuleStates
from sqrl._history.timeline import Alarm, Timeline, WindowDecision
from sqrl._history.window_evidence import N_SHIFTS, log_weights, window_evidence
from sqrl._kernels.arrays import Bools, Floats, Int64s

NOBODY: Mapping[str, str] = MappingProxyType({})
FORGET_EVERY = 64  # windows, after which those that nothing points to lose their names
LEAST_SHOWN = -5.0  # of a rule's log evidence, which has none at all where it has just restarted


@dataclass(slots=True, eq=False)
class Detector:
    """All that is remembered of windows: baselines, detectors and alarms, in constant memory."""

    promise: Promise
    states: RuleStates = field(default_factory=RuleStates)
    n_windows: int = 0
    names: dict[int, str] = field(default_factory=dict)  # the `at` of windows, by number
    past: PastAlarms = field(default_factory=PastAlarms)

    @property
    def threshold(self) -> float:
        """The log of the evidence that raises an alarm."""
        return log(self.promise.n_checks)

    def step(
        self,
        record: CheckRecord,
        *,
        accepted: Collection[str] = (),
        waived: Mapping[str, str] = NOBODY,
    ) -> WindowDecision:
        """Take in the next window and decide."""
        states, window = self.states, self.n_windows
        places = states.places_of(record)
        before = [states.baselines[place] for place in places]
        alone = np.array([layout == "p" for layout in record.layout], np.bool_)
        states.add(places, window_evidence(record, before), alone, window)
        self.n_windows, self.names[window] = window + 1, record.at
        states.restart(states.over(places, self.threshold))
        of_kinds = states.log_sum[places] + log_weights(record.sides)
        silent = waived_rules(record, waived)
        is_waived = np.array([one in silent for one in record.ids], np.bool_)
        found = _Found(record, places, of_kinds, is_waived)
        open_rules = {states.ids[place] for place in np.flatnonzero(states.alarmed != NO_KIND)}
        named, total = self._named(found)
        new = [index for index in named.tolist() if not self._joins(found, index, open_rules)]
        alarm = self._alarm(found, new, total, self.past.new_facts(record, silent))
        states.learn(record, places)
        self.accept(accepted)
        if window % FORGET_EVERY == 0:
            self._forget()
        return self._decision(found, null_band(record, before), alarm)

    def accept(self, accepted: Collection[str]) -> None:
        """Take what rules found since alarms that a person accepted for how rows are from now on.

        `accepted` are the `at`s of the windows that raised these alarms.
        """
        states, rules = self.states, self.past.accepted_rules(accepted)
        alarmed = np.flatnonzero(states.alarmed != NO_KIND).tolist()
        states.accept([place for place in alarmed if states.ids[place] in rules])

    def _named(self, found: "_Found") -> tuple[Int64s, float]:
        """The rules that a change is now sure of, the strongest first, and the log evidence of all.

        Where all together say that there is a change, e-BH says of which rules, and the strongest
        is one of them. Of waived rules those that alone are sure are marked, in silence, and named
        once their waiver has ended, if the change is still there.
        """
        states, places, evidence = self.states, found.places, found.log_evidence
        silenced = found.is_waived
        is_free = states.alarmed[places] == NO_KIND
        is_silent = is_free & silenced & (evidence >= self.threshold)
        is_named = states.is_silent[places] & ~silenced
        may_alarm = is_free & ~silenced
        total = float(np.logaddexp.reduce(evidence[may_alarm])) if may_alarm.any() else -np.inf
        if total >= self.threshold:
            own = np.where(may_alarm, evidence + found.log_size, -np.inf)
            is_named |= e_bh(own, 1 / self.promise.n_checks)
            is_named[int(own.argmax())] = True
        states.is_silent[places] = (states.is_silent[places] & silenced) | is_silent
        sure = is_named | is_silent
        states.alarmed[places[sure]] = found.of_kinds[sure].argmax(axis=1)
        named = np.flatnonzero(is_named)
        of_named = float(np.logaddexp.reduce(evidence[named])) if named.size else -np.inf
        return named[np.argsort(-evidence[named], kind="stable")], max(total, of_named)

    def _joins(self, found: "_Found", index: int, open_rules: set[str]) -> bool:
        """Whether the change of a rule belongs to an earlier alarm."""
        place = int(found.places[index])
        _, first, last = self.states.interval(place)
        return self.past.join(found.record.ids[index], first, last, open_rules)

    def _alarm(
        self, found: "_Found", new: list[int], total: float, facts: list[Fact]
    ) -> Alarm | None:
        """The alarm of this window, by evidence for rules and by facts; None without either."""
        if not new and not facts:
            return None
        record, window = found.record, self.n_windows - 1
        rules, started, causes = [record.ids[index] for index in new], (window,) * 3, []
        if new:
            place = int(found.places[new[0]])
            kind, baseline = int(self.states.alarmed[place]), self.states.baselines[place]
            started = self.states.interval(place)
            causes = [cause_of(record, rules, new[0], baseline, rises=kind < N_SHIFTS)]
        rules = list(dict.fromkeys([*(rule for fact in facts for rule in fact.rules), *rules]))
        self.past.add(PastAlarm(record.at, window, started[1], rules))
        return Alarm(
            at=record.at,
            rules=tuple(rules),
            log_evidence=np.inf if facts else total,
            started=self.names[started[0]],
            started_low=self.names[started[1]],
            started_high=self.names[started[2]],
            cause=[*(fact.text for fact in facts), *causes][0],
        )

    def _decision(
        self, found: "_Found", band: tuple[Floats, Floats], alarm: Alarm | None
    ) -> WindowDecision:
        record, states = found.record, self.states
        is_open = (states.alarmed[found.places] != NO_KIND) & ~states.is_silent[found.places]
        with np.errstate(all="ignore"):
            share = np.where(record.applicable > 0, record.broken / record.applicable, np.nan)
        return WindowDecision(
            at=record.at,
            ids=record.ids,
            log_evidence=np.maximum(found.log_evidence, LEAST_SHOWN - found.log_size),
            threshold=self.threshold,
            share=share,
            low=band[0],
            high=band[1],
            is_waived=found.is_waived,
            in_baseline=not is_open.any() and not self.past.facts,
            alarm=alarm,
        )

    def _forget(self) -> None:
        """Drop the names of windows that no change may have begun with."""
        points = self.states.points
        named = {self.n_windows - 1}
        for numbers in (points.start, points.latest, points.passed):
            named.update(numbers.ravel().tolist())
        self.names = {number: at for number, at in self.names.items() if number in named}


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A window's record, where its rules are, the log evidence for each kind of change, waivers."""

    record: CheckRecord
    places: Int64s
    of_kinds: Floats
    is_waived: Bools

    @property
    def log_size(self) -> float:
        """The log of the number of rules, whose mean counts."""
        return log(max(len(self.record.ids), 1))

    @property
    def log_evidence(self) -> Floats:
        """What each rule adds to the mean."""
        return np.asarray(np.logaddexp.reduce(self.of_kinds, axis=1) - self.log_size)


def replay(
    records: Sequence[CheckRecord],
    promise: Promise,
    *,
    accepted: Collection[str] = (),
    waived: Mapping[str, str] = NOBODY,
) -> Timeline:
    """What the checks say over time, in the order of their `at`, whatever order they are given in.

    `accepted` are the `at`s of windows that alarmed and that a person has accepted: what the rules
    of the alarm found there is how rows are from then on. `waived` maps ids of rules to the last
    day, as an ISO date, on which they raise no alarm. Of records with the same `at` the last one
    counts.
    """
    by_time = {record.at: record for record in records}
    ordered = [by_time[at] for at in sorted(by_time)]
    texts = {rule: text for one in ordered for rule, text in zip(one.ids, one.texts, strict=True)}
    detector, row_of = Detector(promise), {rule: row for row, rule in enumerate(texts)}
    columns = {
        name: np.full((len(texts), len(ordered)), np.nan)
        for name in ("log_evidence", "share", "low", "high")
    }
    is_waived = np.zeros((len(texts), len(ordered)), np.bool_)
    in_baseline, alarms = np.zeros(len(ordered), np.bool_), []
    for window, record in enumerate(ordered):
        decided = detector.step(record, accepted=accepted, waived=waived)
        rows = [row_of[rule] for rule in record.ids]
        for name, values in columns.items():
            values[rows, window] = getattr(decided, name)
        is_waived[rows, window] = decided.is_waived
        in_baseline[window] = decided.in_baseline
        alarms += [decided.alarm] if decided.alarm else []
    return Timeline(
        at=tuple(record.at for record in ordered),
        ids=tuple(texts),
        texts=MappingProxyType(texts),
        threshold=detector.threshold,
        is_waived=is_waived,
        in_baseline=in_baseline,
        alarms=tuple(alarms),
        **columns,
    )
