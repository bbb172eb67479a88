"""What commands write: refused before any work where it could not be, and named when it is done."""

from pathlib import Path

import typer


def check_rules_path(output: Path) -> None:
    """Raise before any work where rules could not be written."""
    from sqrl._data.write_file import check_writable
    from sqrl._rules.files import check_suffix

    check_suffix(output)
    check_writable(output)


def check_results(
    report: Path | None, junit: Path | None = None, violations: Path | None = None
) -> None:
    """Raise before any work where a result could not be written."""
    from sqrl._check.broken_pairs_file import check_pairs_suffix
    from sqrl._data.write_file import check_writable
    from sqrl.errors import OutputError

    if violations is not None:
        check_pairs_suffix(violations)
    if report is not None and report.suffix.lower() not in {".html", ".htm", ".md"}:
        raise OutputError(
            f"A report cannot be written as '{report.suffix}'.",
            where=str(report),
            fix="end the name in .html or .md",
        )
    for path in (report, junit, violations):
        if path is not None:
            check_writable(path)


def tell_written(*paths: Path | None) -> None:
    """Say on stderr what was written."""
    for path in paths:
        if path is not None:
            typer.echo(f"wrote {path}", err=True)
