"""Rows that break rules, as text that fits a terminal."""

from collections.abc import Iterator

from sqrl._check.found_rows import FoundRows, p_text
from sqrl._language.short import INDENT, wrapped
from sqrl.report._wording import counted, percent


def row_lines(found: FoundRows, *, top: int = 10, width: int = 80) -> Iterator[str]:
    """The rows to look at first, numbered from 1 as in files, and why."""
    yield ""
    yield f"{found.summary()}{'; the worst first:' if len(found) and top else ''}"
    for place in range(min(len(found), top)):
        sure = ", beyond chance" if found.significant[place] else ""
        yield f"{INDENT}row {found.row[place] + 1:,}: p {p_text(found.p_value[place])}{sure}"
        for reason in found.reasons(place):
            yield from wrapped(reason, width, 2 * INDENT)
    if top and len(found) > top:
        yield f"{INDENT}... and {len(found) - top:,} more"
    if found.note:
        yield from wrapped(f"note: {found.note}", width)
    elif len(found) and top:
        others = counted(found.n_held_out, "held-out row")
        yield from wrapped(
            f"p: the share of {others}, and of the row itself, that are at least as bad. "
            f"At most {percent(found.level)} of the rows called beyond chance are expected to be "
            f"false alarms.{_too_few(found)}",
            width,
        )


def _too_few(found: FoundRows) -> str:
    """What keeps a single row from being called so, where something does."""
    if found.n_significant or found.fewest == 1:
        return ""
    return (
        f" With so few held-out rows it takes {found.fewest:,} that are worse than all of those: "
        "look at the first, whatever they are called."
    )
