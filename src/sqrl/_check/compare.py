"""compare(): what changed between two models, or two dates, on the same rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sqrl._check.hypergeometric import coin_flips
from sqrl._check.null_tests import benjamini_hochberg, fisher
from sqrl._check.row_outcomes import interval_ends
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Bools, Floats, Int64s
from sqrl._rows.sequences import is_sequence
from sqrl.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two results on the same rules, and which rules are broken more or less often for sure.

    Shapes: change, p_value and significant (n_rules,). The change is that of the share of broken
    samples, nan where a rule applied to none. `is_paired` where both results are known to be of the
    same rows; of scanned rows that is not known.
    """

    before: Violations
    after: Violations
    change: Floats
    p_value: Floats
    significant: Bools
    is_paired: bool

    def __len__(self) -> int:
        return len(self.change)

    def __repr__(self) -> str:
        return f"Comparison: {self.summary()}"

    @property
    def n_worse(self) -> int:
        """How many rules are broken more often, for sure."""
        return int(np.count_nonzero(self.significant & (self.change > 0)))

    @property
    def n_better(self) -> int:
        """How many rules are broken less often, for sure."""
        return int(np.count_nonzero(self.significant & (self.change < 0)))

    def order(self) -> Int64s:
        """The rules that changed: the sure ones first, then by how much."""
        size = np.abs(np.nan_to_num(self.change))
        return np.asarray(np.lexsort((-size, ~self.significant)), np.int64)

    def summary(self) -> str:
        """The result in one sentence."""
        how = "the same rows" if self.is_paired else "different rows"
        if not (self.before.has_rows and self.after.has_rows):
            how = "scanned rows, taken as different ones"
        return (
            f"{self.n_worse:,} rules are broken more often and {self.n_better:,} less often, "
            f"beyond chance, on {how}"
        )

    def to_arrow(self) -> pa.Table:
        """A row for each rule: its sentence, the counts before and after, and the change."""
        columns: dict[str, Any] = {"text": pa.array(self.before.rules.texts(), pa.string())}
        for name, result in (("before", self.before), ("after", self.after)):
            columns[f"applicable_{name}"] = result.applicable
            columns[f"violations_{name}"] = result.broken
        columns["change"] = pa.array(self.change, mask=np.isnan(self.change))
        columns["p_value"] = pa.array(self.p_value, mask=np.isnan(self.p_value))
        columns["significant"] = self.significant
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """A row for each rule, as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        totals = {
            name: {
                "n_samples": result.n_rows,
                "violations": result.total,
                "violations_per_sample": result.per_sample(),
                "broken": result.n_broken,
                "significant": result.n_significant,
            }
            for name, result in (("before", self.before), ("after", self.after))
        }
        return {
            "n_rules": len(self),
            "paired": self.is_paired,
            **totals,
            "worse": self.n_worse,
            "better": self.n_better,
            "rules": self.to_arrow().to_pylist(),
        }


def compare(before: Violations, after: Violations) -> Comparison:
    """Which rules are broken more or less often `after` than `before`, and for which that is sure.

    On different rows the two counts are compared by Fisher's exact test. On the same rows, as with
    two models, only samples that break a rule in one result and not in the other say anything:
    the null hypothesis expects as many on either side (McNemar's exact test). Mini-batches that
    share rows have no p-value. Scanned rows are taken as different ones: if they are the same, that
    is cautious.

    >>> from sqrl import RuleSet, check
    >>> rules = RuleSet.from_texts(["0 <= x <= 9"])
    >>> old, new = check(rules, {"x": [1.0] * 20}), check(rules, {"x": [1.0] * 10 + [11.0] * 10})
    >>> compare(old, new).change.tolist()
    [0.5]
    """
    if before.rules is not after.rules and before.rules.texts() != after.rules.texts():
        raise DataError(
            "The two results are of different rules.", fix="check both with the same rules file"
        )
    is_paired = _same_rows(before, after)
    if is_paired:
        only_before, only_after = _discordant(before, after)
        p = coin_flips(only_before, only_after)
    else:
        one, other = (
            (result.applicable.astype(np.float64), result.broken.astype(np.float64))
            for result in (before, after)
        )
        p = fisher(one, other)
    overlapping = before.overlapping | after.overlapping
    p[[i for i in before.batch_values if before.rules.form(i).over in overlapping]] = np.nan
    level = before.level
    change = after.share() - before.share()
    return Comparison(before, after, change, p, benjamini_hochberg(p, level), is_paired)


def _same_rows(before: Violations, after: Violations) -> bool:
    """Whether both results are of the same rows in the same order, but for the predictions."""
    if not (before.has_rows and after.has_rows) or before.n_rows != after.n_rows:
        return False
    if before.table.names != after.table.names:
        return False
    aside = {before.label, before.prediction, after.prediction}
    # What follows from the rows before may follow from predictions.
    names = [n for n in before.table.names if n not in aside and not is_sequence(n)]
    same_batches = before.batches.keys() == after.batches.keys() and all(
        np.array_equal(rows, after.batches[size]) for size, rows in before.batches.items()
    )
    return same_batches and before.table.fingerprint(names) == after.table.fingerprint(names)


def _discordant(before: Violations, after: Violations) -> tuple[Int64s, Int64s]:
    """How many samples break each rule only before, and only after."""
    n_rules = len(before)
    pairs = [
        result.pair_rule.astype(np.int64) * max(result.n_rows, 1) + result.pair_row
        for result in (before, after)
    ]
    counts = []
    for index in (0, 1):
        alone = pairs[index][~np.isin(pairs[index], pairs[1 - index], assume_unique=True)]
        counts.append(np.bincount(alone // max(before.n_rows, 1), minlength=n_rules))
    for index in before.batch_values:
        outside = [_outside(result, index) for result in (before, after)]
        counts[0][index] = np.count_nonzero(outside[0] & ~outside[1])
        counts[1][index] = np.count_nonzero(outside[1] & ~outside[0])
    return counts[0], counts[1]


def _outside(result: Violations, index: int) -> Bools:
    values, ends = result.batch_values[index], interval_ends(result.rules.form(index))
    return np.asarray((values < ends[0]) | (values > ends[1]))
