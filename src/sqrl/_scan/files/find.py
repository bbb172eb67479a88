"""Finding files: one file, many by a glob, a folder or a list, here or in an object store."""

import glob
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from sqrl._data.formats import all_suffixes, find_format
from sqrl._data.formats.boxes import is_box_file
from sqrl._data.formats.stored_file import File, Partition, refuse_absent
from sqrl._data.given_path import given_path, path_text
from sqrl.errors import DataError

HIDDEN = ("_", ".")  # what Spark and others write beside their tables begins with these
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
PathLike = str | Path


def find_files(path: PathLike | Sequence[PathLike]) -> list[File]:
    """The files that a path, glob, folder or URI stands for, sorted; those of a list in its order.

    Of a folder these are the tables in it and below it, save hidden ones.
    """
    if not isinstance(path, str | Path):
        return [file for each in path for file in find_files(each)]
    found = _in_store(str(path)) if _is_uri(path) else _on_disk(given_path(path))
    if not found:
        fix = f"check the path; tables are files that end in {', '.join(all_suffixes())}"
        raise DataError("There is no table among the files.", where=str(path), fix=fix)
    return found


def is_many(path: PathLike | Sequence[PathLike]) -> bool:
    """Whether the path is a glob, a folder with tables, a list, or a URI.

    >>> is_many("data/*.parquet"), is_many("s3://bucket/x.parquet"), is_many("people.csv")
    (True, True, False)
    """
    if not isinstance(path, str | Path) or _is_uri(path):
        return True
    place = given_path(path)
    if place.is_dir():
        return not is_box_file(place) and any(_tables(place))
    return not place.exists() and glob.has_magic(str(place))


def size_of(path: PathLike | Sequence[PathLike]) -> int:
    """How many bytes the files have that the path stands for; 0 where there are none."""
    if is_many(path):
        return sum(file.n_bytes for file in find_files(path))
    place = given_path(str(path))
    inside = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in inside if file.is_file())


def _is_uri(path: PathLike) -> bool:
    # Two letters at least: "C:" is a disk. As a Path, "s3://a" would have lost a slash.
    return isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def _on_disk(place: Path, *, shown: str | None = None) -> list[File]:
    """The files of a path on this machine; what messages call them begins as the path does."""
    if place.is_dir():
        return [_local(file, place, shown) for file in _tables(place)]
    if place.exists() or not glob.has_magic(str(place)):
        refuse_absent(place)
        return [_local(place, place.parent, shown)]
    # The folders before the first that has a wildcard in its name.
    root = Path(*takewhile(lambda part: not glob.has_magic(part), place.parts))
    # Path.glob would also give hidden files.
    found = {Path(match) for match in glob.glob(str(place), recursive=True)}  # noqa: PTH207
    folders = {match for match in found if match.is_dir()}
    tables = [file for folder in folders for file in _tables(folder)]
    files = [file for file in found - folders if _is_table(file.relative_to(root))]
    return [_local(file, root, shown) for file in sorted({*tables, *files})]


def _local(file: Path, root: Path, shown: str | None) -> File:
    from pyarrow.fs import LocalFileSystem

    # Absolute, because a part may be read by a process in another folder.
    path = file.absolute()
    if path_text(path) != str(path):
        what, fix = "The name is not UTF-8, which a scan needs.", "rename the file, or its folder"
        raise DataError(what, where=path_text(file), fix=fix)
    name = path_text(file if shown is None else f"{shown}{path.as_posix()}")
    partition = _partition(file.relative_to(root).parts[:-1])
    return File(name, str(path), LocalFileSystem(), file.stat().st_size, partition)


def _tables(folder: Path) -> Iterator[Path]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return (file for file in files if _is_table(file.relative_to(folder)))


def _is_table(path: PurePath) -> bool:
    """Whether a file has the suffix of a table, and neither it nor a folder above it is hidden."""
    *folders, name = path.parts
    if name.startswith(HIDDEN) or any(f.startswith(HIDDEN) and "=" not in f for f in folders):
        return False
    return find_format(PurePath(name)) is not None


def _partition(folders: Sequence[str]) -> Partition:
    """Names and values of folders such as year=2024, as Hive and Spark write them."""
    pairs = (folder.partition("=") for folder in folders if "=" in folder)
    return tuple(
        (unquote(name), None if value == NO_VALUE else unquote(value)) for name, _, value in pairs
    )


def _in_store(uri: str) -> list[File]:
    from pyarrow.fs import FileSystem

    address, mark, query = uri.partition("?")
    scheme = f"{uri.partition('://')[0]}://"
    folders = address.split("/")
    first = next((at for at, each in enumerate(folders) if set("*[") & set(each)), len(folders))
    base, pattern = "/".join(folders[:first]), "/".join(folders[first:])
    try:
        system, root = FileSystem.from_uri(f"{base}{mark}{query}")
        if system.type_name == "local":
            return _on_disk(Path(root, pattern), shown=scheme)
        return search_store(system, root, pattern, shown=scheme)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = str(error).splitlines()[0].rstrip(".")
        fix = "check the address, and that this machine may read it"
        raise DataError(f"The address cannot be read: {reason}.", where=uri, fix=fix) from None


def search_store(system: Any, root: str, pattern: str, *, shown: str) -> list[File]:
    """The tables in a file system: one file, those below a folder, or those a pattern fits."""
    from pyarrow.fs import FileSelector, FileType

    info = system.get_file_info(root)
    if info.type == FileType.NotFound:
        raise DataError("There is no such file.", where=f"{shown}{root}", fix="check the path")
    if info.type == FileType.File:
        one = File(f"{shown}{root}", root, system, info.size)
        return [one] if _is_table(PurePath(info.base_name.lstrip("_."))) else []
    fits = re.compile(_as_regex(pattern or "**/*"))
    found = []
    for each in system.get_file_info(FileSelector(root, recursive=True)):
        inside = PurePosixPath(each.path).relative_to(root)
        if each.type == FileType.File and _is_table(inside) and fits.fullmatch(str(inside)):
            partition = _partition(inside.parts[:-1])
            found.append(File(f"{shown}{each.path}", each.path, system, each.size, partition))
    return sorted(found, key=lambda file: file.path)


def _as_regex(pattern: str) -> str:
    """A regular expression for a glob, in which ** stands for any number of folders."""
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", pattern)
    return "".join(
        words.get(token) or (token.replace("[!", "[^") if len(token) > 1 else re.escape(token))
        for token in tokens
    )
