"""The rules that each row breaks, written beside the data: Parquet files, a row for every row."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.row_outcomes import Outcomes
from sqrl._data import write_file
from sqrl._data.write_file import replacing

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowsFolder:
    """A folder with a file for each chunk: the rows' numbers and the rules they break, from 1.

    A chunk that is read once more, as when a machine was lost, writes the same file again.
    `places` are the rules' numbers from 0 among all.
    """

    folder: Path
    places: Ints

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
        with replacing(self.folder / f"rows-{first:015d}.parquet") as temporary:
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
