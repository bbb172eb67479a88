"""sqrl check --history: the check becomes a window, and all windows together decide."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sqrl._commands.options import FailOnCheck

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sqrl._check.violations import Violations
    from sqrl._history.history import History
    from sqrl._history.window_result import WindowResult


class HistoryAsked:
    """Where a check is kept, of which time it is, and how it decides the exit status."""

    def __init__(
        self,
        folder: Path | None,
        data: str,
        *,
        at: str | None,
        false_alarms: str | None,
        every: str | None,
        fail_on: FailOnCheck,
    ) -> None:
        self.folder, self.history, self.at = folder, None, ""
        self.decides = folder is not None and fail_on == FailOnCheck.significant
        options = {"--at": at, "--false-alarms": false_alarms, "--every": every}
        if folder is None:
            for name, value in options.items():
                if value is not None:
                    raise typer.BadParameter("It needs --history.", param_hint=f"'{name}'")
            return
        self.at = window_of(data) if at is None else _spelt(at)
        self.history = open_history(folder, false_alarms, every)
        self.history.store.check()

    @property
    def day(self) -> str | None:
        """The date on which waivers count: that of the window; None without a history."""
        from sqrl._history.window_times import day_of

        return day_of(self.at) or None

    def add(self, found: "Violations") -> "WindowResult | None":
        """What all windows say now that this check is one of them; None without a history."""
        if self.history is None:
            return None
        from sqrl._history.window_result import result_of

        return result_of(self.history, found, self.history.add(found, at=self.at))


def open_history(folder: Path, false_alarms: str | None, every: str | None) -> "History":
    """The history in a folder, with the promise that is asked for."""
    from sqrl._history.history import History

    return History(folder, false_alarms=false_alarms, every=every)


def window_of(data: str) -> str:
    """The time of the window that data is of: the date in its name, else today's in UTC."""
    from sqrl._history.window_times import at_in
    from sqrl._rules.decisions import today

    return at_in(Path(data).name) or today()


def _spelt(at: str) -> str:
    from sqrl._history.window_times import spell_at

    return spell_at(at)


def rules_failed(found: "Violations", window: "WindowResult") -> "NDArray[np.bool_]":
    """The rules that alarms of this window name."""
    import numpy as np

    named = window.rules
    return np.array([rule in named for rule in found.rules.ids()], np.bool_)


def with_window(result: dict[str, Any], window: "WindowResult | None") -> dict[str, Any]:
    """The result as plain data, with what the history says of the window."""
    if window is None:
        return result
    from sqrl.report._history_facts import window_dict

    return {**result, "history": window_dict(window)}


def window_after(
    lines: Iterator[str], window: "WindowResult | None", *, name: Path | None, width: int
) -> Iterator[str]:
    """The lines, and after them those about the window where there is a history."""
    yield from lines
    if window is not None:
        from sqrl.report._history_text import window_lines

        yield from window_lines(window, name=str(name), width=width)
