"""FoundRows: which rows are unlike those that the rules were learned from, and why."""

import math
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._check.null_tests import benjamini_hochberg
from sqrl._check.row_scores import Surprise, conformal_p_values, scored_rules, worst_scores
from sqrl._check.sentences import sentences_of
from sqrl._check.violations import Violations
from sqrl._data.arrow_arrays import from_numpy, from_values
from sqrl._data.html_table import html_table
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._rules.held_out import ScoreCounts
from sqrl._rules.label import names_label
from sqrl.errors import DataError

MOST_SHOWN = 20
MOST_REASONS = 3  # sentences that a row is given; `violations.sentences(row)` has all
NEARLY = 0.8  # of the worst score: as bad, for whom wants the plainest reason
NO_SCORES = (
    "rows have no p-values: the rules carry no scores of held-out rows, as where they were written "
    "by hand, edited, joined or learned without held-out rows; learn them again"
)
NO_PREDICTIONS = (
    "rows have no p-values: the rules were learned without predictions of held-out rows; learn "
    "with --prediction to get them"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FoundRows:
    """The rows that break rules, the worst first, each with a p-value and the reasons.

    Shapes: row (n,), the rows' places from 0; score, p_value, significant (n,) of each of them.
    The p-value is the share of held-out rows that are at least as bad, the row itself counted:
    exact where the row is exchangeable with those, and nan where they are not known, as `note` then
    says. Rows are called significant so that among those the expected share of false alarms is at
    most `level`. Rows that break nothing are left out: their score is 0 and their p-value 1.
    """

    violations: Violations
    level: float
    row: Int64s
    score: Floats
    p_value: Floats
    significant: Bools
    n_held_out: int = 0
    note: str | None = None

    def __post_init__(self) -> None:
        for array in (self.row, self.score, self.p_value, self.significant):
            array.flags.writeable = False

    def __len__(self) -> int:
        return int(self.row.size)

    @property
    def n_significant(self) -> int:
        """How many rows are significant."""
        return int(self.significant.sum())

    @property
    def fewest(self) -> int:
        """How many rows must be worse than all held-out ones for any of them to be significant.

        More than one where the held-out rows are fewer than those checked over the level: a rank
        among them can then not be small enough for a single row.
        """
        return max(1, math.ceil(self.violations.n_rows / (self.level * (1 + self.n_held_out))))

    def rules(self, place: int) -> Int64s:
        """The rules that the row at a place of this table breaks, the worst first."""
        return self.violations.pair_rule[self._pairs(place)].astype(np.int64)

    def _pairs(self, place: int) -> Int64s:
        first, last = self._by_row[1][self.row[place] : self.row[place] + 2]
        return self._by_row[0][first:last]

    def reasons(self, place: int, most: int | None = MOST_REASONS) -> list[str]:
        """Why the row at a place of this table breaks rules, the worst first.

        Of the rules that bound the same expression only one speaks.
        """
        found, chosen = self.violations, dict[Any, list[int]]()
        pairs = self._pairs(place)
        for pair in pairs.tolist():
            form = found.rules.form(int(found.pair_rule[pair]))
            chosen.setdefault(form.subject or form.head or pair, []).append(pair)
        rules = [int(found.pair_rule[self._plainest(mine)]) for mine in chosen.values()]
        return sentences_of(found, int(self.row[place]), rules[:most])

    def _plainest(self, pairs: list[int]) -> int:
        """Of violations, the worst first, the one with the fewest conditions that is as bad.

        Three hundred years are too many at any income: who reads it need not hear of incomes.
        """
        found, score = self.violations, self._scores
        bad = [pair for pair in pairs if score[pair] >= NEARLY * score[pairs[0]]]
        forms = {pair: found.rules.form(int(found.pair_rule[pair])) for pair in bad}
        return min(bad, key=lambda pair: len(forms[pair].given) + len(forms[pair].pieces))

    def to_arrow(self) -> pa.Table:
        """A row for each row: its place from 0, score, p-value, rules and reasons."""
        return self._arrow(len(self))

    def to_pandas(self) -> Any:
        """A row for each row, as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A row for each row, as a polars DataFrame."""
        import narwhals as nw

        return nw.from_arrow(self.to_arrow(), backend="polars").to_native()

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """The rows as plain data; they and the rules are numbered from 1, as in files."""
        found = self._arrow(len(self) if most is None else min(most, len(self))).to_pylist()
        for one in found:
            one["row"] += 1
            one["rules"] = [rule + 1 for rule in one["rules"]]
        return {
            "level": self.level,
            "broken": len(self),
            "significant": self.n_significant,
            "held_out": self.n_held_out,
            "note": self.note,
            "rows": found,
        }

    def summary(self) -> str:
        """The result in one sentence."""
        of = f"{len(self):,} of {self.violations.n_rows:,} rows break a rule"
        return of if self.note else f"{of}, {self.n_significant:,} of them beyond chance"

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}: {self.summary()}"]
        for place in range(min(len(self), MOST_SHOWN)):
            told = f"p {p_text(self.p_value[place])}" + " *" * bool(self.significant[place])
            lines.append(f"  row {self.row[place]:<8} {told:<12} {'; '.join(self.reasons(place))}")
        if len(self) > MOST_SHOWN:
            lines.append(f"  ... and {len(self) - MOST_SHOWN:,} more")
        return "\n".join([*lines, *([f"note: {self.note}"] if self.note else [])])

    def _repr_html_(self) -> str:
        cells = [
            (
                f"{self.row[place]}",
                p_text(self.p_value[place]),
                "yes" if self.significant[place] else "",
                "<br>".join(escape(reason) for reason in self.reasons(place)),
            )
            for place in range(min(len(self), MOST_SHOWN))
        ]
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        table = html_table(("row", "p", "beyond chance", "why"), cells)
        return f"<p>{escape(self.summary())}</p>{table}{note}"

    @cached_property
    def _scores(self) -> Floats:
        return pair_scores(self.violations)

    @cached_property
    def _by_row(self) -> tuple[Int64s, Int64s]:
        """The broken pairs by row and then the worst first, and where those of each row begin."""
        found = self.violations
        order = np.lexsort((-self._scores, found.pair_row)).astype(np.int64)
        firsts = np.searchsorted(found.pair_row[order], np.arange(found.n_rows + 1))
        return order, firsts.astype(np.int64)

    def _arrow(self, most: int) -> pa.Table:
        known = ~np.isnan(self.p_value[:most])
        return pa.table(
            {
                "row": from_numpy(self.row[:most]),
                "score": from_numpy(self.score[:most]),
                "p_value": from_numpy(self.p_value[:most], ~known),
                "significant": from_numpy(self.significant[:most]),
                "rules": from_values(
                    [self.rules(place).tolist() for place in range(most)], pa.list_(pa.int64())
                ),
                "reasons": from_values(
                    [self.reasons(place) for place in range(most)], pa.list_(pa.string())
                ),
            }
        )


