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
