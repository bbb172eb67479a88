"""Which changes are there only because rows occur more than once.

Copies are not independent of one another: what they have in common looks like a change. Without
them, and with as many rows left as there are different ones, the other groups are tested anew.
"""

from collections.abc import Sequence

import numpy as np

from sqrl._check.findings.changes import before_and_after
from sqrl._check.findings.explain_by_weights import test_again
from sqrl._check.findings.groups import Decision, Group
from sqrl._check.violations import Violations
from sqrl._kernels.arrays import Bools


def copied_rows(found: Violations, group: Group) -> Bools | None:
    """Which rows have the same values as an earlier row; None where rows are not in memory."""
    if not found.has_rows:
        return None
    columns = [found.table[name] for name in group.columns]
    values = np.stack([column.values.astype(np.float64) for column in columns], axis=1)
    values = np.where(np.isnan(values), -np.inf, values) + 0.0  # missing is a value; one zero
    _, first = np.unique(values, axis=0, return_index=True)
    copies = np.ones(found.n_rows, np.bool_)
    copies[first] = False
    return copies


def share_of_repeats(found: Violations, group: Group) -> tuple[float, float]:
    """About the share of rows that repeat an earlier one, before and after; 0 where not known."""
    before, after = before_and_after(found, group.rules[0])
    return (0.0 if np.isnan(before) else before), (0.0 if np.isnan(after) else after)


def explained_by_copies(
    found: Violations, copies: Bools, others: Sequence[Group], decision: Decision
) -> list[Group]:
    """Those of the other groups that are not significant without the copies."""
    if not others or not copies.any():
        return []
    again = test_again(found, others, np.flatnonzero(~copies))
    return [group for group in others if again[group] > decision.limit]
