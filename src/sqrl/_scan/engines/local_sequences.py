"""Columns that follow from the rows before, computed on this machine.

What they follow from is written apart once, divided into portions, and read portion by portion.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from sqrl._data.table import Table
from sqrl._kernels.arrays import Int64s
from sqrl._progress import Track
from sqrl._rows.sequences import RowOrder
from sqrl._scan.engines.local import LocalEngine
from sqrl._scan.facts import Facts, Scanned
from sqrl._scan.job import Chunk, State
from sqrl._scan.portions import Wanted, divide, portion_table
from sqrl._scan.side_columns import SideColumns, WiderPart


def widen_local(
    engine: LocalEngine, data: Scanned, wanted: Wanted, n_portions: int, track: Track | None
) -> LocalEngine:
    """The engine over parts that are read with the wanted columns."""
    side = SideColumns(data.facts.n_rows)
    with TemporaryDirectory(prefix="sqrl-portions-", ignore_cleanup_errors=True) as folder:
        data.run(Divide(wanted.behind, wanted.row_order, n_portions, Path(folder)), "order", track)
        files = sorted(Path(folder).iterdir())
        for portion in range(n_portions):
            table, rows = _read_portion(files, portion, data.facts, wanted.behind)
            for column in wanted.compute(table):
                side.write(column, rows)
            if track:
                track("entities", portion + 1, n_portions)
    parts = [
        WiderPart(part, side, first, wanted.stand_in, (getattr(part, "stamp", part.name), wanted))
        for part, first in zip(engine.parts, data.firsts, strict=True)
    ]
    return LocalEngine(engine.name, parts, engine.threads, (*engine.names, *wanted.names))


@dataclass(frozen=True, slots=True)
class Divide:
    """The job that writes, for each chunk, a file with a batch of rows for each portion."""

    columns: frozenset[str]
    row_order: RowOrder
    n_portions: int
    folder: Path

    def start(self) -> State:
        """Nothing to count."""
        return {}

    def summarise(self, chunk: Chunk, state: State) -> State:
        """The state as it is; the rows of the chunk are written."""
        if not chunk.table.n_rows:  # its file would have the name of that of the rows after it
            return state
        batches = divide(chunk, self.columns, self.row_order, self.n_portions)
        path = str(self.folder / f"{chunk.first:015d}.arrow")
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, batches[0].schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return state

    def merge(self, first: State, second: State) -> State:
        """Nothing of both."""
        return {**first, **second}


def _read_portion(
    files: list[Path], portion: int, facts: Facts, names: Iterable[str]
) -> tuple[Table, Int64s]:
    """The rows of a portion as a table, in the order of the data, and their numbers."""
    batches = []
    for path in files:
        with pa.OSFile(str(path), "rb") as file:
            batches.append(pa.ipc.open_file(file).get_batch(portion))
    return portion_table(batches, facts, names)
