"""scan(): data of any size, and the engine that runs passes over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqrl._data.extractors import Extractor
from sqrl._data.given_path import given_path, path_text
from sqrl._data.table import CHUNK_ROWS, to_arrow
from sqrl._scan.engines import ENGINES, engine_of_data, file_engines
from sqrl._scan.job import Engine
from sqrl.errors import DataError, OutputError, nearest

LARGE = 1 << 29  # bytes of a file, above which it is scanned
MEMORY = 1 << 30


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scan:
    """Data that `learn` and `check` go through part by part, never all of it in memory."""

    engine: Engine
    memory: int = MEMORY
    skipped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What messages call the data."""
        return self.engine.name

    def __repr__(self) -> str:
        counts = self.engine.counts()
        parts = "1 part" if len(counts) == 1 else f"{len(counts):,} parts"
        return f"Scan({self.name!r}: {sum(counts):,} rows in {parts})"


def scan(
    data: Any,
    *,
    engine: str = "local",
    memory: int = MEMORY,
    skip_damaged: bool = False,
    resume: str | Path | None = None,
    **read: Any,
) -> Scan:
    """The data, to be gone through part by part by `learn` and `check`.

    `data` is a file, a glob, a folder or a list of files, also of an object store ("s3://..."), a
    Ray dataset, a Spark dataframe, or any table. Files are read by this process ("local"), on all
    cores, or on a cluster ("ray", where RAY_ADDRESS says). `memory` is about how many bytes may be
    used beside the rows at hand. With `skip_damaged`, files that cannot be read are left out;
    `skipped` then names them. `resume` is a folder in which finished passes are remembered: the
    same work on the same files, interrupted, goes on after the last of them. `separator` and
    `encoding` are those of text, as in `read_table`.

    >>> scan({"age": [31, 42]})
    Scan('dict': 2 rows in 1 part)
    """
    if engine not in file_engines():
        raise DataError(f"There is no engine {engine!r}.", fix=nearest(engine, file_engines()))
    if isinstance(data, Scan):
        return data
    found, skipped = _find_engine(data, engine, skip_damaged=skip_damaged, **read)
    if resume is not None:
        from sqrl._scan.resume import Resuming

        found = Resuming(found, given_path(resume, OutputError))
    return Scan(found, memory, skipped)


def _find_engine(
    data: Any, engine: str, *, skip_damaged: bool, **read: Any
) -> tuple[Engine, tuple[str, ...]]:
    """What runs over the data, and the files that were left out."""
    found = engine_of_data(data)
    if found is not None:
        return found, ()
    if not _is_paths(data):
        from sqrl._scan.engines.local import LocalEngine

        table, name = to_arrow(data), type(data).__name__
        parts = (ArrowPart(name, table),)
        return LocalEngine(name, parts, names=tuple(table.column_names)), ()
    from sqrl._scan.files.find import is_many
    from sqrl._scan.files.open import open_files

    entry = ENGINES[engine]
    entry.refuse_missing()
    files = open_files(data, skip_damaged=skip_damaged, **read)
    is_one = isinstance(data, str | Path) and not is_many(data)
    name = path_text(Path(files.name).name if is_one else files.name)
    assert entry.of_files is not None
    return entry.of_files(name, files.parts, files.names), files.skipped


def as_scan(data: Any) -> Scan | None:
    """The data as a scan where it is one, on a cluster, in many files or large; else None."""
    if isinstance(data, Scan):
        return data
    found = engine_of_data(data)
    if found is not None:
        return Scan(found)
    if not _is_paths(data):
        return None
    from sqrl._scan.files.find import is_many, size_of

    return scan(data) if is_many(data) or size_of(data) > LARGE else None


def scan_anyway(data: Any) -> Scan:
    """The data as a scan, however small."""
    return as_scan(data) or scan(data)


def _is_paths(data: Any) -> bool:
    listed = data if isinstance(data, list | tuple) else [data]
    return all(isinstance(item, str | Path) for item in listed)


@dataclass(frozen=True, slots=True, eq=False)
class ArrowPart:
    """An Arrow table as a part."""

    name: str
    table: pa.Table

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def read(self, columns: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows in order, some at a time."""
        names = [n for n in self.table.column_names if columns is None or n in columns]
        yield from self.table.select(names).to_batches(max_chunksize=CHUNK_ROWS)


def refuse_scan(data: Any, what: str) -> None:
    """Raise where data is scanned, or is many files, and `what` is said to need rows in memory.

    A single file may be large: who reads it into memory knows what he does.
    """
    from sqrl._scan.files.find import is_many

    is_files = _is_paths(data) and is_many(data)
    if is_files or isinstance(data, Scan) or engine_of_data(data) is not None:
        where = data.name if isinstance(data, Scan) else str(data)
        raise needs_memory(what, where, "give some of the rows, such as one file")


def needs_memory(what: str, source: str, fix: str) -> DataError:
    """The error for what, such as "A repair needs", cannot be done with rows that are scanned."""
    what = f"{what} all rows in memory, and these are scanned."
    return DataError(what, where=source, fix=fix)


def refuse_extractors(extractors: Sequence[Extractor], source: str) -> None:
    """Raise where extractors are to see rows that are never in memory together."""
    if extractors:
        fix = "write what they extract into columns first"
        raise needs_memory("Extractors need", source, fix)
