"""Files: tables of any number and size, as parts that are read a few rows at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqrl._data.formats import format_of
from sqrl._data.formats.delimited import check_options
from sqrl._data.formats.file_format import SMALL_BLOCK_BYTES, FileFormat, Reading
from sqrl._data.formats.pieces import Source, verify
from sqrl._data.formats.stored_file import File
from sqrl._scan.files.find import PathLike, find_files, is_many, size_of
from sqrl._scan.files.one_schema import one_schema, partition_fields, partition_values
from sqrl._scan.files.parts import FilePart
from sqrl._scan.job import Track
from sqrl.errors import DataError

__all__ = ["Files", "is_many", "open_files", "size_of"]

ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Files:
    """Tables in files: their parts in the order of the rows, and the damaged files left out."""

    name: str
    parts: tuple[FilePart, ...]
    skipped: tuple[str, ...]
    n_bytes: int
    names: tuple[str, ...]


def open_files(
    path: PathLike | Sequence[PathLike],
    *,
    rows_at_once: int = ROWS_AT_ONCE,
    separator: str | None = None,
    encoding: str | None = None,
    skip_damaged: bool = False,
    track: Track | None = None,
    block_bytes: int = SMALL_BLOCK_BYTES,
) -> Files:
    r"""The tables of a path, glob, folder, list or URI as parts, with one schema for all.

    Text is read through once for its types, `block_bytes` at a time. With `skip_damaged` every file
    is read through, and those with a fault are left out. `track` is told how many bytes are done,
    of how many.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("n\n1\n2\n")
    ...     _ = Path(folder, "b.csv").write_text("n\n3.5\n")
    ...     files = open_files(f"{folder}/*.csv")
    ...     rows = [row for part in files.parts for batch in part.read() for row in batch["n"]]
    >>> [part.n_rows for part in files.parts], [row.as_py() for row in rows]
    ([2, 1], [1.0, 2.0, 3.5])
    """
    name = _name(path)
    check_options(separator, encoding, where=name)
    files = find_files(path)
    form = _one_format(files, name)
    reading = Reading(separator, encoding, block_bytes)
    sources, skipped = _survey(files, form, reading, rows_at_once, skip_damaged, track)
    if not any(source.kinds or source.pieces[0].n_rows for source in sources):
        raise _nothing(name, skipped)
    schema = one_schema(sources, form.join, form.settle, may_lack=form.may_lack)
    told = partition_fields(sources, schema.names)
    for field in told:
        schema = schema.append(field)
    parts = tuple(
        FilePart(source, piece, schema, partition_values(source, told), rows_at_once)
        for source in sources
        for piece in source.pieces
    )
    n_bytes = sum(file.n_bytes for file in files)
    return Files(name, parts, tuple(skipped), n_bytes, tuple(schema.names))


def _survey(
    files: list[File],
    form: FileFormat,
    reading: Reading,
    rows_at_once: int,
    skip_damaged: bool,
    track: Track | None,
) -> tuple[list[Source], list[str]]:
    """The files that can be read, and a sentence for each that cannot."""
    sources: list[Source] = []
    skipped: list[str] = []
    total = sum(file.n_bytes for file in files)
    done = 0
    for file in files:
        try:
            source = form.look_at(file, replace(reading, watch=_watch(track, done, file, total)))
            if skip_damaged and not form.is_read_through:
                verify(source, rows_at_once)
            sources.append(source)
        except DataError as error:
            if not skip_damaged:
                raise
            skipped.append(f"{error.where or file.shown} was left out: {error.what}")
        done += file.n_bytes
        if track is not None:
            track(done, total)
    return sources, skipped


def _watch(track: Track | None, done: int, file: File, total: int) -> Callable[[int], None] | None:
    """Tells `track` of what is read of one file, in bytes of all."""
    if track is None:
        return None
    seen = done

    def watch(count: int) -> None:
        nonlocal seen
        seen = min(seen + count, done + file.n_bytes)  # it may be read twice
        track(seen, total)

    return watch


def _name(path: PathLike | Sequence[PathLike]) -> str:
    if isinstance(path, str) or not isinstance(path, Sequence):
        return str(path)
    more = f" and {len(path) - 1} more" if len(path) > 1 else ""
    return f"{path[0]}{more}" if path else "no files"


def _one_format(files: list[File], name: str) -> FileFormat:
    if not files:
        raise DataError("There is no file in the list.", where=name, fix="name at least one file")
    found = {file.shown: format_of(Path(file.path)) for file in files}
    firsts: dict[str, str] = {}
    for shown, form in found.items():
        firsts.setdefault(form.name, shown)
    if len(firsts) > 1:
        listed = ", ".join(f"{name} ({shown})" for name, shown in firsts.items())
        what = f"The files are of more than one format: {listed}."
        raise DataError(what, where=name, fix="name files of one format, such as '*.parquet'")
    return next(iter(found.values()))


def _nothing(name: str, skipped: list[str]) -> DataError:
    if skipped:
        what = f"None of the files can be read. {skipped[0]}"
        return DataError(what, where=name, fix="write or fetch them again")
    return DataError("The file is empty.", where=name, fix="add a header and rows")
