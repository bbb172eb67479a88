"""The detector of changes over checks, whose average time to a false alarm is what was asked."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from sqrl._history.promise import Promise
from sqrl._history.record import CheckRecord
from sqrl._history.timeline import Timeline

NOBODY: Mapping[str, str] = MappingProxyType({})


def replay(
    records: Sequence[CheckRecord],
    promise: Promise,
    *,
    accepted: Collection[str] = (),
    waived: Mapping[str, str] = NOBODY,
) -> Timeline:
    """What the checks say over time, in the order of their `at`, whatever order they are given in.

    `accepted` are the `at`s of windows that alarmed and that a person has accepted: what the rules
    of the alarm found there is how rows are from then on. `waived` maps ids of rules to the ISO
    date until which they raise no alarm.
    """
    raise NotImplementedError
