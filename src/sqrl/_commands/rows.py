"""sqrl check --rows: which rows are unlike those that rules were learned from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqrl._commands.options import FailOnCheck
from sqrl.errors import DataError

if TYPE_CHECKING:
    from sqrl._check.found_rows import FoundRows
    from sqrl._check.violations import Violations

MOST_LISTED = 10_000  # rows in JSON


class RowsAsked:
    """Whether rows are to be shown, and whether they decide the exit status."""

    def __init__(self, *, shown: bool, fail_on: FailOnCheck) -> None:
        self.decides = fail_on == FailOnCheck.rows
        self.shown = shown or self.decides

    def refuse_scan(self, data: str, *, is_scanned: bool) -> None:
        """Raise before any work where the rows are never all in memory."""
        if self.shown and is_scanned:
            from sqrl._scan.scan import needs_memory

            raise needs_memory("A p-value for each row needs", data, "check some of the rows")

    def find(self, found: "Violations") -> "FoundRows | None":
        """The rows, where they are asked for; raises where they cannot decide."""
        if not self.shown:
            return None
        rows = found.rows()
        if self.decides and rows.note:
            raise DataError(
                f"No row can fail: {rows.note.partition('; ')[0]}.",
                where=found.source,
                fix=rows.note.partition("; ")[2],
            )
        return rows


def with_rows(result: dict[str, Any], rows: "FoundRows | None") -> dict[str, Any]:
    """The result as plain data, with the rows where they are asked for."""
    return result if rows is None else {**result, "rows": rows.to_dict(MOST_LISTED)}


def rows_after(
    lines: Iterator[str], rows: "FoundRows | None", *, top: int, width: int
) -> Iterator[str]:
    """The lines, and after them those of the rows where they are asked for."""
    yield from lines
    if rows is not None:
        from sqrl.report._text_rows import row_lines

        yield from row_lines(rows, top=top, width=width)