def p_text(p: float) -> str:
    """A p-value for the eye.

    >>> p_text(0.00041666), p_text(float("nan"))
    ('0.00042', '-')
    """
    return "-" if np.isnan(p) else f"{p:.2g}"


def pair_scores(found: Violations) -> Floats:
    """The score of each broken pair; 0 where the rule does not count for rows, or is waived."""
    counts = (scored_rules(found.rules) & ~found.is_waived)[found.pair_rule]
    score = Surprise.of(found.rules).of_pairs(
        found.pair_rule.astype(np.int64), found.pair_excess.astype(np.float64)
    )
    return np.where(counts, score, 0.0)


def row_scores(found: Violations) -> Floats:
    """How badly each row breaks its worst rule: see `sqrl._check.row_scores`."""
    return worst_scores(pair_scores(found), found.pair_row.astype(np.int64), found.n_rows)


def find_rows(found: Violations, level: float) -> FoundRows:
    """The rows that break rules, the worst first."""
    if not 0 < level < 1:
        raise DataError(f"The level is {level}.", fix="give a share between 0 and 1, such as 0.05")
    score = row_scores(found)
    held_out, note = held_out_scores(found)
    p = np.full(score.size, np.nan)
    if held_out is not None:
        p = conformal_p_values(score, held_out)
    significant = benjamini_hochberg(p, level)
    broken = np.flatnonzero(found.row_counts())
    worst = broken[np.lexsort((broken, -score[broken]))]
    return FoundRows(
        violations=found,
        level=level,
        row=worst.astype(np.int64),
        score=score[worst],
        p_value=p[worst],
        significant=significant[worst],
        n_held_out=0 if held_out is None else held_out.rows,
        note=note,
    )


def held_out_scores(found: Violations) -> tuple[ScoreCounts | None, str | None]:
    """What the rows are compared with; and a note, where there is nothing."""
    rules, known = found.rules, found.rules.held_out
    if known is None:
        return None, NO_SCORES
    if found.prediction is None or found.label is None:
        return known.labels, None
    if known.predictions is not None:
        return known.predictions, None
    scored = np.flatnonzero(scored_rules(rules)).tolist()
    if any(names_label(rules, place, found.label) for place in scored):
        return None, NO_PREDICTIONS
    return known.labels, None
