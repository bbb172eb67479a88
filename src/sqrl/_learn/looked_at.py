"""What is known of the rows before anything is inferred, wherever they are."""

from collections.abc import Callable
from dataclasses import dataclass

from sqrl._data.table import Table
from sqrl._learn.domains import Cut
from sqrl._rows.questions import Answers
from sqrl._rows.rows import Rows


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
