"""Where the files of real data sets are, and what to do where they are not."""

import os
from pathlib import Path

from sqrl.errors import DataError


def data_folder(given: str | Path | None = None) -> Path:
    """The folder of all data sets: the one given, else that of `SQRL_DATA`, else `./data`.

    >>> data_folder("downloads").as_posix()
    'downloads'
    """
    return Path(given or os.environ.get("SQRL_DATA") or "data").expanduser()


def find_file(folder: str | Path | None, name: str, *, title: str, page: str) -> Path:
    """The file of a data set, `name` being its path in the data folder.

    `title` and `page` say which data set to fetch, and from where, if the file is not there.
    """
    path = data_folder(folder) / name
    if path.is_file():
        return path
    raise DataError(
        f"The data set {title!r} is not there.",
        where=str(path),
        fix=f"download it from {page} and put the file there, or say with --data DIR or "
        "SQRL_DATA=DIR which folder holds it",
    )
