"""Lines for the terminal: what was run, the tables, and what was aimed at."""

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqrl_paper.bench import Task

Json = dict[str, Any]


def lines_of(task: "Task", result: Json, *, width: int) -> list[str]:
    """All that is printed of a result."""
    lines = [*wrap(_heading(task, result), width)]
    for sheet in task.sheets(result):
        lines += ["", *sheet.lines(width=width)]
    return [*lines, *aims_of(result, width)]


def aims_of(result: Json, width: int) -> Iterator[str]:
    """What was aimed at, and whether it was reached."""
    aims = [] if result["quick"] else result.get("aims", [])  # not meant for small sizes
    if aims:
        yield from ("", "Aims", "")
    for one in aims:
        yield from wrap(tell_aim(one), width, subsequent_indent="  ")


def tell_aim(one: Json) -> str:
    """An aim in a line.

    >>> aim = {"what": "AUC recovered", "unit": "%", "at_least": 80, "at_most": None}
    >>> tell_aim(aim | {"measured": 91.2, "met": True})
    'reached: AUC recovered: 91.2 % (at least 80)'
    """
    bounds = [
        f"{words} {one[end]:g}"
        for end, words in (("at_least", "at least"), ("at_most", "at most"))
        if one[end] is not None
    ]
    verdict = "reached" if one["met"] else "NOT reached"
    return f"{verdict}: {one['what']}: {one['measured']:g} {one['unit']} ({' and '.join(bounds)})"


def _heading(task: "Task", result: Json) -> str:
    seeds, minutes = len(result["seeds"]), result["seconds"]["of_all_runs"] / 60
    made = " On MADE-UP data, for a look: the figures mean nothing." if is_made(result) else ""
    small = " With --quick: sizes too small for figures to mean much." if result["quick"] else ""
    return (
        f"{task.ABOUT} {seeds} {'seed' if seeds == 1 else 'seeds'}, "
        f"{minutes:.0f} minutes of one core.{made or small}"
    )


def is_made(result: Json) -> bool:
    """Whether the data were made up."""
    return bool(result["data"] == "made")
