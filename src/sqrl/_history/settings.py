"""Settings: what people have decided about a history, in a JSON file that they can read."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from sqrl._data.read_file import read_file
from sqrl._data.write_file import write_atomically
from sqrl._history.promise import Promise
from sqrl.errors import HistoryError

FORMAT = "sqrl-history"
VERSION = 1
LARGEST = 1 << 26  # bytes


class Waiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that raises no alarm up to and on a day, and why a person wants it so."""

    rule: str
    until: str
    why: str


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people have decided about a history: its promise, accepted windows, waivers."""

    format: str = FORMAT
    version: int = VERSION
    false_alarms: str = "1/year"
    every: str = "day"
    accepted: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()

    @property
    def promise(self) -> Promise:
        """How many false alarms there may be, and how often a check is made."""
        return Promise(false_alarms=self.false_alarms, every=self.every)

    def waived(self) -> Mapping[str, str]:
        """The last day on which each rule that is waived raises no alarm, by its id."""
        return {waiver.rule: waiver.until for waiver in self.waivers}


MEND = "mend the file; it has the promise, the accepted windows and the waivers"


class _Version(msgspec.Struct, frozen=True):
    format: str | None = None
    version: int | None = None


def write_settings(path: Path, settings: Settings) -> None:
    """Write the file; the old one stays until the new one is whole."""
    encoded = msgspec.json.format(msgspec.json.encode(settings), indent=1)
    write_atomically(path, encoded + b"\n")


def read_settings(path: Path) -> Settings:
    """What a file says; raises where it is damaged, or of another version."""
    try:
        content = read_file(path, most=LARGEST, error=HistoryError, fix=MEND)
        known = msgspec.json.decode(content, type=_Version)
        if known.format != FORMAT:
            raise _damaged(path, "it is of something else")
        if known.version != VERSION:
            raise HistoryError(
                f"The history has format version {known.version}; this sqrl reads version "
                f"{VERSION}.",
                where=str(path),
                fix="use the sqrl that wrote it, or begin a new history",
            )
        return msgspec.json.decode(content, type=Settings)
    except RecursionError:
        raise _damaged(path, "it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, why: str) -> HistoryError:
    return HistoryError(
        f"The history's settings cannot be read: {why.rstrip('.')}.",
        where=str(path),
        fix=MEND,
    )
