"""Violations: what check finds, as columns over rules, with the rows where they are in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.columns_now import ColumnNow
from sqrl._check.decided import Waived
from sqrl._check.probabilities import ADVICE
from sqrl._check.row_outcomes import applicable_rows, excess_of, interval_ends
from sqrl._data.arrow_arrays import from_numpy, from_values
from sqrl._data.html_table import html_table
from sqrl._data.table import Table
from sqrl._kernels.arrays import Array, Bools, Float32s, Floats, Int32s, Int64s
from sqrl._language.tree import Over
from sqrl._rows.rows import Rows
from sqrl._rules.label import class_of
from sqrl._rules.ruleset import RuleSet
from sqrl.errors import DataError

if TYPE_CHECKING:
    from sqrl._check.findings.findings import Finding
    from sqrl._check.found_rows import FoundRows

FARTHEST = 1e9  # widths; what is further off is as bad


@dataclass(frozen=True, slots=True, eq=False)
class CheckedRows:
    """Rows that were checked in memory, and which of them break which rules.

    Shapes: pair_rule, pair_row, pair_excess: each broken (rule, row) pair, by rule and then by row,
    the excess in widths of the interval, infinite where that has none. batches: the rows of each
    mini-batch, by size, -1 where one of units has no more. `table` has the prediction in the
    label's place.
    """

    table: Table
    batches: Mapping[Over, Int64s]
    pair_rule: Int32s
    pair_row: Int32s
    pair_excess: Float32s

    def __post_init__(self) -> None:
        arrays: tuple[Array, ...] = (self.pair_rule, self.pair_row, self.pair_excess)
        for array in (*arrays, *self.batches.values()):
            array.flags.writeable = False


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Violations:
    """For each rule how often it applied, was broken, and was expected to be; and where.

    Shapes: applicable, broken, expected, p_value, significant (n_rules,): of rows for rules about
    single rows, of mini-batches for the others; expected and p_value are nan where they are not
    known. row_effect: the mean excess of the rows that break a rule, in widths of the interval, nan
    where none does or it has no width. weighted_applicable and weighted_broken: the counts by
    predicted probabilities, where these are given, nan where not known. batch_values: the statistic
    of each mini-batch for each mini-batch rule; evidence: what all rows say of it, in the layout of
    its kind, of shares the counts of its reference's cells; n_batches: how many mini-batches there
    are, by size, and overlapping: the sizes of those that share rows. columns: what the rows
    hold in the columns that rules name. Where rows belong to units, p-values compare these. waived:
    the rules that are waived on the `day` of the check; `p_value` is nan for them, so that they are
    in no finding, and `shown_p_value` has what it would be.

    `checked` has the rows and the pairs, which `table`, `batches`, `pair_rule`, `pair_row` and
    `pair_excess` are short for. Rows that were scanned are not kept: `has_rows` is then False, and
    whatever needs them raises an error.
    """

    rules: RuleSet
    source: str
    n_rows: int
    label: str | None
    prediction: str | None
    level: float
    n_batches: Mapping[Over, int]
    overlapping: frozenset[Over]
    applicable: Int64s
    broken: Int64s
    expected: Floats
    p_value: Floats
    significant: Bools
    row_effect: Floats
    batch_values: Mapping[int, Floats]
    evidence: Mapping[int, list[float]] = field(default_factory=dict)
    weighted_applicable: Floats | None = None
    weighted_broken: Floats | None = None
    notes: tuple[str, ...] = field(default=())
    columns: Mapping[str, ColumnNow] = field(default_factory=dict)
    checked: CheckedRows | None = None
    unit: tuple[str, ...] = ()  # the columns that say which rows belong together
    n_units: int = 0  # that were compared, where rows belong to units
    unit_evidence: Mapping[int, list[float]] = field(default_factory=dict)  # what these say
    day: str = ""
    waived: Mapping[int, Waived] = field(default_factory=dict)

    soft_applicable = property(lambda self: self.weighted_applicable)  # as it was once called
    soft_broken = property(lambda self: self.weighted_broken)

    def __post_init__(self) -> None:
        for value in (*vars(self).values(), *self.batch_values.values()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.rules)

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        """How many times a rule was broken, by a row or by a mini-batch."""
        return int(self.broken.sum())

    @property
    def n_significant(self) -> int:
        """How many rules are broken beyond chance."""
        return int(self.significant.sum())

    @property
    def n_broken(self) -> int:
        """How many rules are broken at all."""
        return int(np.count_nonzero(self.broken))

    @property
    def idle(self) -> Bools:
        """The rules that applied to no sample, and that all rows together say nothing of."""
        tested = np.zeros(len(self), np.bool_)
        grouped = list(self.batch_values)
        tested[grouped] = ~np.isnan(self.shown_p_value[grouped])
        return np.asarray((self.applicable == 0) & ~tested)

    @property
    def is_waived(self) -> Bools:
        """The rules that are waived: they count, and fail nothing."""
        waived = np.zeros(len(self), np.bool_)
        waived[list(self.waived)] = True
        return waived

    @property
    def shown_p_value(self) -> Floats:
        """The p-value of each rule, of waived ones too."""
        p = self.p_value.copy()
        for place, one in self.waived.items():
            p[place] = one.p_value
        return p

    def per_sample(self) -> float:
        """Rules broken by a sample, on average: a row, or a mini-batch for mini-batch rules."""
        grouped = np.zeros(len(self), np.bool_)
        grouped[list(self.batch_values)] = True
        rate = self.broken[~grouped].sum() / max(self.n_rows, 1)
        for index, values in self.batch_values.items():
            rate += self.broken[index] / max(values.size, 1)
        return float(rate)

    def share(self) -> Floats:
        """The share of its samples that break each rule; nan where it applied to none."""
        return _shares(self.broken, self.applicable)

    @cached_property
    def classes(self) -> tuple[str | None, ...]:
        """The value of the label that each rule speaks of, in its head or its condition."""
        if self.label is None:
            return (None,) * len(self)
        about = ((form.head,) if form.head else form.given for form in self.rules.forms())
        return tuple(class_of(nodes, self.label) for nodes in about)

    def per_class(self) -> pa.Table:
        """A row for each value of the label that rules speak of: rules, samples and violations.

        Rules that speak of no class come last, with class null.
        """
        names = sorted({name for name in self.classes if name is not None})
        which = {name: place for place, name in enumerate(names)}
        group = np.array([which.get(name or "", len(names)) for name in self.classes], np.int64)
        n_groups = len(names) + bool((group == len(names)).any())

        def total(values: Array) -> Int64s:
            return np.bincount(group, values, n_groups).astype(np.int64)

        applicable, broken = total(self.applicable), total(self.broken)
        return pa.table(
            {
                "class": from_values([*names, None][:n_groups], pa.string()),
                "n_rules": from_numpy(total(np.ones(len(self)))),
                "applicable": from_numpy(applicable),
                "violations": from_numpy(broken),
                "share": _nullable(_shares(broken, applicable)),
                "significant": from_numpy(total(self.significant)),
            }
        )

    def effect(self) -> Floats:
        """How far outside the broken samples of each rule lie, on average, in widths; or nan."""
        effect = self.row_effect.copy()
        for index, values in self.batch_values.items():
            (lower,), (upper,) = interval_ends(self.rules.form(index))
            if np.isfinite(upper - lower) and lower < upper:
                outside = values[(values < lower) | (values > upper)]
                if outside.size:
                    effect[index] = excess_of(outside, lower, upper).mean()
        return effect

    def to_arrow(self) -> pa.Table:
        """A row for each rule: its sentence, counts, p-value and effect."""
        columns: dict[str, Any] = {
            "text": from_values(self.rules.texts(), pa.string()),
            "id": from_values(self.rules.ids(), pa.string()),
            "applicable": from_numpy(self.applicable),
            "violations": from_numpy(self.broken),
            "expected": _nullable(self.expected),
            "p_value": _nullable(self.shown_p_value),
            "significant": from_numpy(self.significant),
            "effect": _nullable(self.effect()),
        }
        if self.waived:
            ends = {place: one.decision.until for place, one in self.waived.items()}
            until = [ends.get(place) for place in range(len(self))]
            columns["waived_until"] = from_values(until, pa.string())
        weighted = {"applicable": self.weighted_applicable, "violations": self.weighted_broken}
        for name, values in weighted.items():
            if values is not None:  # and as it was once called
                columns[f"weighted_{name}"] = columns[f"soft_{name}"] = _nullable(values)
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """A row for each rule, as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A row for each rule, as a polars DataFrame."""
        import narwhals as nw

        return nw.from_arrow(self.to_arrow(), backend="polars").to_native()

    def findings(self) -> "tuple[Finding, ...]":
        """What has changed, in a few sentences with the rules as evidence; none is clean."""
        return self._findings

    @cached_property
    def _findings(self) -> "tuple[Finding, ...]":
        from sqrl._check.findings.findings import find

        return find(self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, with the fields that others rely on."""
        result = {
            "n_rules": len(self),
            "n_samples": self.n_rows,
            **({"unit": list(self.unit), "n_units": self.n_units} if self.unit else {}),
            "n_batches": {str(size): count for size, count in self.n_batches.items()},
            "prediction": self.prediction,
            "level": self.level,
            "violations": self.total,
            "violations_per_sample": self.per_sample(),
            "broken": self.n_broken,
            "significant": self.n_significant,
            "findings": [finding.to_dict() for finding in self.findings()],
            "notes": list(self.notes),
            "classes": self.per_class().to_pylist(),
            "rules": self.to_arrow().to_pylist(),
        }
        if self.weighted_broken is not None:
            result["advice"] = ADVICE
        return result

    def metrics(self, *, rules: bool = True) -> dict[str, int | float]:
        """The result as one flat dict of numbers under names that stay, for whatever keeps them.

        With `rules` also the share broken and the p-value of each rule, by its id. What is not
        known has no entry.
        """
        from sqrl._check.metrics import metrics_of

        return metrics_of(self, rules=rules)

    def summary(self) -> str:
        """The result in one sentence."""
        rules = "rule" if len(self) == 1 else "rules"
        times = "violation" if self.total == 1 else "violations"
        return (
            f"{self.total:,} {times} of {len(self):,} {rules}, "
            f"{self.per_sample():.3g} a sample; {self.n_significant:,} broken beyond chance"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.summary()}"

    def worst(self, n: int | None = 20) -> Int64s:
        """The rules to look at first: significant ones by p-value, then by share broken."""
        share = np.nan_to_num(self.share())
        p = np.where(np.isnan(self.p_value), 2.0, self.p_value)
        return np.asarray(np.lexsort((-share, p, ~self.significant))[:n], np.int64)

    def _repr_html_(self) -> str:
        rows = [
            (
                f"<code>{escape(self.rules[index].text)}</code>",
                f"{self.broken[index]:,}",
                f"{self.applicable[index]:,}",
                _number(self.expected[index]),
                _number(self.p_value[index]),
                "yes" if self.significant[index] else "",
            )
            for index in self.worst().tolist()
        ]
        head = ("rule", "broken", "of", "expected", "p", "beyond chance")
        found = "".join(f"<li>{escape(finding.text)}</li>" for finding in self.findings())
        findings = f"<ol>{found}</ol>" if found else ""
        return f"{findings}<p>{escape(self.summary())}</p>{html_table(head, rows)}"

    @property
    def has_rows(self) -> bool:
        """Whether the rows are in memory, and it is known which of them break which rules."""
        return self.checked is not None

    def _rows(self) -> CheckedRows:
        if self.checked is None:
            raise DataError(
                "These rows were scanned, never all in memory: it was counted how many of them"
                " break each rule, not kept which.",
                where=self.source,
                fix="check some of the rows, or write which with check(.., violations=FOLDER)",
            )
        return self.checked

    @property
    def table(self) -> Table:
        """The rows, with the prediction in the label's place."""
        return self._rows().table

    @property
    def batches(self) -> Mapping[Over, Int64s]:
        """The rows of each mini-batch, by size; of units -1 where it has no more rows."""
        return self._rows().batches

    @property
    def pair_rule(self) -> Int32s:
        """The rule of each broken pair."""
        return self._rows().pair_rule

    @property
    def pair_row(self) -> Int32s:
        """The row of each broken pair."""
        return self._rows().pair_row

    @property
    def pair_excess(self) -> Float32s:
        """How far outside each broken pair is, in widths of the interval."""
        return self._rows().pair_excess

    def row_counts(self) -> Int64s:
        """How many rules each row breaks, of those about single rows."""
        return np.bincount(self.pair_row, minlength=self.n_rows).astype(np.int64)

    def row_degree(self) -> Floats:
        """How badly each row breaks its worst rule, from 0 (none) to 1: d / (1 + d) in widths.

        A rule without a width (one-sided, or one that implies a class) is broken fully or not.
        """
        degree = np.zeros(self.n_rows)
        far = np.minimum(self.pair_excess.astype(np.float64), FARTHEST)
        np.maximum.at(degree, self.pair_row, far / (1.0 + far))
        return degree

    def row_scores(self) -> Floats:
        """How badly each row breaks its worst rule: 0 where it breaks none, without an upper end.

        Of one rule: minus the log of the share of train rows that break it at least as badly, and
        the log of one and its excess in widths.
        """
        from sqrl._check.found_rows import row_scores

        return row_scores(self)

    def rows(self, *, level: float = 0.05) -> "FoundRows":
        """The rows that break rules, the worst first, each with a p-value and the reasons.

        Among rows called significant the expected share of false alarms is at most `level`.
        """
        from sqrl._check.found_rows import find_rows

        return find_rows(self, level)

    def rows_of(self, rule: int) -> tuple[Int32s, Float32s]:
        """The rows that break a rule, and by how many widths."""
        first, last = np.searchsorted(self.pair_rule, [rule, rule + 1])
        return self.pair_row[first:last], self.pair_excess[first:last]

    def rules_of(self, row: int) -> Int32s:
        """The rules that a row breaks."""
        return np.asarray(self.pair_rule[self.pair_row == row])

    def outcomes(self, rule: int) -> NDArray[np.str_]:
        """What became of a rule on each row, or mini-batch: `held`, `broken` or `n/a`."""
        if rule in self.batch_values:
            values = self.batch_values[rule]
            (lower,), (upper,) = interval_ends(self.rules.form(rule))
            applies = ~np.isnan(values)
            broken = (values < lower) | (values > upper)
        else:
            rows = Rows(self.table, self.rules.statistics())
            applies = applicable_rows(self.rules.form(rule), rows)
            broken = np.zeros(self.n_rows, np.bool_)
            broken[self.rows_of(rule)[0]] = True
        return np.where(broken, "broken", np.where(applies, "held", "n/a"))

    def sentences(self, row: int) -> list[str]:
        """Why a row breaks each of its rules, the worst first."""
        from sqrl._check.sentences import row_sentences

        return row_sentences(self, row)

    def slices(self, *, columns: Sequence[str] | None = None, most: int = 20) -> pa.Table:
        """Which conditions concentrate violations: values of columns, quarters of numbers."""
        from sqrl._check.slices import slices

        return slices(self, columns=columns, most=most)

    def plot(self, rule: int | None = None, *, ax: Any = None) -> Any:
        """Matplotlib axes: a rule's values and bounds, or all rules against what is expected."""
        from sqrl.report._plot import plot_rule, plot_summary

        return plot_summary(self, ax) if rule is None else plot_rule(self, rule, ax)


def _shares(broken: Int64s, applicable: Int64s) -> Floats:
    known = applicable > 0
    nans = np.full(known.size, np.nan)
    return np.asarray(np.divide(broken, applicable, out=nans, where=known))


def _nullable(values: Floats) -> pa.Array:
    return from_numpy(values, np.isnan(values))


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"


Tally = Violations  # as results of scans were once called
