"""A folder of exported files, which replaces one that was exported before."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sqrl._data.write_folder import check_folder as check_any_folder
from sqrl._data.write_folder import replacing_folder


def check_folder(path: Path, *, prefix: str) -> None:
    """Raise before any work where a folder could not be replaced, or holds what is not ours."""
    check_any_folder(
        path,
        is_ours=partial(_is_exported, prefix=prefix),
        others="files that were not exported",
        fix="name a folder of its own, such as tests/sqrl",
    )


def write_folder(path: Path, files: Mapping[str, str], *, prefix: str) -> None:
    """Write the files; of those exported before, rules that are gone leave no test."""
    check_folder(path, prefix=prefix)
    with replacing_folder(path) as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8", newline="\n")


def _is_exported(entry: Path, *, prefix: str) -> bool:
    return entry.name.startswith(prefix) and entry.suffix == ".sql" and entry.is_file()
