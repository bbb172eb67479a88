"""sqrl check: where data or predictions break rules."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sqrl._commands import options
from sqrl._commands.options import FailOn
from sqrl._commands.printing import show, width
from sqrl._commands.reading import check_file, read_reference, selected
from sqrl._commands.writing import check_results, tell_written


def check(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows to check.")],
    prediction: options.Prediction = None,
    probabilities: options.Probabilities = None,
    format: options.Formatted = options.Format.table,
    fail_on: Annotated[
        FailOn, typer.Option(help="Which broken rules make the exit status 1.")
    ] = FailOn.significant,
    report: options.Report = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rows to draw behind in the page, such as TRAIN."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Also write a test case for each rule.")
    ] = None,
    violations: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write broken rows: .csv or .parquet."),
    ] = None,
    level: options.Level = 0.05,
    batches: options.Batches = None,
    seed: options.BatchSeed = 0,
    top: options.Top = 10,
    images: options.Images = None,
    per_image: options.PerImage = False,
    rename: options.Rename = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    quiet: options.Quiet = False,
) -> None:
    """Find where data or predictions break rules, and which rules beyond chance."""
    from sqrl._junit import write_junit
    from sqrl._pairs_file import write_pairs
    from sqrl._show_check import violation_lines

    check_results(report, junit, violations)
    chosen = selected(path)
    behind = read_reference(reference, chosen, per_image=per_image)
    read: dict[str, Any] = {"separator": separator, "encoding": encoding, "images": images}
    read["rename"] = options.parse_renamed(rename)
    found = check_file(
        chosen,
        data,
        quiet=quiet,
        read=read,
        per_image=per_image,
        prediction=prediction,
        probabilities=options.parse_probabilities(probabilities),
        level=level,
        batches=batches,
        seed=seed,
    )
    failed = found.significant if fail_on == FailOn.significant else found.broken > 0
    if fail_on == FailOn.never:
        failed = found.broken < 0
    if junit is not None:
        write_junit(found, failed, junit)
    if violations is not None:
        write_pairs(found, violations)
    if report is not None:
        from sqrl.report import write_report

        write_report(found, report, reference=behind)
    show(found.to_dict(), violation_lines(found, top=top, width=width()), format)
    tell_written(junit, violations, report)
    raise typer.Exit(int(bool(failed.any())))
