"""Tally: what check counts, as columns over rules; all that can be said without the rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.probabilities import ADVICE
from sqrl._check.row_outcomes import excess_of
from sqrl._data.arrow_arrays import from_numpy, from_values
from sqrl._rules.label import class_of
from sqrl._rules.ruleset import RuleSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tally:
    """For each rule how often it applied, was broken, and would be by chance.

    Shapes: applicable, broken, expected, p_value, significant (n_rules,): of rows for rules about
    single rows, of mini-batches for the others; expected and p_value are nan where they are not
    known. row_effect: the mean excess of the rows that break a rule, in widths of the interval, nan
    where none does or it has no width. soft_applicable and soft_broken: the counts under the
    predicted probabilities, where these are given, nan where not known. batch_values: the statistic
    of each mini-batch for each mini-batch rule; n_batches: how many there are, by size.
    """

    rules: RuleSet
    source: str
    n_rows: int
    label: str | None
    prediction: str | None
    level: float
    n_batches: Mapping[int, int]
    applicable: Ints
    broken: Ints
    expected: Floats
    p_value: Floats
    significant: NDArray[np.bool_]
    row_effect: Floats
    batch_values: Mapping[int, Floats]
    soft_applicable: Floats | None = None
    soft_broken: Floats | None = None
    notes: tuple[str, ...] = field(default=())

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
        share = np.full(len(self), np.nan)
        np.divide(self.broken, self.applicable, out=share, where=self.applicable > 0)
        return share

    @cached_property
    def classes(self) -> tuple[str | None, ...]:
        """The value of the label that each rule speaks of, in its head or its condition."""
        if self.label is None:
            return (None,) * len(self)
        forms = map(self.rules.form, range(len(self)))
        return tuple(
            class_of((form.head,) if form.head else form.given, self.label) for form in forms
        )

    def per_class(self) -> pa.Table:
        """A row for each value of the label that rules speak of: rules, samples and violations.

        Rules that speak of no class come last, with class null.
        """
        names = sorted({name for name in self.classes if name is not None})
        which = {name: place for place, name in enumerate(names)}
        group = np.array([which.get(name or "", len(names)) for name in self.classes], np.int64)
        n_groups = len(names) + bool((group == len(names)).any())

        def total(values: NDArray[Any]) -> Ints:
            return np.bincount(group, values, n_groups).astype(np.int64)

        applicable, broken = total(self.applicable), total(self.broken)
        share = np.full(n_groups, np.nan)
        np.divide(broken, applicable, out=share, where=applicable > 0)
        return pa.table(
            {
                "class": from_values([*names, None][:n_groups], pa.string()),
                "n_rules": from_numpy(total(np.ones(len(self)))),
                "applicable": from_numpy(applicable),
                "violations": from_numpy(broken),
                "share": _nullable(share),
                "significant": from_numpy(total(self.significant)),
            }
        )

    def effect(self) -> Floats:
        """How far outside the broken samples of each rule lie, on average, in widths; or nan."""
        effect = self.row_effect.copy()
        for index, values in self.batch_values.items():
            rule = self.rules.table.slice(index, 1)
            lower, upper = rule["lower"][0].as_py(), rule["upper"][0].as_py()
            if lower is not None and upper is not None and lower < upper:
                outside = values[(values < lower) | (values > upper)]
                if outside.size:
                    effect[index] = excess_of(outside, lower, upper).mean()
        return effect

    def to_arrow(self) -> pa.Table:
        """A row for each rule: its sentence, counts, chance and effect."""
        columns: dict[str, Any] = {
            "text": from_values(self.rules.texts(), pa.string()),
            "applicable": from_numpy(self.applicable),
            "violations": from_numpy(self.broken),
            "expected": _nullable(self.expected),
            "p_value": _nullable(self.p_value),
            "significant": from_numpy(self.significant),
            "effect": _nullable(self.effect()),
        }
        if self.soft_applicable is not None and self.soft_broken is not None:
            columns["soft_applicable"] = _nullable(self.soft_applicable)
            columns["soft_violations"] = _nullable(self.soft_broken)
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
        result = {
            "n_rules": len(self),
            "n_samples": self.n_rows,
            "n_batches": {str(size): count for size, count in self.n_batches.items()},
            "prediction": self.prediction,
            "level": self.level,
            "violations": self.total,
            "violations_per_sample": self.per_sample(),
            "broken": self.n_broken,
            "significant": self.n_significant,
            "notes": list(self.notes),
            "classes": self.per_class().to_pylist(),
            "rules": self.to_arrow().to_pylist(),
        }
        if self.soft_broken is not None:
            result["advice"] = ADVICE
        return result

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

    def worst(self, n: int | None = 20) -> Ints:
        """The rules to look at first: significant ones by p-value, then by share broken."""
        share = np.nan_to_num(self.share())
        p = np.where(np.isnan(self.p_value), 2.0, self.p_value)
        return np.asarray(np.lexsort((-share, p, ~self.significant))[:n], np.int64)

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
    return from_numpy(values, np.isnan(values))


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"
