"""Rows that break rules, written for other programs: a file of pairs, or a folder."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sqrl._check.row_outcomes import Outcomes
from sqrl._check.violations import Violations
from sqrl._data import write_file
from sqrl._data.formats import write_table
from sqrl._data.write_file import replacing
from sqrl._kernels.arrays import Int64s


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


@dataclass(frozen=True, slots=True)
class RowsFolder:
    """A folder with a file for each chunk: the rows' numbers and the rules they break, from 1.

    A chunk that is read once more, as when a machine was lost, writes the same file again.
    `places` are the rules' numbers from 0 among all.
    """

    folder: Path
    places: Int64s

    def write(self, found: Outcomes, first: int, n_rows: int) -> int:
        """How many files were written: one for these rows, of which `first` is the first."""
        if not n_rows:  # its file would have the name of that of the rows after it
            return 0
        import pyarrow.parquet as pq

        order = np.argsort(found.row, kind="stable")  # by row, then by rule
        broken = np.bincount(found.row, minlength=n_rows)
        offsets = np.concatenate([[0], np.cumsum(broken)]).astype(np.int32)
        rule = (self.places[found.rule[order]] + 1).astype(np.int32)
        table = pa.table(
            {
                "row": np.arange(first + 1, first + n_rows + 1),
                "violations": pa.ListArray.from_arrays(pa.array(offsets), pa.array(rule)),
            }
        )
        with replacing(self.folder / f"rows-{first:015d}.parquet", tidy=False) as temporary:
            pq.write_table(table, temporary, compression="zstd")
        return 1


def check_folder(folder: Path) -> None:
    """Raise before any work where the folder could not be made, or is not empty."""
    write_file.check_folder(
        folder,
        is_ours=lambda entry: False,  # noqa: ARG005
        others="other files",
        fix="name another folder, or remove it first",
    )
