"""Broken (rule, row) pairs as a file that other programs read."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from sqrl._check.violations import Violations
from sqrl._data.formats import write_table


def write_pairs(found: Violations, path: Path) -> None:
    """Write a line for each row that breaks a rule: both by number from 1, how far, which rule.

    `excess` is in widths of the interval, empty where that has none.
    """
    excess = found.pair_excess.astype(np.float64)
    spelt = defused if path.suffix == ".csv" else str
    texts = pa.array([spelt(text) for text in found.rules.texts()], pa.string())
    table = pa.table(
        {
            "rule": found.pair_rule.astype(np.int64) + 1,
            "row": found.pair_row.astype(np.int64) + 1,
            "excess": pa.array(excess, mask=~np.isfinite(excess)),
            "text": pa.DictionaryArray.from_arrays(pa.array(found.pair_rule), texts).cast(
                pa.string()
            ),
        }
    )
    write_table(table, path)


def defused(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula.

    >>> defused("-0.02 <= x"), defused("x <= 3")
    ("'-0.02 <= x", 'x <= 3')
    """
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else text
