"""sqrl explain: which broken rules foretell wrong predictions."""

from pathlib import Path
from typing import Annotated

import typer

from sqrl._commands import options
from sqrl._commands.printing import show, width
from sqrl._commands.reading import read_rows, selected
from sqrl._commands.writing import check_results, tell_written


def explain(  # noqa: PLR0917
    path: options.Rules,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Rows with predictions and truth.")],
    prediction: Annotated[
        str, typer.Option(metavar="COLUMN", help="What a model said; stands in for the label.")
    ],
    truth: Annotated[str, typer.Option(metavar="COLUMN", help="What was right.")],
    score: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How sure the model was.")
    ] = None,
    format: options.Formatted = options.Format.table,
    report: options.Report = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the cross-validation.")] = 0,
    images: options.Images = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
) -> None:
    """Say which broken rules foretell wrong predictions, and which right ones are doubtful."""
    from sqrl._explain.explain import explain as explain_errors

    check_results(report)
    table = read_rows(data, {"separator": separator, "encoding": encoding, "images": images})
    found = explain_errors(
        selected(path), table, prediction=prediction, truth=truth, score=score, seed=seed
    )
    if report is not None:
        from sqrl.report import write_report

        write_report(found.violations, report, explanation=found)
    show(found.to_dict(), found.lines(width=width()), format)
    tell_written(report)
