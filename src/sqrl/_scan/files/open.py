"""Files: tables of any number and size, as parts that are read a few rows at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqrl._data.formats import ARROW, JSON_LINES, PARQUET, TEXT
from sqrl._data.formats.delimited import _check_options
from sqrl._scan.files import columnar, delimited_types, json_lines
from sqrl._scan.files.columnar import survey_arrow, survey_parquet, verify
from sqrl._scan.files.delimited import SMALL_BLOCK_BYTES, Reading, survey_csv
from sqrl._scan.files.find import File, PathLike, find_files, is_many, size_of
from sqrl._scan.files.json_lines import survey_json
from sqrl._scan.files.one_schema import one_schema, partition_fields, partition_values
from sqrl._scan.files.parts import FilePart, Source
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


@dataclass(frozen=True, slots=True)
class _Format:
    """How files of a format are opened, and how the types of several become one."""

    name: str
    suffixes: tuple[str, ...]
    survey: Callable[[File, Reading], Source]
    join: Callable[[Any, Any], Any]
    settle: Callable[[Any], Any] = lambda kind: kind
    may_lack: bool = False  # a field that a line of JSON lacks is missing, so a file may lack it
    is_read_through: bool = True  # when surveyed, so that damage shows then


FORMATS = (
    _Format("delimited text", TEXT, survey_csv, delimited_types.join, delimited_types.settle),
    _Format("JSON Lines", JSON_LINES, survey_json, json_lines.join, may_lack=True),
    _Format(
        "Parquet",
        PARQUET,
        lambda file, _: survey_parquet(file),
        columnar.join,
        is_read_through=False,
    ),
    _Format(
        "Arrow",
        ARROW,
        lambda file, _: survey_arrow(file),
        columnar.join,
        is_read_through=False,
    ),
)


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
    _check_options(separator, encoding, where=name)
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
    form: _Format,
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
            source = form.survey(file, replace(reading, watch=_watch(track, done, file, total)))
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


def _one_format(files: list[File], name: str) -> _Format:
    if not files:
        raise DataError("There is no file in the list.", where=name, fix="name at least one file")
    firsts: dict[str, str] = {}
    found = FORMATS[0]
    for file in files:
        found = next(form for form in FORMATS if file.suffix in form.suffixes)
        firsts.setdefault(found.name, file.shown)
    if len(firsts) > 1:
        listed = ", ".join(f"{form} ({file})" for form, file in firsts.items())
        what = f"The files are of more than one format: {listed}."
        raise DataError(what, where=name, fix="name files of one format, such as '*.parquet'")
    return found


def _nothing(name: str, skipped: list[str]) -> DataError:
    if skipped:
        what = f"None of the files can be read. {skipped[0]}"
        return DataError(what, where=name, fix="write or fetch them again")
    return DataError("The file is empty.", where=name, fix="add a header and rows")
