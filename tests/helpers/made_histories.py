"""Records and histories without data behind them."""

import numpy as np

from sqrl._history.record import CheckRecord


def made_record(at="2026-01-01", broken=(20, 25), of=1000, **other):
    """A window of as many rules as there are counts of broken rows."""
    n = len(broken)
    made = {
        "at": at,
        "source": f"{at}.csv",
        "rules": "0123456789abcdef",
        "n_rows": of,
        "ids": tuple(f"{place:08x}" for place in range(n)),
        "texts": tuple(f"{place} <= x{place} <= 9" for place in range(n)),
        "applicable": np.full(n, of, np.int64),
        "broken": np.array(broken, np.int64),
        "expected": np.full(n, 0.02 * of),
        "p_value": np.full(n, 0.5),
        "evidence": tuple((float(of), float(count)) for count in broken),
        "reference": ((5000.0, 100.0),) * n,
        "layout": ("outcomes",) * n,
        "sides": ("up",) * n,
        "shape": (None,) * n,
        "statistic": (None,) * n,
        "findings": (),
        "finding_rules": (),
    }
    return CheckRecord(**{**made, **other})


def as_plain(record):
    """What a record says, as values that compare; nan is equal to nan."""
    return {name: repr(_plain(getattr(record, name))) for name in CheckRecord.__slots__}


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value
