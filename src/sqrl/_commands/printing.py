"""Results on stdout: lines that fit the terminal and cannot steer it, or JSON."""

import shutil
from collections.abc import Iterable
from typing import Any

import typer

from sqrl._commands.options import Format


def show(result: Any, lines: Iterable[str], format: Format) -> None:
    """Write a result to stdout as JSON or as lines."""
    import msgspec

    if format == Format.json:
        typer.echo(msgspec.json.format(msgspec.json.encode(result), indent=1).decode())
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout."""
    for line in lines:
        typer.echo(line if line.isprintable() else _spelt_out(line))


def _spelt_out(line: str) -> str:
    """The line with what is no letter spelt out: a column's name must not steer the terminal."""
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in line)


def width() -> int:
    """How many columns lines may have."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))
