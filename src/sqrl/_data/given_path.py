"""Paths as people give them: `~` opened, and refused in words where no file can have the name."""

from pathlib import Path

from sqrl.errors import DataError, SqrlError


def given_path(path: str | Path, error: type[SqrlError] = DataError) -> Path:
    """The path with `~` opened; whether something is there is not asked.

    >>> given_path("no/such/../file.csv").name
    'file.csv'
    """
    try:
        place = Path(path).expanduser()
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return place
    except PermissionError:
        fix = "ask its owner, or change the permissions of its folder"
        raise error("The path may not be read.", where=_short(path), fix=fix) from None
    except OSError as fault:  # such as a name that is too long
        reason = fault.strerror or str(fault)
    except ValueError:  # NUL, and half of a surrogate pair
        reason = "The path has a letter that no name of a file has"
    except RuntimeError:
        reason = "There is no such user, or no home folder"
    else:
        return place
    raise error(f"{reason}.", where=_short(path), fix="check the path")


def path_text(path: str | Path) -> str:
    r"""The path as text that can be written anywhere, also where its bytes are not UTF-8.

    >>> print(path_text("bad\udcff.csv"))
    bad\xff.csv
    """
    try:
        raw = str(path).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which no path of this machine has
        raw = str(path).encode("utf-8", "backslashreplace")
    return raw.decode("utf-8", "backslashreplace")


def _short(path: str | Path) -> str:
    text = repr(str(path))[1:-1] if "\0" in str(path) else path_text(path)
    return text if len(text) <= 200 else f"{text[:59]}..."
