"""A check as one flat dict of numbers, for whatever keeps numbers over time."""

from typing import get_args

import numpy as np

from sqrl._check.findings.findings import FindingKind
from sqrl._check.violations import Violations

Metrics = dict[str, int | float]


def metrics_of(found: Violations, *, rules: bool) -> Metrics:
    """The numbers of a check by name; what is not known has no entry. See `Violations.metrics`."""
    findings = found.findings()
    numbers: Metrics = {
        "n_rows": found.n_rows,
        "n_rules": len(found),
        "n_rules_unchecked": int(found.idle.sum()),
        "n_rules_broken": found.n_broken,
        "n_significant": found.n_significant,
        "n_findings": len(findings),
        "violations": found.total,
        "violations_per_sample": found.per_sample(),
    }
    if found.unit:
        numbers["n_units"] = found.n_units
    if applicable := int(found.applicable.sum()):
        numbers["share_broken"] = found.total / applicable
    if found.has_rows:
        numbers["n_rows_broken"] = int(np.unique(found.pair_row).size)
    tested = found.p_value[~np.isnan(found.p_value)]
    if tested.size:
        numbers["least_p_value"] = float(tested.min())
    for kind in get_args(FindingKind):
        numbers[f"findings.{kind}"] = sum(finding.kind == kind for finding in findings)
    return numbers | _of_rules(found) if rules else numbers


def _of_rules(found: Violations) -> Metrics:
    """The share broken and the p-value of each rule, of rules with the same id the worse."""
    numbers: Metrics = {}
    by_rule = zip(found.rules.ids(), found.share().tolist(), found.p_value.tolist(), strict=True)
    for rule, share, p_value in by_rule:
        if not np.isnan(share):
            name = f"rule.{rule}.share"
            numbers[name] = max(share, numbers.get(name, 0.0))
        if not np.isnan(p_value):
            name = f"rule.{rule}.p_value"
            numbers[name] = min(p_value, numbers.get(name, 1.0))
    return numbers
