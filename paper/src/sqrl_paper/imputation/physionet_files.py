"""find_records: the patients' files of the PhysioNet Challenge 2012, packed or unpacked.

The archive is unpacked in memory, up to a limit: no name in it becomes a path.
"""

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqrl.errors import DataError
from sqrl_paper.shared.data_files import data_folder, find_file

TITLE = "PhysioNet Challenge 2012, set A"
PAGE = "https://physionet.org/content/challenge-2012/"
ARCHIVE = "physionet2012/set-a.tar.gz"
FOLDER = "physionet2012/set-a"
NAME = re.compile(r"(?:\./)?set-a/(\d{6})\.txt")
MOST_BYTES = 2**26  # unpacked; published are about half of that


@dataclass(frozen=True, slots=True)
class Record:
    """The file of a patient: its name, the number in its name, and what is in it."""

    name: str
    number: int
    content: bytes


def find_records(folder: str | Path | None = None) -> tuple[Path, list[Record]]:
    """Where the records are, and the records, in the order of their numbers.

    The archive is taken if it is there, else the folder that it unpacks to.
    """
    root = data_folder(folder)
    if not (root / ARCHIVE).is_file() and (root / FOLDER).is_dir():
        path, found = root / FOLDER, _from_folder(root / FOLDER)
    else:
        path = find_file(folder, ARCHIVE, title=TITLE, page=PAGE)
        found = _from_archive(path)
    records: dict[int, Record] = {}
    for record in found:
        if record.number in records:
            raise damaged(f"There are two records {record.number}.", str(path))
        records[record.number] = record
    return path, [records[number] for number in sorted(records)]


def damaged(what: str, where: str) -> DataError:
    """The error for files that are not as published."""
    return DataError(what, where=where, fix=f"fetch it again from {PAGE}")


def _from_archive(path: Path) -> Iterator[Record]:
    try:
        with gzip.open(path) as file:  # to its end, where a checksum tells if it is whole
            content = file.read(MOST_BYTES + 1)
        _check_size(len(content), path)
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in archive:
                match = NAME.fullmatch(member.name)
                inner = archive.extractfile(member) if match and member.isfile() else None
                if match and inner:
                    yield Record(member.name, int(match[1]), inner.read())
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise damaged(f"The archive cannot be read: {error}.", str(path)) from None


def _from_folder(path: Path) -> Iterator[Record]:
    n_bytes = 0
    for file in path.iterdir():
        match = NAME.fullmatch(f"set-a/{file.name}")
        if match and file.is_file():
            n_bytes += file.stat().st_size
            _check_size(n_bytes, path)
            yield Record(file.name, int(match[1]), file.read_bytes())


def _check_size(n_bytes: int, path: Path) -> None:
    if n_bytes > MOST_BYTES:
        raise damaged(f"The records have more than {MOST_BYTES:,} bytes.", str(path))
