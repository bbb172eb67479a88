"""Every error that sqrl raises on purpose.

The tree, each also the builtin it refines:

    SqrlError
    ├── DataError          (ValueError)   a table that cannot be read or used
    ├── ParseError         (ValueError)   a sentence outside the grammar
    ├── SchemaError        (ValueError)   a schema that makes no sense
    ├── RulesFileError     (ValueError)   a rules file that is damaged or of another version
    ├── HistoryError       (ValueError)   a history that is damaged or of another version
    ├── OutputError        (OSError)      a result that cannot be written
    ├── LimitError         (ValueError)   more work than the limit allows
    ├── UnknownNameError   (LookupError)  a name that nothing answers to
    ├── AdaptError         (ValueError)   a model, a loader or an objective that cannot be adapted
    ├── MissingExtraError  (ImportError)  an optional dependency that is not installed
    └── PluginError        (ImportError)  a package that adds to sqrl and cannot be loaded

Each message says what is wrong, where, and how to mend it. AdaptWarning, the one warning, says that
a result came about in spite of something.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class SqrlError(Exception):
    """The family of all errors that sqrl raises on purpose.

    >>> print(SqrlError("The file is empty.", where="a.csv", fix="add a header and rows"))
    The file is empty.
      where: a.csv
      fix:   add a header and rows
    """

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix:   {self.fix}")
        return "\n".join(lines)

    def at(self, where: str) -> "SqrlError":
        """This error with another place before the place it had."""
        place = where if not self.where else f"{where}, {self.where}"
        return type(self)(self.what, where=place, fix=self.fix)


class DataError(SqrlError, ValueError):
    """A table that cannot be read or used."""


class ParseError(SqrlError, ValueError):
    """A sentence outside the grammar."""


class SchemaError(SqrlError, ValueError):
    """A schema that makes no sense."""


class RulesFileError(SqrlError, ValueError):
    """A rules file that is damaged or of another version."""


class HistoryError(SqrlError, ValueError):
    """A history that is damaged or of another version."""


class OutputError(SqrlError, OSError):
    """A result that cannot be written."""


class LimitError(SqrlError, ValueError):
    """More work than the limit allows."""


class UnknownNameError(SqrlError, LookupError):
    """A name that nothing answers to."""


class AdaptError(SqrlError, ValueError):
    """A model, a loader or an objective that cannot be adapted."""


class AdaptWarning(UserWarning):
    """Adaptation went wrong on the way; what is returned is the last good state."""


class MissingExtraError(SqrlError, ImportError):
    """An optional dependency that is not installed."""


class PluginError(SqrlError, ImportError):
    """A package that adds to sqrl and cannot be loaded."""


def nearest(name: str, known: Iterable[str], *, most: int = 12) -> str:
    """A hint for a wrong `name`: the nearest known one, else the known ones.

    >>> nearest("hieght", ["height", "width"])
    "did you mean 'height'?"
    >>> nearest("zzz", ["height", "width"])
    'use one of: height, width'
    """
    names = list(known)
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    if not names:
        return "there are none to choose from"
    listed = ", ".join(names[:most])
    return f"use one of: {listed}" + (f" and {len(names) - most} more" if len(names) > most else "")


def unknown(kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> SqrlError:
    """The error for a `name` nothing answers to, with the nearest name that exists.

    >>> print(unknown("column", "hieght", ["height", "width"], where="cardio.csv"))
    Unknown column 'hieght'.
      where: cardio.csv
      fix:   did you mean 'height'?
    """
    return UnknownNameError(f"Unknown {kind} {name!r}.", where=where, fix=nearest(name, known))
