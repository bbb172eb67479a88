"""Records and histories without data behind them."""

import os
from datetime import date, timedelta

import numpy as np

from sqrl._commands.backfill import Backfill
from sqrl._history.history import History
from sqrl._history.record import CheckRecord
from sqrl._history.store import Store


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


class DyingBackfill(Backfill):
    """One whose processes are ended, as by a system that is short of memory."""

    def check(self, _):
        os._exit(1)


def as_plain(record):
    """What a record says, as values that compare; nan is equal to nan."""
    return {name: repr(_plain(getattr(record, name))) for name in CheckRecord.__slots__}


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def made_history(path, n_windows=12, changed=8, **other):
    """A history of January, whose first rule is broken three times as often from a day on."""
    rng = np.random.default_rng(0)
    store = Store(path)
    for day in range(n_windows):
        rates = (0.06 if day >= changed else 0.02, 0.025)
        at = (date(2026, 1, 1) + timedelta(day)).isoformat()
        store.put(made_record(at, broken=rng.binomial(1000, rates), **other))
    return History(path)
