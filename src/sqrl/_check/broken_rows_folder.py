"""The rules that each row breaks, written beside the data: Parquet files, a row for every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqrl._check.row_outcomes import judge_rows
from sqrl._data import write_folder
from sqrl._data.write_file import replacing
from sqrl._language.forms import Form
from sqrl._rows.questions import Of
from sqrl._rows.rows import Rows
from sqrl._scan.job import State

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Writes a file for each chunk: the rows' numbers and the rules they break, both from 1.

    A chunk that is read once more, as when a machine was lost, writes the same file again.
    """

    folder: Path
    forms: Sequence[Form]
    places: Ints
    of: Of = "train"

    def start(self) -> State:
        """Nothing written."""
        return {"files": np.zeros(1, np.int64)}

    def add(self, rows: Rows, first: int, tally: State) -> State:
        """The tally with a file for these rows."""
        if not rows.n:  # its file would have the name of that of the rows after it
            return tally
        import pyarrow.parquet as pq

        found = judge_rows(self.forms, rows)
        order = np.argsort(found.row, kind="stable")  # by row, then by rule
        broken = np.bincount(found.row, minlength=rows.n)
        offsets = np.concatenate([[0], np.cumsum(broken)]).astype(np.int32)
        rule = (self.places[found.rule[order]] + 1).astype(np.int32)
        table = pa.table(
            {
                "row": np.arange(first + 1, first + rows.n + 1),
                "violations": pa.ListArray.from_arrays(pa.array(offsets), pa.array(rule)),
            }
        )
        with replacing(self.folder / f"rows-{first:015d}.parquet") as temporary:
            pq.write_table(table, temporary, compression="zstd")
        tally["files"] += 1
        return tally

    def merge(self, one: State, other: State) -> State:
        """The tally of both."""
        return {"files": one["files"] + other["files"]}


def check_folder(folder: Path) -> None:
    """Raise before any work where the folder could not be made, or is not empty."""
    write_folder.check_folder(
        folder,
        is_ours=lambda entry: False,  # noqa: ARG005
        others="other files",
        fix="name another folder, or remove it first",
    )
