"""Broken (rule, row) pairs as a file that other programs read."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from sqrl._check.violations import Floats, Violations
from sqrl._data.write_file import replacing
from sqrl.errors import OutputError

SUFFIXES = (".csv", ".parquet")


def check_pairs_suffix(path: Path) -> None:
    """Raise where pairs could not be written under this name."""
    if path.suffix not in SUFFIXES:
        raise OutputError(
            f"Violations are written as .csv or .parquet, not {path.suffix or 'without a suffix'}.",
            where=str(path),
            fix=f"name it {path.stem or 'violations'}.csv",
        )


def write_pairs(found: Violations, path: Path) -> None:
    """Write a line for each row that breaks a rule: both by number from 1, how far, which rule.

    `excess` is in widths of the interval, empty where that has none.
    """
    check_pairs_suffix(path)
    excess = found.pair_excess.astype(np.float64)
    texts = pa.array(found.rules.texts(), pa.string())
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            import pyarrow.csv as pc

            texts = pa.array([defused(text) for text in texts.to_pylist()], pa.string())
            pc.write_csv(_table(found, excess, texts), temporary)
        else:
            import pyarrow.parquet as pq

            pq.write_table(_table(found, excess, texts), temporary, compression="zstd")


def _table(found: Violations, excess: Floats, texts: pa.Array) -> pa.Table:
    return pa.table(
        {
            "rule": found.pair_rule.astype(np.int64) + 1,
            "row": found.pair_row.astype(np.int64) + 1,
            "excess": pa.array(excess, mask=~np.isfinite(excess)),
            "text": pa.DictionaryArray.from_arrays(pa.array(found.pair_rule), texts).cast(
                pa.string()
            ),
        }
    )


def defused(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula.

    >>> defused("-0.02 <= x"), defused("x <= 3")
    ("'-0.02 <= x", 'x <= 3')
    """
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else text
