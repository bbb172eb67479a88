"""The file of a monitor: what it remembers, as JSON that is checked when it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import DecodeError, Meta, Struct, field, json

from sqrl._data.read_file import read_file
from sqrl._data.write_file import write_atomically
from sqrl._history.change_points import N_LEVELS, ChangePoints
from sqrl._history.detector import NOBODY, Detector
from sqrl._history.past_alarms import PastAlarm, PastAlarms
from sqrl._history.promise import Promise
from sqrl._history.rule_states import RuleStates
from sqrl._history.window_evidence import N_KINDS
from sqrl.errors import HistoryError

FORMAT, VERSION = "sqrl monitor", 1
LARGEST = 1 << 30
_AGAIN = "begin with a new monitor, or go back to a copy of the file"
PerKind = Annotated[list[float], Meta(min_length=N_KINDS, max_length=N_KINDS)]
Windows = Annotated[list[int], Meta(min_length=N_KINDS, max_length=N_KINDS)]
Levels = Annotated[list[int], Meta(min_length=N_LEVELS, max_length=N_LEVELS)]
Passed = Annotated[list[Levels], Meta(min_length=N_KINDS, max_length=N_KINDS)]
KindOfChange = Annotated[int, Meta(ge=-1, lt=N_KINDS)]


class RuleFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of `RuleStates`."""

    id: str
    identity: str
    baseline: list[float] | None
    held: list[float] | None
    log_sum: PerKind
    total: PerKind
    least: PerKind
    start: Windows
    latest: Windows
    passed: Passed
    alarmed: KindOfChange
    doubt: float
    is_silent: bool


class MonitorFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a monitor but its rules, which have a file of their own."""

    format: str = FORMAT
    version: int = VERSION
    promise: Promise
    prediction: str | None
    waived: dict[str, str]
    last: str | None  # the `at` of the last window
    n_windows: Annotated[int, Meta(ge=0)]
    names: dict[int, str]
    rules: list[RuleFile]
    alarms: list[PastAlarm]
    facts: list[list[str]]

    def __post_init__(self) -> None:
        ids = [rule.id for rule in self.rules]
        if len(set(ids)) != len(ids):
            raise ValueError("a rule is there twice")
        if self.n_windows and (self.last is None or self.names.get(self.n_windows - 1) is None):
            raise ValueError("the last window has no time")
        for rule in self.rules:
            starts = {*rule.start, *rule.latest, *(one for some in rule.passed for one in some)}
            if not starts <= {0, *self.names}:  # 0 also stands for none
                raise ValueError(f"a change of rule {rule.id} began with a window that has no time")

    def detector(self) -> Detector:
        """The detector that was saved."""
        columns = {name: [getattr(rule, name) for rule in self.rules] for name in _COLUMNS}
        floats = {
            name: np.array(columns[name], np.float64).reshape(-1, N_KINDS)
            for name in ("log_sum", "total", "least")
        }
        windows = {
            name: np.array(columns[name], np.int64).reshape(-1, N_KINDS)
            for name in ("start", "latest")
        }
        passed = np.array(columns["passed"], np.int64).reshape(-1, N_KINDS, N_LEVELS)
        points = ChangePoints(floats["total"], floats["least"], **windows, passed=passed)
        states = RuleStates(
            ids=columns["id"],
            identities=columns["identity"],
            baselines=[None if one is None else tuple(one) for one in columns["baseline"]],
            held=[None if one is None else tuple(one) for one in columns["held"]],
            log_sum=floats["log_sum"],
            alarmed=np.array(columns["alarmed"], np.int64),
            doubt=np.array(columns["doubt"], np.float64),
            is_silent=np.array(columns["is_silent"], np.bool_),
            points=points,
        )
        past = PastAlarms(list(self.alarms), list(self.facts))
        return Detector(self.promise, states, self.n_windows, dict(self.names), past)


_COLUMNS = RuleFile.__struct_fields__


class _Header(Struct, frozen=True):
    format: str = ""
    version: int = field(default=0)


def save_monitor(
    path: Path,
    detector: Detector,
    *,
    prediction: str | None,
    waived: Mapping[str, str],
    last: str | None,
) -> None:
    """Write the file, whole or not at all."""
    file = monitor_file(detector, prediction=prediction, waived=waived, last=last)
    write_atomically(path, json.encode(file))


def monitor_file(
    detector: Detector,
    *,
    prediction: str | None = None,
    waived: Mapping[str, str] = NOBODY,
    last: str | None,
) -> MonitorFile:
    """What a detector remembers, as a file holds it."""
    states, points = detector.states, detector.states.points
    columns = {
        "id": states.ids,
        "identity": states.identities,
        "baseline": [None if one is None else list(one) for one in states.baselines],
        "held": [None if one is None else list(one) for one in states.held],
        **{name: getattr(states, name).tolist() for name in ("log_sum", "alarmed", "doubt")},
        **{name: getattr(points, name).tolist() for name in ChangePoints.__slots__},
        "is_silent": states.is_silent.tolist(),
    }
    rows = zip(*(columns[name] for name in _COLUMNS), strict=True)
    return MonitorFile(
        promise=detector.promise,
        prediction=prediction,
        waived=dict(waived),
        last=last,
        n_windows=detector.n_windows,
        names=detector.names,
        rules=[RuleFile(**dict(zip(_COLUMNS, row, strict=True))) for row in rows],
        alarms=detector.past.alarms,
        facts=detector.past.facts,
    )


def load_monitor(path: Path) -> MonitorFile:
    """What a monitor's file holds; raises where it is damaged, or of another version."""
    if not path.is_file():
        what = "There is no such monitor file."
        raise HistoryError(what, where=str(path), fix="make one with Monitor.save")
    try:
        content = read_file(path, most=LARGEST, error=HistoryError, fix=_AGAIN)
        header = json.decode(content, type=_Header)
        if header.format != FORMAT:
            raise _damaged(path, "it is of something else")
        if header.version != VERSION:
            raise HistoryError(
                f"The monitor has format version {header.version}; this sqrl reads version "
                f"{VERSION}.",
                where=str(path),
                fix="use the sqrl that wrote it, or begin with a new monitor",
            )
        return json.decode(content, type=MonitorFile)
    except RecursionError:
        raise _damaged(path, "it is nested too deeply") from None
    except (DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, why: str) -> HistoryError:
    what = f"The monitor's file cannot be read: {why.rstrip('.')}."
    return HistoryError(what, where=str(path), fix=_AGAIN)
