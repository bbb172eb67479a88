"""Violations: what check gives, as columns over rules, rows and mini-batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._data import Table
from sqrl._rules import RuleSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Violations:
    """For each rule how often it applied, was broken, and would be by chance; and where.

    Shapes: applicable, broken, expected, p_value, significant, soft_broken (n_rules,): rows for
    rules about single rows, mini-batches for the others; nan expected and p_value where they are
    not known, soft_broken -1 likewise. pair_rule, pair_row, pair_excess: each broken (rule, row)
    pair, the excess in widths of the interval. batch_values: the statistic of each mini-batch for
    each mini-batch rule.
    """

    rules: RuleSet
    table: Table
    prediction: str | None
    level: float
    batches: Mapping[int, Ints]
    applicable: Ints
    broken: Ints
    expected: Floats
    p_value: Floats
    significant: NDArray[np.bool_]
    soft_broken: Ints | None = None
    pair_rule: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    pair_row: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    pair_excess: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    batch_values: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def empty(
        cls,
        rules: RuleSet,
        table: Table,
        *,
        prediction: str | None,
        level: float,
        batches: Mapping[int, Ints],
    ) -> "Violations":
        """Violations of which nothing is known yet."""
        n = len(rules)
        return cls(
            rules=rules,
            table=table,
            prediction=prediction,
            level=level,
            batches=batches,
            applicable=np.zeros(n, np.int64),
            broken=np.zeros(n, np.int64),
            expected=np.full(n, np.nan),
            p_value=np.full(n, np.nan),
            significant=np.zeros(n, np.bool_),
        )

    def set_pairs(self, rule: Ints, row: Ints, excess: NDArray[np.float32]) -> None:
        """Keep the broken pairs, ordered by rule and then by row."""
        order = np.lexsort((row, rule))
        self.pair_rule, self.pair_row = rule[order], row[order]
        self.pair_excess = excess[order]

    def __len__(self) -> int:
        return len(self.rules)

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def n_rows(self) -> int:
        """How many rows were checked."""
        return self.table.n_rows

    @property
    def total(self) -> int:
        """How many times a rule was broken, by a row or by a mini-batch."""
        return int(self.broken.sum())

    @property
    def n_significant(self) -> int:
        """How many rules are broken beyond chance."""
        return int(self.significant.sum())

    def per_sample(self) -> float:
        """Rules broken by a sample, on average: a row, or a mini-batch for mini-batch rules."""
        grouped = np.zeros(len(self), np.bool_)
        grouped[list(self.batch_values)] = True
        rate = self.broken[~grouped].sum() / max(self.n_rows, 1)
        for index, values in self.batch_values.items():
            rate += self.broken[index] / max(values.size, 1)
        return float(rate)

    def row_counts(self) -> Ints:
        """How many rules each row breaks, of those about single rows."""
        return np.bincount(self.pair_row, minlength=self.n_rows).astype(np.int64)

    def row_degree(self) -> Floats:
        """How badly each row breaks its worst rule, from 0 (none) to 1: d / (1 + d) in widths."""
        degree = np.zeros(self.n_rows)
        far = np.minimum(self.pair_excess.astype(np.float64), 1e9)
        np.maximum.at(degree, self.pair_row, far / (1.0 + far))
        return degree

    def rows_of(self, rule: int) -> tuple[Ints, NDArray[np.float32]]:
        """The rows that break a rule, and by how many widths."""
        first, last = np.searchsorted(self.pair_rule, [rule, rule + 1])
        return self.pair_row[first:last], self.pair_excess[first:last]

    def rules_of(self, row: int) -> Ints:
        """The rules that a row breaks."""
        return self.pair_rule[self.pair_row == row]

    def effect(self) -> Floats:
        """How far outside the broken samples of each rule lie on average, in widths; nan if none."""
        total = np.bincount(self.pair_rule, self.pair_excess, len(self))
        count = np.bincount(self.pair_rule, minlength=len(self))
        with np.errstate(invalid="ignore"):
            effect = total / count
        for index, values in self.batch_values.items():
            rule = self.rules[index]
            low = -np.inf if rule.lower is None else rule.lower
            high = np.inf if rule.upper is None else rule.upper
            off = np.fmax(low - values, values - high)
            off = (
                off[off > 0] / (high - low)
                if np.isfinite(high - low) and high > low
                else off[off > 0]
            )
            effect[index] = off.mean() if off.size else np.nan
        return np.asarray(effect)

    def to_arrow(self) -> pa.Table:
        """A row for each rule: its sentence, counts, chance and effect."""
        columns: dict[str, Any] = {
            "text": self.rules.texts(),
            "applicable": self.applicable,
            "violations": self.broken,
            "expected": _nullable(self.expected),
            "p_value": _nullable(self.p_value),
            "significant": self.significant,
            "effect": _nullable(self.effect()),
        }
        if self.soft_broken is not None:
            columns["expected_violations"] = pa.array(self.soft_broken, mask=self.soft_broken < 0)
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """A row for each rule, as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A row for each rule, as a polars DataFrame."""
        import narwhals as nw

        return nw.from_arrow(self.to_arrow(), backend="polars").to_native()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, with the fields that others rely on."""
        return {
            "n_rules": len(self),
            "n_samples": self.n_rows,
            "n_batches": {str(size): len(rows) for size, rows in self.batches.items()},
            "prediction": self.prediction,
            "level": self.level,
            "violations": self.total,
            "violations_per_sample": self.per_sample(),
            "significant": self.n_significant,
            "rules": self.to_arrow().to_pylist(),
        }

    def summary(self) -> str:
        """The result in one sentence."""
        return (
            f"{self.total:,} violations of {len(self):,} rules, "
            f"{self.per_sample():.3g} a sample; {self.n_significant:,} rules broken beyond chance"
        )

    def __repr__(self) -> str:
        return f"Violations: {self.summary()}"

    def worst(self, n: int = 20) -> Ints:
        """The rules to look at first: significant ones by p-value, then by share broken."""
        share = self.broken / np.maximum(self.applicable, 1)
        p = np.where(np.isnan(self.p_value), 2.0, self.p_value)
        return np.lexsort((-share, p, ~self.significant))[:n]

    def _repr_html_(self) -> str:
        head = "<tr><th style='text-align:left'>rule</th><th>broken</th><th>of</th>"
        head += "<th>by chance</th><th>p</th><th>beyond chance</th></tr>"
        rows = []
        for index in self.worst().tolist():
            text = escape(self.rules[index].text)
            cells = [
                f"{self.broken[index]:,}",
                f"{self.applicable[index]:,}",
                _number(self.expected[index]),
                _number(self.p_value[index]),
                "yes" if self.significant[index] else "",
            ]
            rows.append(
                f"<tr><td style='text-align:left'><code>{text}</code></td>"
                + "".join(f"<td>{cell}</td>" for cell in cells)
                + "</tr>"
            )
        return f"<p>{escape(self.summary())}</p><table>{head}{''.join(rows)}</table>"


def _nullable(values: Floats) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"
