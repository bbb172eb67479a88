"""Going on from the window before the last, so that a day's check need not replay a year.

A memo is what the detector remembered before the last window. It is used where the windows behind
it, what people decided and this sqrl are the same as when it was written, and else computed again:
the result is that of a replay. It ends before the last window, so that one can be checked twice.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from sqrl._history.detector import Detector
from sqrl._history.monitor_file import MonitorFile, monitor_file
from sqrl._history.record import CheckRecord
from sqrl._history.settings import Settings
from sqrl._history.store import Store
from sqrl._history.timeline import Alarm, WindowDecision
from sqrl._version import __version__
from sqrl.errors import OutputError

Stamped = Sequence[tuple[str, str]]


class Memo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state after the first `n_windows` windows, whose `digest` tells what they were."""

    n_windows: int
    digest: str
    alarms: list[Alarm]
    open_since: str | None
    state: MonitorFile


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWindows:
    """Alarms of all windows, and of those that a memo did not cover what was decided and found.

    `open_since` is the first of the last windows that are all not in the baseline, if any are.
    """

    n_windows: int
    alarms: tuple[Alarm, ...]
    open_since: str | None
    decisions: dict[str, WindowDecision]
    last: CheckRecord


def go_on(store: Store, settings: Settings, at: str) -> LastWindows:
    """What all windows say, by a memo of windows before the one of `at` where there is one.

    A memo that ends before the last window is kept for the next time.
    """
    windows = store.stamped()
    n_before = sum(before < at for before, _ in windows)
    memo = _fitting(store.memo(), windows, settings, n_before)
    detector = Detector(settings.promise) if memo is None else memo.state.detector()
    alarms = [] if memo is None else list(memo.alarms)
    open_since = None if memo is None else memo.open_since
    covered = 0 if memo is None else memo.n_windows
    decisions: dict[str, WindowDecision] = {}
    for place in range(covered, len(windows)):
        if place == len(windows) - 1 and place > covered:
            before = windows[:place]
            with suppress(OutputError):  # a full disk, say: the result is there without it
                store.keep_memo(_encoded(detector, alarms, open_since, before, settings))
        last = store.record(windows[place][0])
        waived = settings.waived()
        decided = detector.step(last, accepted=settings.accepted, waived=waived)
        alarms += [decided.alarm] if decided.alarm else []
        open_since = None if decided.in_baseline else (open_since or last.at)
        decisions[last.at] = decided
    return LastWindows(
        n_windows=len(windows),
        alarms=tuple(alarms),
        open_since=open_since,
        decisions=decisions,
        last=last,
    )


def _encoded(
    detector: Detector,
    alarms: list[Alarm],
    open_since: str | None,
    windows: Stamped,
    settings: Settings,
) -> bytes:
    memo = Memo(
        n_windows=len(windows),
        digest=_digest(windows, settings),
        alarms=alarms,
        open_since=open_since,
        state=monitor_file(detector, last=windows[-1][0]),
    )
    return msgspec.msgpack.encode(memo)


def _fitting(content: bytes | None, windows: Stamped, settings: Settings, most: int) -> Memo | None:
    """The memo, if it is one of the first of these windows, and of at most so many."""
    if content is None:
        return None
    try:
        memo = msgspec.msgpack.decode(content, type=Memo)
    except (msgspec.DecodeError, UnicodeDecodeError):  # damaged, or of another version
        return None
    if not 0 < memo.n_windows <= most:
        return None
    is_same = memo.digest == _digest(windows[: memo.n_windows], settings)
    return memo if is_same else None


def _digest(windows: Stamped, settings: Settings) -> str:
    parts = [__version__, msgspec.json.encode(settings).decode(), *(stamp for _, stamp in windows)]
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
