"""Past files: which windows they are of, by their names, and whether they have changed since."""

import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from sqrl._data.formats import find_format
from sqrl._data.given_path import given_path
from sqrl._history.window_times import at_in, spell_at
from sqrl._scan.files.find import is_many
from sqrl.errors import DataError

_WILD = {"**/": "((?:.*/)?)", "**": "(.*)", "*": "([^/]*)", "?": "([^/])"}


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file, or a folder of files, and the time of the window that its rows are of."""

    at: str
    path: Path

    @property
    def n_bytes(self) -> int:
        """How large it is."""
        return sum(file.stat().st_size for file in self._files())

    def fingerprint(self, *others: str) -> str:
        """A digest that changes with names, sizes and times of files, and with the others."""
        parts = [
            f"{file.relative_to(self.path.parent)} {file.stat().st_size} {file.stat().st_mtime_ns}"
            for file in self._files()
        ]
        return blake2b("\0".join([*others, *parts]).encode(), digest_size=16).hexdigest()

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return [self.path]
        return sorted(file for file in self.path.rglob("*") if file.is_file())


def find_past_files(pattern: str) -> list[PastFile]:
    """The files that a glob matches, in the order of their windows.

    The time is what the wildcards stand for, such as 2026-11-16 in day=*.parquet, or 2026, 11 and
    16 in year=*/month=*/day=*; else the one date in the name.
    """
    place = str(given_path(pattern))
    # Path.glob would also give hidden files.
    names = sorted(glob.glob(place, recursive=True))  # noqa: PTH207
    found = [PastFile(_at_of(name, place), Path(name)) for name in names if _is_table(Path(name))]
    if not found:
        raise DataError(
            "No table fits the pattern.",
            where=pattern,
            fix="check it, and quote it so that the shell leaves it as it is: 'data/day=*.parquet'",
        )
    found.sort(key=lambda file: file.at)
    for one, next_one in pairwise(found):
        if one.at == next_one.at:
            raise DataError(
                f"Two files are of one window, {one.at}.",
                where=f"{one.path} and {next_one.path}",
                fix="put the files of a window in one folder, and give a pattern of folders",
            )
    return found


def _is_table(path: Path) -> bool:
    return is_many(path) if path.is_dir() else find_format(path) is not None


def _at_of(name: str, pattern: str) -> str:
    """The time of the window of a file."""
    matched = re.fullmatch("".join(_as_groups(pattern)), name)
    wild = "-".join(filter(None, matched.groups())) if matched is not None else ""
    try:
        return spell_at(wild)
    except DataError:
        at = at_in(wild) or at_in(Path(name).name)
    if at is None:
        raise DataError(
            "There is no date in the name of the file, or more than one.",
            where=name,
            fix="give a pattern in which * stands for a date, such as 'data/day=*.parquet'",
        )
    return at


def _as_groups(pattern: str) -> Iterator[str]:
    """A regular expression for a glob, in which each wildcard is a group."""
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|.", pattern, flags=re.DOTALL):
        if token in _WILD:
            yield _WILD[token]
        elif len(token) > 1:
            yield f"({token.replace('[!', '[^')})"
        else:
            yield re.escape(token)
