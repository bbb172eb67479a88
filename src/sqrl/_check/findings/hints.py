"""Hints: what changed values might be. Cheap guesses for a reader, never part of a decision."""

from collections.abc import Sequence

import numpy as np

from sqrl._kernels.arrays import Floats

FREQUENT = 0.5  # share of the odd values from which one of them is named
FEWEST = 3
FACTORS = (
    (10.0, "10"),
    (100.0, "100"),
    (1000.0, "1,000"),
    (1e6, "1,000,000"),
    (0.453592, "0.4536 (pounds to kg)"),
    (2.54, "2.54 (inches to cm)"),
    (0.3048, "0.3048 (feet to m)"),
    (1.609344, "1.609 (miles to km)"),
)
CLOSE = 0.03  # how near medians must come, as a share; of powers of ten, which are far apart,
NEAR = 0.15


def lookalike(unseen: Sequence[str], known: Sequence[str]) -> tuple[str, str] | None:
    """A value never seen that is a known one but for case and blanks, and the known one.

    >>> lookalike(["Rome", "oslo "], ["Oslo", "Bergen"])
    ('oslo ', 'Oslo')
    """
    folded = {_folded(word): word for word in known}
    pairs = ((word, folded.get(_folded(word))) for word in unseen)
    return next(((word, twin) for word, twin in pairs if twin is not None), None)


def _folded(word: str) -> str:
    return "".join(word.split()).casefold()


def frequent_value(values: Floats) -> tuple[float, int] | None:
    """The value that at least half of these have, and how many; None where there is none.

    >>> frequent_value(np.array([-999.0, 3.5, -999.0, -999.0, np.nan]))
    (-999.0, 3)
    """
    present = values[~np.isnan(values)]
    if present.size < FEWEST:
        return None
    each, counts = np.unique(present, return_counts=True)
    best = int(counts.argmax())
    if counts[best] < max(FEWEST, FREQUENT * present.size):
        return None
    return float(each[best]), int(counts[best])


def scale_factor(before: float, after: float) -> str | None:
    """The factor of units that takes the old median to the new one, in words; None for none.

    >>> scale_factor(39.2, 39_300.0), scale_factor(70.0, 31.8), scale_factor(1.0, 1.2)
    ('1,000', '0.4536 (pounds to kg)', None)
    """
    if not (before and after) or not np.isfinite(after / before):
        return None
    if abs(after / before + 1) < CLOSE:
        return "-1"
    for factor, text in FACTORS:
        close = NEAR if factor >= 10 else CLOSE
        if abs(after / before / factor - 1) < close:
            return text
        if abs(after / before * factor - 1) < close:
            return f"1 / {text}"
    return None
