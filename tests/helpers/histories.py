"""Records of checks made up from counts and moments, without rows."""

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np

from sqrl._history.record import CheckRecord, Numbers


def day(number: int) -> str:
    """The ISO date of a day, by number from 0."""
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()


def record(
    at: str,
    evidence: Sequence[Numbers | None],
    reference: Sequence[Numbers | None],
    *,
    layout: Sequence[str] | None = None,
    statistic: Sequence[str | None] | None = None,
    sides: Sequence[str] | None = None,
    **others: object,
) -> CheckRecord:
    """A record of rules about rows, or of those that are said."""
    n = len(evidence)
    layouts = tuple(layout or ["outcomes"] * n)
    single = [kind == "outcomes" and new is not None for kind, new in zip(layouts, evidence)]
    counts = [new[:2] if one and new else (0.0, 0.0) for one, new in zip(single, evidence)]
    applicable, broken = np.array(counts, np.int64).reshape(n, 2).T.copy()
    fields = {
        "at": at,
        "source": f"{at}.csv",
        "rules": "0123456789abcdef",
        "n_rows": 1000,
        "ids": tuple(f"r{place}" for place in range(n)),
        "texts": tuple(f"x{place} <= 9" for place in range(n)),
        "applicable": applicable,
        "broken": broken,
        "expected": np.full(n, np.nan),
        "p_value": np.full(n, np.nan),
        "evidence": tuple(evidence),
        "reference": tuple(reference),
        "layout": layouts,
        "sides": tuple(sides or ["up"] * n),
        "shape": (None,) * n,
        "statistic": tuple(statistic or [None] * n),
        "findings": (),
        "finding_rules": (),
    }
    return CheckRecord(**(fields | others))  # type: ignore[arg-type]
