"""Alarm, WindowDecision and Timeline: what a sequence of checks says, window by window."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqrl._kernels.arrays import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A change that is there beyond the promise.

    `at` is the window that raised it, `rules` are the ids of the rules that name it, the strongest
    first. `log_evidence` is of all rules together, on the scale of `Timeline.threshold`. The change
    began with the window `started`, and by the evidence not before `started_low` nor after
    `started_high`. `cause` says what it is, in a sentence.
    """

    at: str
    rules: tuple[str, ...]
    log_evidence: float
    started: str
    started_low: str
    started_high: str
    cause: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WindowDecision:
    """What was decided after one window.

    Shapes: log_evidence, share, low, high, is_waived (n_rules,), as columns of a `Timeline`.
    `alarm` is the one that this window raised, if it did: an alarm that was raised before is not
    raised again.
    """

    at: str
    ids: tuple[str, ...]
    log_evidence: Floats
    threshold: float
    share: Floats
    low: Floats
    high: Floats
    is_waived: Bools
    in_baseline: bool
    alarm: Alarm | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Timeline:
    """What checks of one table say over time.

    Shapes: log_evidence, share, low, high, is_waived (n_rules, n_windows); in_baseline
    (n_windows,).

    `at` are the windows in order of time, `ids` all rules that were ever checked, in order of their
    first check. `log_evidence` is the natural log of what each rule by itself adds to the evidence
    for a change, nan where it was not checked: a rule that alone comes to `threshold` raises an
    alarm. `share` is of samples that break the rule, `low` and `high` the band that 99 % of windows
    like the baseline are in, nan where there is none. A rule that `is_waived` in a window, here or
    in the rules file, raises no alarm in it. Windows that are not `in_baseline` belong to an alarm
    that is open: the rules that it names do not learn from them.
    """

    at: tuple[str, ...]
    ids: tuple[str, ...]
    texts: Mapping[str, str]
    log_evidence: Floats
    threshold: float
    share: Floats
    low: Floats
    high: Floats
    is_waived: Bools
    in_baseline: Bools
    alarms: tuple[Alarm, ...]

    def __post_init__(self) -> None:
        numbers = self.log_evidence, self.share, self.low, self.high
        for array in (*numbers, self.is_waived, self.in_baseline):
            array.flags.writeable = False

    @property
    def new_alarms(self) -> tuple[Alarm, ...]:
        """The alarms that the last window raised."""
        return tuple(alarm for alarm in self.alarms if alarm.at == self.at[-1])
