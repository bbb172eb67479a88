"""Repaired: what repair gives: the predictions mended, what changed, and what could not be."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._check.violations import Violations
from sqrl._data.html_table import html_table
from sqrl._language.short import wrapped

MOST_SHOWN = 20
BELOW = " " * 14  # how far lines that go on are indented
CAUTION = (
    "Predictions that keep every rule need not be right: hold them against the truth, and other "
    "ways of mending a model against these."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Repaired:
    """Predictions that keep the rules about single rows, as near as can be to those given.

    `table` has all columns and rows as given, but for the values changed. `changes` has a line for
    each of these: row (from 0), column, before, after, and the rule it is owed to. `before` and
    `after` are what `check` finds of the rules that were repaired. `conflicts` has a line for each
    of those that a row still breaks, and why; `left_out` one for each rule that is not repaired,
    why, and how often it was broken before and after.
    """

    table: pa.Table
    changes: pa.Table
    before: Violations
    after: Violations
    conflicts: pa.Table
    left_out: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def changed(self) -> dict[str, int]:
        """In how many rows each column changed, of those that did."""
        return dict(Counter(self.changes["column"].to_pylist()))

    @property
    def n_changed(self) -> int:
        """How many rows changed."""
        return int(np.unique(self.changes["row"].to_numpy()).size)

    @property
    def n_conflicts(self) -> int:
        """How many rows still break a rule that was to be repaired."""
        return int(np.unique(self.conflicts["row"].to_numpy()).size)

    def reasons(self) -> dict[str, int]:
        """How many rules were left out for each reason, the commonest first."""
        return dict(Counter(self.left_out["reason"].to_pylist()).most_common())

    def to_pandas(self) -> Any:
        """The repaired predictions as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, but for the predictions themselves."""
        return {
            "n_rows": len(self),
            "n_rules": len(self.after),
            "rows_changed": self.n_changed,
            "changed": self.changed,
            "violations_before": self.before.total,
            "violations_after": self.after.total,
            "rows_in_conflict": self.n_conflicts,
            "changes": self.changes.to_pylist(),
            "conflicts": self.conflicts.to_pylist(),
            "left_out": self.left_out.to_pylist(),
        }

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"{self.n_changed:,} of {_count(len(self), 'row')} changed; "
            f"{_count(self.before.total, 'violation')} of {_count(len(self.after), 'rule')} "
            f"before, {self.after.total:,} after; {_count(self.left_out.num_rows, 'rule')} left out"
        )

    def lines(self, *, width: int = 80) -> Iterator[str]:
        """The result as lines that fit a terminal."""
        n_rules = len(self.after) + self.left_out.num_rows
        yield f"{self.before.table.source}: {_count(len(self), 'row')}, {_count(n_rules, 'rule')}"
        yield f"{_count(len(self.after), 'rule', 11)} repaired"
        where = ", ".join(f"{name} {count:,}" for name, count in self.changed.items())
        changed = f"{_count(self.n_changed, 'row', 11)} changed"
        yield from wrapped(f"{changed}: {where}" if where else changed, width, rest=BELOW)
        yield f"{_count(self.before.total, 'violation', 11)} before"
        yield f"{_count(self.after.total, 'violation', 11)} after"
        for why, count in Counter(self.conflicts["reason"].to_pylist()).most_common():
            yield from wrapped(f"{count:>11,} left: {why}", width, rest=BELOW)
        yield from self._left_out_lines(width)
        yield ""
        yield from wrapped(CAUTION, width)

    def _left_out_lines(self, width: int) -> Iterator[str]:
        for reason, count in self.reasons().items():
            mine = np.array(self.left_out["reason"].to_pylist()) == reason
            before, after = (
                int(self.left_out[f"violations_{when}"].to_numpy()[mine].sum())
                for when in ("before", "after")
            )
            yield from wrapped(
                f"{_count(count, 'rule', 11)} left out: {reason}; "
                f"violations {before:,} before, {after:,} after",
                width,
                rest=BELOW,
            )

    def __repr__(self) -> str:
        return f"Repaired: {self.summary()}"

    def _repr_html_(self) -> str:
        shown = self.changes.slice(0, MOST_SHOWN)
        names = ("row", "column", "before", "after", "text")
        rows = [[_cell(line[name]) for name in names] for line in shown.to_pylist()]
        more = self.changes.num_rows - MOST_SHOWN
        table = html_table([*names[:-1], "rule"], rows)
        note = f"<p>and {more:,} more changes</p>" if more > 0 else ""
        return f"<p>{escape(self.summary())}</p>{table}{note}"


def _count(n: int, noun: str, width: int = 0) -> str:
    return f"{n:>{width},} {noun}{'' if n == 1 else 's'}"


def _cell(value: Any) -> str:
    return "" if value is None else escape(str(value))
