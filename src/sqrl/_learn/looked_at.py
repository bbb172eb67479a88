"""What is known of the rows before anything is inferred, wherever they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqrl._data.table import Table
from sqrl._learn.domains import Cut
from sqrl._progress import Track
from sqrl._rows.questions import Answers
from sqrl._rows.rows import Rows
from sqrl._rules.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class LookedAt:
    """Rows to learn from, and rows held out, as a schema wants them.

    `whole` and `valid` have the columns of the data that was given. `rows` has each value of the
    train rows' columns at least once. `sizes` are how many rows there are to learn from, and how
    many are held out, with what messages call them.
    """

    whole: Table
    valid: Table | None
    rows: Rows
    sizes: list[tuple[str, int]]
    cut_literals: Callable[[], Cut | None]  # None: on `rows`, which are then all of them
    check_used: Callable[[set[str]], None]  # raises where a column cannot be used
    answers: Callable[[set[str]], Answers]  # of questions about the columns that are used
    fingerprint: Callable[[], str]


class Source(Protocol):
    """Data to learn from."""

    def propose(self, label: str | None, *, seed: int) -> Schema:
        """A schema for data without one."""

    def look(self, schema: Schema, *, seed: int, track: Track | None) -> LookedAt:
        """What is known of the rows, divided into those to learn from and those held out."""
