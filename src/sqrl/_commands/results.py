"""What commands give: results on stdout, and files, refused early where they cannot be written."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from sqrl._commands.options import Format


def show(result: Any, lines: Iterable[str], format: str) -> None:
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


def check_rules_path(output: Path) -> None:
    """Raise before any work where rules could not be written."""
    from sqrl._data.write_file import check_writable
    from sqrl._rules.files import check_suffix

    check_suffix(output)
    check_writable(output)


def check_results(
    report: Path | None,
    junit: Path | None = None,
    violations: Path | None = None,
    *,
    scanned: str | None = None,
) -> None:
    """Raise before any work where a result could not be written, of data `scanned` if it is."""
    from sqrl._check.check import check_output
    from sqrl._data.write_file import check_writable
    from sqrl.report import check_report

    check_output(violations, is_scanned=scanned is not None)
    if report is not None:
        check_report(report, scanned)
    if junit is not None:
        check_writable(junit)


def tell_written(*paths: Path | None) -> None:
    """Say on stderr what was written."""
    for path in paths:
        if path is not None:
            typer.echo(f"wrote {path}", err=True)
