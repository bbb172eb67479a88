"""What a command of another package needs to look and behave like one of sqrl's own.

A package adds `sqrl count` by naming a function in the entry-point group `sqrl.commands`:

    [project.entry-points."sqrl.commands"]
    count = "my_package.command:count"

The function's arguments and docstring are read by typer, as those of sqrl's commands are; its
module is loaded when the command is called. Errors of `sqrl.errors` end it with status 2.

>>> def count(data: str, format: Formatted = Format.table, quiet: Quiet = False) -> None:
...     "Count the letters of a text."
...     with Bar(quiet=quiet) as track:
...         track("letters", len(data), len(data))
...     show({"letters": len(data)}, [f"{len(data)} letters"], format)
>>> count("sqrl")
4 letters
"""

from sqrl._commands.options import Format, Formatted, Quiet
from sqrl._commands.results import show, tell_written, width
from sqrl._data.write_file import check_writable, write_atomically
from sqrl._progress import Bar

__all__ = [
    "Bar",
    "Format",
    "Formatted",
    "Quiet",
    "check_writable",
    "show",
    "tell_written",
    "width",
    "write_atomically",
]
