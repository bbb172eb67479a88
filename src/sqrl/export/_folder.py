"""A folder of exported files, which replaces one that was exported before."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sqrl._data.write_file import check_folder as check_any_folder
from sqrl._data.write_file import replacing_folder
from sqrl.export._targets import Folder


def check_folder(path: Path, folder: Folder) -> None:
    """Raise before any work where a folder could not be replaced, or holds what is not ours."""
    check_any_folder(
        path,
        is_ours=partial(_is_exported, folder=folder),
        others="files that were not exported",
        fix=f"name a folder of its own, such as {folder.example}",
    )


def write_folder(path: Path, files: Mapping[str, str], folder: Folder) -> None:
    """Write the files; of those exported before, rules that are gone leave no file."""
    check_folder(path, folder)
    with replacing_folder(path) as new:
        for name, text in files.items():
            (new / name).write_text(text, encoding="utf-8", newline="\n")


def _is_exported(entry: Path, *, folder: Folder) -> bool:
    is_named_so = entry.name.startswith(folder.prefix) and entry.suffix == folder.suffix
    return is_named_so and entry.is_file()
